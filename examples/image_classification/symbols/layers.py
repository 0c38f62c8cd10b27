"""What several networks of this folder are made of."""

import cynet as mx


def image_size(image_shape):
    """(channels, height, width) of a tuple or of text: ``"3,224,224"``."""
    if isinstance(image_shape, str):
        image_shape = image_shape.split(",")
    channels, height, width = (int(n) for n in image_shape)
    return channels, height, width


def convolution(data, num_filter, kernel, stride=1, pad=0, name=None, no_bias=False):
    """A convolution with a square window: ``kernel``, ``stride`` and ``pad`` are ints."""
    return mx.sym.Convolution(
        data,
        num_filter=num_filter,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(pad, pad),
        no_bias=no_bias,
        name=name,
    )


def pooling(data, pool_type, kernel, stride=1, pad=0, name=None):
    """Pooling over a square window."""
    return mx.sym.Pooling(
        data,
        pool_type=pool_type,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(pad, pad),
        name=name,
    )


def relu(data, name=None):
    """Rectified linear activation."""
    return mx.sym.Activation(data, act_type="relu", name=name)


def global_average(data, name):
    """The mean over height and width, (N, C, 1, 1)."""
    return mx.sym.Pooling(data, pool_type="avg", kernel=(7, 7), global_pool=True, name=name)


def classifier(data, num_classes, name="fc1", dtype="float32"):
    """Flatten, a fully connected layer of `num_classes` units, softmax, which is in float32."""
    net = mx.sym.Flatten(data, name="flatten")
    net = mx.sym.FullyConnected(net, num_hidden=num_classes, name=name)
    if dtype != "float32":
        net = mx.sym.Cast(net, dtype="float32")
    return mx.sym.SoftmaxOutput(net, name="softmax")
