"""GoogLeNet: nine inception modules, without the auxiliary classifiers.

After Szegedy and others, "Going deeper with convolutions", 2015, table 1. Layers are named as in
MXNet's example.
"""

import cynet as mx

from .layers import classifier, convolution, global_average, pooling, relu

# name: filters of 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, projection; a pooling follows "3b", "4e"
_MODULES = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}


def _conv(data, num_filter, kernel, stride=1, pad=0, name="", suffix=""):
    net = convolution(data, num_filter, kernel, stride, pad, name=f"conv_{name}{suffix}")
    return relu(net, name=f"relu_{name}{suffix}")


def _inception(data, filters, name):
    """Four branches side by side, joined along the channels."""
    one, reduce3, three, reduce5, five, projection = filters
    branch1 = _conv(data, one, 1, name=f"{name}_1x1")
    branch3 = _conv(data, reduce3, 1, name=f"{name}_3x3", suffix="_reduce")
    branch3 = _conv(branch3, three, 3, pad=1, name=f"{name}_3x3")
    branch5 = _conv(data, reduce5, 1, name=f"{name}_5x5", suffix="_reduce")
    branch5 = _conv(branch5, five, 5, pad=2, name=f"{name}_5x5")
    pool = pooling(data, "max", 3, 1, 1, name=f"max_pool_{name}_pool")
    pool = _conv(pool, projection, 1, name=f"{name}_proj")
    return mx.sym.Concat(branch1, branch3, branch5, pool, name=f"ch_concat_{name}_chconcat")


def get_symbol(num_classes=1000, **kwargs):
    """The network as a Symbol with inputs ``data`` (N, 3, 224, 224) and ``softmax_label``."""
    net = _conv(mx.sym.var("data"), 64, 7, 2, 3, name="conv1")
    net = pooling(net, "max", 3, 2, name="pool1")
    net = _conv(net, 64, 1, name="conv2")
    net = _conv(net, 192, 3, pad=1, name="conv3")
    net = pooling(net, "max", 3, 2, name="pool3")
    for name, filters in _MODULES.items():
        net = _inception(net, filters, f"in{name}")
        if name in ("3b", "4e"):
            net = pooling(net, "max", 3, 2, name=f"pool{int(name[0]) + 1}")
    return classifier(global_average(net, "global_pool"), num_classes)
