"""Inception with batch normalization, for images of 224x224 and, with fewer filters, small ones.

After Ioffe and Szegedy, "Batch normalization: accelerating deep network training by reducing
internal covariate shift", 2015. Layers are named as in MXNet's example.
"""

import cynet as mx

from .layers import classifier, convolution, global_average, image_size, pooling, relu

# name: filters of 1x1, 3x3 reduce, 3x3, double 3x3 reduce, double 3x3, projection; kind of pooling.
# Without a 1x1 the module halves height and width.
_LARGE = {
    "3a": (64, 64, 64, 64, 96, 32, "avg"),
    "3b": (64, 64, 96, 64, 96, 64, "avg"),
    "3c": (0, 128, 160, 64, 96, 0, "max"),
    "4a": (224, 64, 96, 96, 128, 128, "avg"),
    "4b": (192, 96, 128, 96, 128, 128, "avg"),
    "4c": (160, 128, 160, 128, 160, 128, "avg"),
    "4d": (96, 128, 192, 160, 192, 128, "avg"),
    "4e": (0, 128, 192, 192, 256, 0, "max"),
    "5a": (352, 192, 320, 160, 224, 128, "avg"),
    "5b": (352, 192, 320, 192, 224, 128, "max"),
}
# name: filters of 1x1 and 3x3; without a 1x1 the module halves height and width
_SMALL = {
    "3a": (32, 32),
    "3b": (32, 48),
    "3c": (0, 80),
    "4a": (112, 48),
    "4b": (96, 64),
    "4c": (80, 80),
    "4d": (48, 96),
    "4e": (0, 96),
    "5a": (176, 160),
    "5b": (176, 160),
}


def _conv(data, num_filter, kernel, stride=1, pad=0, name="", suffix=""):
    net = convolution(data, num_filter, kernel, stride, pad, name=f"conv_{name}{suffix}")
    net = mx.sym.BatchNorm(
        net, fix_gamma=False, eps=1e-5 + 1e-10, momentum=0.9, name=f"bn_{name}{suffix}"
    )
    return relu(net, name=f"relu_{name}{suffix}")


def _inception(data, filters, name):
    """Branches of one 3x3 and of two, a pooling and, unless it halves the size, a 1x1."""
    one, reduce3, three, reduce_double, double, projection, pool_type = filters
    stride = 1 if one else 2
    branches = [_conv(data, one, 1, name=f"{name}_1x1")] if one else []
    net = _conv(data, reduce3, 1, name=f"{name}_3x3", suffix="_reduce")
    branches.append(_conv(net, three, 3, stride, 1, name=f"{name}_3x3"))
    net = _conv(data, reduce_double, 1, name=f"{name}_double_3x3", suffix="_reduce")
    net = _conv(net, double, 3, 1, 1, name=f"{name}_double_3x3_0")
    branches.append(_conv(net, double, 3, stride, 1, name=f"{name}_double_3x3_1"))
    net = pooling(data, pool_type, 3, stride, 1, name=f"{pool_type}_pool_{name}_pool")
    branches.append(_conv(net, projection, 1, name=f"{name}_proj") if projection else net)
    return mx.sym.Concat(*branches, name=f"ch_concat_{name}_chconcat")


def _small_inception(data, filters, name):
    one, three = filters
    if one:
        branches = [_conv(data, one, 1, name=f"{name}_1x1")]
        branches.append(_conv(data, three, 3, 1, 1, name=f"{name}_3x3"))
    else:
        branches = [_conv(data, three, 3, 2, 1, name=f"{name}_conv")]
        branches.append(pooling(data, "max", 3, 2, 1, name=f"{name}_pool"))
    return mx.sym.Concat(*branches, name=f"{name}_ch_concat")


def get_symbol(num_classes=1000, image_shape=(3, 224, 224), **kwargs):
    """The network as a Symbol.

    Parameters
    ----------
    num_classes : int
    image_shape : tuple of int or str
        (channels, height, width) or ``"3,224,224"``; a height of up to 28 gives the small form.

    Returns
    -------
    Symbol
        Its inputs are ``data`` (N, *image_shape) and ``softmax_label``.
    """
    _, height, _ = image_size(image_shape)
    net = mx.sym.var("data")
    if height <= 28:
        net = _conv(net, 96, 3, 1, 1, name="1")
        for name, filters in _SMALL.items():
            net = _small_inception(net, filters, f"in{name}")
    else:
        net = _conv(net, 64, 7, 2, 3, name="1")
        net = pooling(net, "max", 3, 2, name="pool_1")
        net = _conv(net, 64, 1, name="2_red")
        net = _conv(net, 192, 3, 1, 1, name="2")
        net = pooling(net, "max", 3, 2, name="pool_2")
        for name, filters in _LARGE.items():
            net = _inception(net, filters, name)
    return classifier(global_average(net, "global_pool"), num_classes)
