"""VGG-16 without its dense layers: fc6 and fc7 are convolutions of fewer filters."""

import cynet as mx

_BLOCKS = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))


def _convolution(data, name, num_filter, kernel=3, pad=1, dilate=1):
    layer = mx.sym.Convolution(
        data,
        kernel=(kernel, kernel),
        pad=(pad, pad),
        dilate=(dilate, dilate),
        num_filter=num_filter,
        name=name.replace("relu", "fc" if name in ("relu6", "relu7") else "conv"),
    )
    return mx.sym.Activation(layer, act_type="relu", name=name)


def get_symbol():
    """The network for images of about 300 x 300; relu7 is its output."""
    layer = mx.sym.var("data")
    for block, (layers, num_filter) in enumerate(_BLOCKS, 1):
        for number in range(1, layers + 1):
            layer = _convolution(layer, f"relu{block}_{number}", num_filter)
        kind = {"kernel": (2, 2), "stride": (2, 2)}
        if block == 3:
            kind["pooling_convention"] = "full"
        elif block == 5:
            kind = {"kernel": (3, 3), "stride": (1, 1), "pad": (1, 1)}
        layer = mx.sym.Pooling(layer, pool_type="max", name=f"pool{block}", **kind)
    layer = _convolution(layer, "relu6", 1024, pad=6, dilate=6)
    return _convolution(layer, "relu7", 1024, kernel=1, pad=0)
