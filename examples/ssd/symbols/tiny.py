"""A small network, for images of 96 x 96 and a few minutes on a CPU."""

import cynet as mx

_FILTERS = (16, 32, 64, 128)


def get_symbol():
    """Four blocks, each of half the size of the one before; relu3 and relu4 are for the heads."""
    layer = mx.sym.var("data")
    for block, num_filter in enumerate(_FILTERS, 1):
        for number in (1, 2):
            last = number == 2
            layer = mx.sym.Convolution(
                layer,
                kernel=(3, 3),
                pad=(1, 1),
                num_filter=num_filter,
                no_bias=True,
                name=f"conv{block}_{number}",
            )
            layer = mx.sym.BatchNorm(layer, fix_gamma=False, name=f"bn{block}_{number}")
            name = f"relu{block}" if last else f"relu{block}_{number}"
            layer = mx.sym.Activation(layer, act_type="relu", name=name)
        if block < len(_FILTERS):
            layer = mx.sym.Pooling(
                layer, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{block}"
            )
    return layer
