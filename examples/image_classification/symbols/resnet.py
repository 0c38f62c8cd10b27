"""A residual network for small images (28x28 or 32x32), of 6n+2 layers: 8, 14, 20, 32, 56, 110.

After He, Zhang, Ren and Sun, "Deep residual learning for image recognition", 2016, section 4.2:
three stages of n units with 16, 32 and 64 filters; a stage after the first halves height and width.
"""

import cynet as mx


def _conv_norm(data, num_filter, kernel, stride, name):
    pad = kernel // 2
    net = mx.sym.Convolution(
        data,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(pad, pad),
        num_filter=num_filter,
        no_bias=True,
        name=f"{name}_conv",
    )
    return mx.sym.BatchNorm(net, fix_gamma=False, eps=2e-5, momentum=0.9, name=f"{name}_bn")


def _relu(data, name):
    return mx.sym.Activation(data, act_type="relu", name=f"{name}_relu")


def _unit(data, num_filter, stride, project, name):
    """Two 3x3 convolutions beside a shortcut, which is a 1x1 convolution where shapes change."""
    net = _relu(_conv_norm(data, num_filter, 3, stride, f"{name}_a"), f"{name}_a")
    net = _conv_norm(net, num_filter, 3, 1, f"{name}_b")
    shortcut = _conv_norm(data, num_filter, 1, stride, f"{name}_sc") if project else data
    return _relu(net + shortcut, name)


def get_symbol(num_classes=10, num_layers=20, **kwargs):
    """The network as a Symbol with inputs ``data`` (N, C, H, W) and ``softmax_label``."""
    num_units, rest = divmod(num_layers - 2, 6)
    if rest or num_units < 1:
        raise ValueError(f"num_layers must be 6n+2 (8, 14, 20, 32, ...), got {num_layers}")
    net = _relu(_conv_norm(mx.sym.var("data"), 16, 3, 1, "stage0"), "stage0")
    for stage, num_filter in enumerate((16, 32, 64), 1):
        for unit in range(1, num_units + 1):
            first = stage > 1 and unit == 1
            net = _unit(net, num_filter, 2 if first else 1, first, f"stage{stage}_unit{unit}")
    net = mx.sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(1, 1), name="pool")
    net = mx.sym.FullyConnected(mx.sym.flatten(net), num_hidden=num_classes, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")
