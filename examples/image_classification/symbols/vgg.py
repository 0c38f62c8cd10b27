"""VGG with 11, 13, 16 or 19 layers: stacks of 3x3 convolutions between poolings, three layers.

After Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition",
2015, table 1 (A, B, D and E). Layers are named as in MXNet's example.
"""

import cynet as mx

from .layers import convolution, pooling, relu

_LAYERS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_FILTERS = (64, 128, 256, 512, 512)


def get_symbol(num_classes=1000, num_layers=11, batch_norm=False, **kwargs):
    """The network as a Symbol.

    Parameters
    ----------
    num_classes : int
    num_layers : int
        11, 13, 16 or 19.
    batch_norm : bool
        Batch normalization after each convolution.

    Returns
    -------
    Symbol
        Its inputs are ``data`` (N, 3, H, W), H and W at least 32, e.g. 224, and ``softmax_label``.
    """
    if num_layers not in _LAYERS:
        raise ValueError(f"num_layers is {num_layers}; a VGG has 11, 13, 16 or 19")
    net = mx.sym.var("data")
    for stage, (layers, num_filter) in enumerate(zip(_LAYERS[num_layers], _FILTERS), 1):
        for layer in range(1, layers + 1):
            name = f"{stage}_{layer}"
            net = convolution(net, num_filter, 3, pad=1, name=f"conv{name}")
            if batch_norm:
                net = mx.sym.BatchNorm(net, name=f"bn{name}")
            net = relu(net, name=f"relu{name}")
        net = pooling(net, "max", 2, 2, name=f"pool{stage}")
    net = mx.sym.Flatten(net, name="flatten")
    for i in (6, 7):
        net = mx.sym.FullyConnected(net, num_hidden=4096, name=f"fc{i}")
        net = mx.sym.Dropout(relu(net, name=f"relu{i}"), p=0.5, name=f"drop{i}")
    net = mx.sym.FullyConnected(net, num_hidden=num_classes, name="fc8")
    return mx.sym.SoftmaxOutput(net, name="softmax")
