"""LeNet: two 5x5 convolutions with tanh and max pooling, then two fully connected layers.

After LeCun, Bottou, Bengio and Haffner, "Gradient-based learning applied to document recognition",
1998.
"""

import cynet as mx


def get_symbol(num_classes=10, **kwargs):
    """The network as a Symbol with inputs ``data`` (N, C, H, W) and ``softmax_label``."""
    net = mx.sym.var("data")
    for i, num_filter in enumerate((20, 50), 1):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=num_filter, name=f"conv{i}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"tanh{i}")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{i}")
    net = mx.sym.FullyConnected(mx.sym.flatten(net), num_hidden=500, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh3")
    net = mx.sym.FullyConnected(net, num_hidden=num_classes, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")
