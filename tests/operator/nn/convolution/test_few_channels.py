"""Images of few channels made by deconvolutions, and as gradients of data, beside NumPy's sums."""

import numpy as np
import pytest
from cynet.kernels.isa.dispatch import cpu_capability
from cynet.operator.nn.convolution.channels_last import ChannelsLastConvolution
from cynet.operator.nn.convolution.deconvolution_channels_last import ChannelsLastDeconvolution

import cynet as mx
from cynet.kernels.conv import onednn
from tests.operator.nn.convolution.test_row_major_adapter import near, spread, windows

# channels of the image, kernel, stride, pad
KINDS = [(3, 4, 2, 1), (1, 5, 2, 2), (4, 3, 1, 1), (2, 2, 3, 0), (5, 4, 2, 1), (9, 4, 2, 1)]
MOST = {"amx": 8, "avx512": 8, "avx2": 4}  # channels: half a vector


def _draw(seed, *shapes):
    print("seed", seed)
    rng = np.random.RandomState(seed)
    return [rng.standard_normal(shape).astype("f") for shape in shapes]


@pytest.mark.skipif(not onednn.available(), reason="no oneDNN, no channels-last form")
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_which_are_spread(kind):
    """Up to half a vector of channels, in windows that are not dilated; with AVX2 some of those go
    by Winograd's products."""
    channels, kernel, stride, pad = kind
    options = {"kernel": (kernel, kernel), "stride": (stride, stride), "pad": (pad, pad)}
    deconvolution = ChannelsLastDeconvolution(num_filter=channels, **options)
    data = (2, 40, 12, 12)
    shapes, (out,), _ = deconvolution.infer_shape([data, None], [None])
    convolution = ChannelsLastConvolution(num_filter=40, no_bias=True, **options)
    for prop, given in (deconvolution, shapes), (convolution, [out, shapes[1]]):
        operator = prop.create_operator(mx.cpu(), given, ["float32"] * 2)
        if channels < 4 or hasattr(operator, "spreads"):
            assert operator.spreads == (channels <= MOST.get(cpu_capability(), 0))
    dilated = ChannelsLastConvolution(num_filter=40, no_bias=True, dilate=(2, 2), **options)
    assert not dilated.create_operator(
        mx.cpu(), [(2, 3, 40, 40), (40, 3, kernel, kernel)], ["float32"] * 2
    ).spreads


@pytest.mark.parametrize("no_bias", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_deconvolution(kind, no_bias):
    """Behind a convolution, so that both are channels-last: out, and all gradients."""
    channels, kernel, stride, pad = kind
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=40, no_bias=True)
    net = mx.sym.Deconvolution(
        mx.sym.Activation(net, act_type="relu"),
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(pad, pad),
        num_filter=channels,
        no_bias=no_bias,
        name="up",
    )
    executor = net.simple_bind(mx.cpu(), data=(3, 16, 11, 13))
    arrays = executor.arg_dict
    given = dict(zip(arrays, _draw(1, *(each.shape for each in arrays.values()))))
    for name, value in given.items():
        arrays[name][:] = value
    out = executor.forward(is_train=True)[0]
    first = next(name for name in given if name.endswith("weight") and name != "up_weight")
    inner = np.einsum("nchw,fc->nfhw", given["data"].astype("d"), given[first][:, :, 0, 0])
    hidden = np.maximum(inner, 0)
    weight = given["up_weight"].astype("d")
    wanted = spread(hidden, weight, out.shape, stride, pad)
    near(out.asnumpy(), wanted if no_bias else wanted + given["up_bias"][:, None, None])
    (head,) = _draw(2, out.shape)
    executor.backward(mx.nd.array(head))
    seen = windows(head.astype("d"), kernel, stride, pad)
    grads = {name: grad.asnumpy() for name, grad in executor.grad_dict.items()}
    near(grads["up_weight"], np.einsum("nfhw,nchwij->fcij", hidden, seen))
    back = np.einsum("nchwij,fcij->nfhw", seen, weight) * (inner > 0)
    near(grads["data"], np.einsum("nfhw,fc->nchw", back, given[first][:, :, 0, 0]))
    if not no_bias:
        near(grads["up_bias"], head.sum((0, 2, 3)))


@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_gradients_of_images(kind, req):
    """As what trains a generator takes from its discriminator."""
    channels, kernel, stride, pad = kind
    net = mx.sym.Convolution(
        mx.sym.var("data"),
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(pad, pad),
        num_filter=24,
        name="first",
    )
    net = mx.sym.Activation(net, act_type="relu")
    net = mx.sym.Convolution(net, kernel=(1, 1), num_filter=16, no_bias=True, name="last")
    executor = net.simple_bind(mx.cpu(), req, data=(2, channels, 21, 26))
    arrays = executor.arg_dict
    given = dict(zip(arrays, _draw(3, *(each.shape for each in arrays.values()))))
    for name, value in given.items():
        arrays[name][:] = value
    executor.grad_dict["data"][:] = 1
    out = executor.forward(is_train=True)[0]
    (head,) = _draw(4, out.shape)
    executor.backward(mx.nd.array(head))
    weight = given["first_weight"].astype("d")
    inner = (
        np.einsum(
            "nchwij,fcij->nfhw", windows(given["data"].astype("d"), kernel, stride, pad), weight
        )
        + given["first_bias"][:, None, None]
    )
    grad = np.einsum("nfhw,fc->nchw", head.astype("d"), given["last_weight"][:, :, 0, 0])
    wanted = spread(grad * (inner > 0), weight, given["data"].shape, stride, pad)
    near(executor.grad_dict["data"].asnumpy(), wanted + (req == "add"))
