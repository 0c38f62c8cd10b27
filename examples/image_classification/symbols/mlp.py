"""A multi-layer perceptron: two hidden layers of 128 and 64 units with ReLU."""

import cynet as mx


def get_symbol(num_classes=10, **kwargs):
    """The network as a Symbol with inputs ``data`` and ``softmax_label``."""
    net = mx.sym.flatten(mx.sym.var("data"))
    for i, num_hidden in enumerate((128, 64), 1):
        net = mx.sym.FullyConnected(net, num_hidden=num_hidden, name=f"fc{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
    net = mx.sym.FullyConnected(net, num_hidden=num_classes, name="fc3")
    return mx.sym.SoftmaxOutput(net, name="softmax")
