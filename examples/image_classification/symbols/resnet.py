"""Residual networks: with activations after the convolutions (version 1) or before them (2).

After He, Zhang, Ren and Sun, "Deep residual learning for image recognition" and "Identity mappings
in deep residual networks", 2016. Layers are named as in MXNet's examples.
"""

import cynet as mx

from .layers import classifier, convolution, global_average, image_size, relu

_LARGE = {  # number of layers: units of the four stages; from 50 on they are bottlenecks
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}


def _norm(data, name, fix_gamma=False):
    return mx.sym.BatchNorm(data, fix_gamma=fix_gamma, eps=2e-5, momentum=0.9, name=name)


def _convolutions(num_filter, stride, bottleneck, version):
    """(num_filter, kernel, stride, pad) of the convolutions of a unit.

    A bottleneck halves the size in its first convolution in version 1, in its second in version 2.
    """
    if not bottleneck:
        return (num_filter, 3, stride, 1), (num_filter, 3, 1, 1)
    first, second = (stride, 1) if version == 1 else (1, stride)
    inner = num_filter // 4
    return (inner, 1, first, 0), (inner, 3, second, 1), (num_filter, 1, 1, 0)


def _unit_v1(data, num_filter, stride, same_shape, bottleneck, name):
    """Convolution, norm, activation, ...; the last activation follows the sum."""
    net = data
    layers = _convolutions(num_filter, stride, bottleneck, 1)
    for i, layer in enumerate(layers, 1):
        net = convolution(net, *layer, no_bias=True, name=f"{name}_conv{i}")
        net = _norm(net, f"{name}_bn{i}")
        if i < len(layers):
            net = relu(net, f"{name}_relu{i}")
    if not same_shape:
        data = convolution(data, num_filter, 1, stride, no_bias=True, name=f"{name}_conv1sc")
        data = _norm(data, f"{name}_sc")
    return relu(net + data, f"{name}_relu")


def _unit_v2(data, num_filter, stride, same_shape, bottleneck, name):
    """Norm, activation, convolution, ...; nothing follows the sum."""
    net, shortcut = data, data
    for i, layer in enumerate(_convolutions(num_filter, stride, bottleneck, 2), 1):
        net = relu(_norm(net, f"{name}_bn{i}"), f"{name}_relu{i}")
        if i == 1 and not same_shape:
            shortcut = convolution(net, num_filter, 1, stride, no_bias=True, name=f"{name}_sc")
        net = convolution(net, *layer, no_bias=True, name=f"{name}_conv{i}")
    return net + shortcut


def _stages(num_layers, height):
    """(units, filters, bottleneck): of each stage its units, and the filters before and in it."""
    if height > 32:
        if num_layers not in _LARGE:
            raise ValueError(
                f"num_layers is {num_layers}; for images of more than 32x32 there are "
                f"{', '.join(map(str, _LARGE))}"
            )
        bottleneck = num_layers >= 50
        filters = (64, 256, 512, 1024, 2048) if bottleneck else (64, 64, 128, 256, 512)
        return _LARGE[num_layers], filters, bottleneck
    bottleneck = num_layers >= 164
    per_layer = 9 if bottleneck else 6
    units, rest = divmod(num_layers - 2, per_layer)
    if rest or units < 1:
        raise ValueError(
            f"num_layers is {num_layers}; for images of up to 32x32 it must be 6n+2 "
            "(8, 14, 20, 32, ...) or, from 164 on, 9n+2"
        )
    return (units,) * 3, (16, 64, 128, 256) if bottleneck else (16, 16, 32, 64), bottleneck


def get_symbol(
    num_classes=10, num_layers=20, image_shape=(3, 28, 28), version=2, dtype="float32", **kwargs
):
    """The network as a Symbol.

    Parameters
    ----------
    num_classes : int
    num_layers : int
        6n+2 for images of up to 32x32; 18, 34, 50, 101, 152, 200 or 269 for larger ones.
    image_shape : tuple of int or str
        (channels, height, width) or ``"3,224,224"``.
    version : int
        1 or 2.
    dtype : str
        What is computed in between casts of the images and of the last layer's output: 'float16' or
        'float32'. Train with the optimizer's ``multi_precision`` in float16.

    Returns
    -------
    Symbol
        Its inputs are ``data`` (N, *image_shape) and ``softmax_label``.
    """
    if version not in (1, 2):
        raise ValueError(f"version is {version!r}; a residual network has version 1 or 2")
    _, height, _ = image_size(image_shape)
    units, filters, bottleneck = _stages(num_layers, height)
    unit = _unit_v1 if version == 1 else _unit_v2
    if dtype not in ("float16", "float32"):
        raise ValueError(f"dtype is {dtype!r}; a residual network computes in float16 or float32")
    net = mx.sym.identity(mx.sym.var("data"), name="id")
    if dtype == "float16":
        net = mx.sym.Cast(net, dtype="float16")
    if version == 2:
        net = _norm(net, "bn_data", fix_gamma=True)
    if height <= 32:
        net = convolution(net, filters[0], 3, 1, 1, no_bias=True, name="conv0")
        net = _norm(net, "bn0") if version == 1 else net
    else:
        net = convolution(net, filters[0], 7, 2, 3, no_bias=True, name="conv0")
        net = relu(_norm(net, "bn0"), "relu0")
        net = mx.sym.Pooling(
            net, pool_type="max", kernel=(3, 3), stride=(2, 2), pad=(1, 1), name="pooling0"
        )
    for stage, (count, num_filter) in enumerate(zip(units, filters[1:]), 1):
        for i in range(1, count + 1):
            stride = 2 if i == 1 and stage > 1 else 1
            name = f"stage{stage}_unit{i}"
            net = unit(net, num_filter, stride, i > 1, bottleneck, name)
    if version == 2:
        net = relu(_norm(net, "bn1"), "relu1")
    return classifier(global_average(net, "pool1"), num_classes, dtype=dtype)
