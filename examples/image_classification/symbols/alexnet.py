"""AlexNet: five convolutions, two of them with local response normalization, then three layers.

After Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural
networks", 2012, on one device: no convolution is grouped. Layers are named as in MXNet's example.
"""

import cynet as mx

from .layers import convolution, pooling, relu

# num_filter, kernel, stride, pad, then what follows the activation
_CONVOLUTIONS = (
    (96, 11, 4, 0, ("lrn", "pool")),
    (256, 5, 1, 2, ("lrn", "pool")),
    (384, 3, 1, 1, ()),
    (384, 3, 1, 1, ()),
    (256, 3, 1, 1, ("pool",)),
)


def get_symbol(num_classes=1000, **kwargs):
    """The network as a Symbol with inputs ``data`` (N, 3, H, W), e.g. 224x224, and
    ``softmax_label``."""
    net, pools = mx.sym.var("data"), 0
    for i, (num_filter, kernel, stride, pad, after) in enumerate(_CONVOLUTIONS, 1):
        net = convolution(net, num_filter, kernel, stride, pad, name=f"conv{i}")
        net = relu(net, name=f"relu{i}")
        if "lrn" in after:
            net = mx.sym.LRN(net, alpha=1e-4, beta=0.75, knorm=2, nsize=5, name=f"norm{i}")
        if "pool" in after:
            pools += 1
            net = pooling(net, "max", 3, 2, name=f"pool{pools}")
    net = mx.sym.Flatten(net, name="flatten")
    for i in (1, 2):
        net = mx.sym.FullyConnected(net, num_hidden=4096, name=f"fc{i}")
        net = relu(net, name=f"relu{i + 5}")
        net = mx.sym.Dropout(net, p=0.5, name=f"dropout{i}")
    net = mx.sym.FullyConnected(net, num_hidden=num_classes, name="fc3")
    return mx.sym.SoftmaxOutput(net, name="softmax")
