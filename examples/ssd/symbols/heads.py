"""What a detector has above its network: smaller maps of features, and predictions from each."""

import cynet as mx


def _convolution_relu(data, name, num_filter, kernel, pad=0, stride=1):
    layer = mx.sym.Convolution(
        data,
        kernel=(kernel, kernel),
        pad=(pad, pad),
        stride=(stride, stride),
        num_filter=num_filter,
        name=f"{name}_conv",
    )
    return mx.sym.Activation(layer, act_type="relu", name=f"{name}_relu")


def feature_maps(body, from_layers, num_filters, strides, pads, min_filter=128):
    """Maps of features: those of layers that are named, and for '' a smaller one of the last.

    Parameters
    ----------
    body : Symbol
    from_layers : list of str
    num_filters, strides, pads : list of int
        Of each map; -1 where a layer is named.
    min_filter : int
        Least number of filters of the 1 x 1 convolution in front of a smaller map.

    Returns
    -------
    list of Symbol
    """
    layers, internals = [], body.get_internals()
    for k, (name, num_filter, stride, pad) in enumerate(
        zip(from_layers, num_filters, strides, pads)
    ):
        if name:
            layers.append(internals[f"{name}_output"])
            continue
        narrow = max(min_filter, num_filter // 2)
        layer = _convolution_relu(layers[-1], f"multi_feat_{k}_conv_1x1", narrow, 1)
        name = f"multi_feat_{k}_conv_3x3"
        layers.append(_convolution_relu(layer, name, num_filter, 3, pad, stride))
    return layers


def _predicted(layer, kind, channels):
    """A 3 x 3 convolution's output with the channels last, flat."""
    name = f"{layer.name}_{kind}_pred_conv"
    bias = mx.sym.var(f"{name}_bias", init=mx.init.Constant(0.0), attr={"__lr_mult__": "2.0"})
    out = mx.sym.Convolution(
        layer, bias=bias, kernel=(3, 3), pad=(1, 1), num_filter=channels, name=name
    )
    return mx.sym.Flatten(mx.sym.transpose(out, axes=(0, 2, 3, 1)))


def _normalized(layer, channels, scale):
    """Features of length 1 over the channels, times weights that begin at `scale`."""
    weight = mx.sym.var(
        f"{layer.name}_scale",
        shape=(1, channels, 1, 1),
        init=mx.init.Constant(scale),
        attr={"__wd_mult__": "0.1"},
    )
    name = layer.name
    layer = mx.sym.L2Normalization(layer, mode="channel", name=f"{name}_norm")
    return mx.sym.broadcast_mul(weight, layer, name=f"{name}_scaled")


def multibox(maps, num_classes, sizes, ratios, normalizations, channels, steps):
    """Predictions from all maps.

    Parameters
    ----------
    maps : list of Symbol
    num_classes : int
        Without the background.
    sizes, ratios : list of list of float
        Of the anchors of each map.
    normalizations : list of float
        Scale of a map that is normalized; -1 for one that is not.
    channels : list of int
        Of the maps that are normalized, in their order.
    steps : list of float
        Distance of the anchors of each map, a part of the image; or an empty list.

    Returns
    -------
    (Symbol, Symbol, Symbol)
        Codes of boxes (N, 4 A), scores (N, classes + 1, A), anchors (1, A, 4).
    """
    channels = list(channels)
    codes, scores, anchors = [], [], []
    for k, layer in enumerate(maps):
        if normalizations[k] > 0:
            layer = _normalized(layer, channels.pop(0), normalizations[k])
        each = len(sizes[k]) + len(ratios[k]) - 1
        codes.append(_predicted(layer, "loc", 4 * each))
        scores.append(_predicted(layer, "cls", (num_classes + 1) * each))
        options = {"steps": (steps[k], steps[k])} if steps else {}
        boxes = mx.sym.contrib.MultiBoxPrior(
            layer,
            sizes=tuple(sizes[k]),
            ratios=tuple(ratios[k]),
            clip=False,
            name=f"{layer.name}_anchors",
            **options,
        )
        anchors.append(mx.sym.Flatten(boxes))
    codes = mx.sym.Concat(*codes, dim=1, name="multibox_loc_pred")
    scores = mx.sym.Concat(*scores, dim=1)
    scores = mx.sym.Reshape(scores, shape=(0, -1, num_classes + 1))
    scores = mx.sym.transpose(scores, axes=(0, 2, 1), name="multibox_cls_pred")
    anchors = mx.sym.Concat(*anchors, dim=1)
    return codes, scores, mx.sym.Reshape(anchors, shape=(0, -1, 4), name="multibox_anchors")
