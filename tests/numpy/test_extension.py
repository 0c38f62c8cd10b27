"""mx.npx: normalization by groups, sums at places, masked softmax."""

import numpy as np
import pytest

import cynet as mx
from cynet import npx


def test_group_norm_scales_channels_or_groups(rng):
    x = rng.normal(size=(2, 6, 3, 2)).astype("float32")
    rows = x.reshape(2, 3, -1)
    mean, var = rows.mean(2, keepdims=True), rows.var(2, keepdims=True)
    normal = ((rows - mean) / np.sqrt(var + 1e-3)).reshape(x.shape)
    for n in (6, 3):
        gamma, beta = rng.normal(size=(2, n)).astype("float32")
        wide = [np.repeat(each, 6 // n).reshape(1, 6, 1, 1) for each in (gamma, beta)]
        given = [mx.np.array(each) for each in (x, gamma, beta)]
        out, *more = npx.group_norm(*given, num_groups=3, output_mean_var=True)
        np.testing.assert_allclose(out.asnumpy(), normal * wide[0] + wide[1], 1e-4, 1e-4)
        np.testing.assert_allclose(more[0].asnumpy(), mean[..., 0], 1e-4, 1e-5)
        again = npx.group_norm(*given, num_groups=3)
        np.testing.assert_allclose(again.asnumpy(), out.asnumpy(), 1e-6)
    with pytest.raises(ValueError, match=r"gamma has shape \(2,\)"):
        npx.group_norm(mx.np.array(x), mx.np.ones(2), mx.np.zeros(2), num_groups=3)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_index_add_at_places_named_twice(dtype, rng):
    x = rng.integers(0, 9, (3, 4)).astype(dtype)
    places = np.array([[0, 2, 0, -1], [1, 3, 1, 0]])
    values = rng.integers(1, 9, 4).astype(dtype)
    expected = x.copy()
    np.add.at(expected, tuple(places), values)
    given = mx.np.array(x, dtype=dtype), mx.np.array(places, dtype="int64")
    found = npx.index_add(*given, mx.np.array(values, dtype=dtype))
    assert found.dtype == dtype and found.tolist() == expected.tolist()
    np.add.at(expected, tuple(places), 1)
    assert npx.index_add(found, given[1], 1).tolist() == expected.tolist()
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 of length 3"):
        npx.index_add(given[0], mx.np.array([[9], [0]], dtype="int64"), 1).asnumpy()


def test_gradient_of_index_add():
    x, values = mx.np.ones((3,)), mx.np.array([2.0, 3.0])
    x.attach_grad()
    values.attach_grad()
    with mx.autograd.record():
        out = npx.index_add(x, mx.np.array([[1, 1]], dtype="int64"), values)
        y = (out * mx.np.array([1.0, 5, 9])).sum()
    y.backward()
    assert out.tolist() == [1, 6, 1]
    assert x.grad.tolist() == [1, 5, 9] and values.grad.tolist() == [5, 5]


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_masked_softmax(axis, temperature, rng):
    x = rng.normal(size=(4, 5)).astype("float32")
    mask = np.tri(4, 5, 1) > 0
    e = np.where(mask, np.exp(x / temperature), 0)
    expected = e / e.sum(axis, keepdims=True).clip(1e-30)
    given = mx.np.array(x), mx.np.array(mask)
    more = {"axis": axis, "temperature": temperature}
    found = npx.masked_softmax(*given, **more).asnumpy()
    np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
    logs = npx.masked_log_softmax(*given, **more).asnumpy()
    np.testing.assert_allclose(np.where(mask, logs, 0), np.log(np.where(mask, expected, 1)), 1e-4,
                               1e-5)  # fmt: skip
    assert np.isneginf(logs[~mask]).all()


def _x(*shape):
    return mx.np.array(np.sin(np.arange(np.prod(shape), dtype="float32")).reshape(shape))


# Arguments by MXNet 1.9's names, and the legacy operator that they go to by the same names.
_BY_NAME = {
    "activation": ("Activation", {"data": _x(2, 3), "act_type": "tanh"}),
    "arange_like": ("contrib.arange_like", {"data": _x(2, 3), "start": 1.0, "step": 2.0}),
    "batch_dot": ("batch_dot", {"lhs": _x(2, 3, 4), "rhs": _x(2, 3, 4), "transpose_b": True}),
    "batch_flatten": ("Flatten", {"data": _x(2, 3, 4)}),
    "batch_norm": ("BatchNorm", {
        "data": _x(2, 3), "gamma": _x(3), "beta": _x(3), "moving_mean": _x(3),
        "moving_var": _x(3) + 2, "eps": 1e-3, "momentum": 0.8, "fix_gamma": False,
        "use_global_stats": True, "axis": 1}),
    "convolution": ("Convolution", {
        "data": _x(1, 2, 5, 5), "weight": _x(3, 2, 2, 2), "bias": _x(3), "kernel": (2, 2),
        "stride": (2, 2), "pad": (1, 1), "dilate": (1, 1), "num_filter": 3, "num_group": 1}),
    "deconvolution": ("Deconvolution", {
        "data": _x(1, 2, 3, 3), "weight": _x(2, 3, 2, 2), "kernel": (2, 2), "stride": (2, 2),
        "num_filter": 3, "adj": (1, 1)}),
    "dropout": ("Dropout", {"data": _x(2, 3), "p": 0.3, "mode": "training", "axes": (1,)}),
    "embedding": ("Embedding", {
        "data": mx.np.array([0, 2]), "weight": _x(3, 4), "input_dim": 3, "output_dim": 4}),
    "erf": ("erf", {"data": _x(3)}),
    "erfinv": ("erfinv", {"data": _x(3) / 2}),
    "fully_connected": ("FullyConnected", {
        "data": _x(2, 3, 4), "weight": _x(5, 4), "bias": _x(5), "num_hidden": 5,
        "flatten": False}),
    "gamma": ("gamma", {"data": _x(3) + 2}),
    "gammaln": ("gammaln", {"data": _x(3) + 2}),
    "gather_nd": ("gather_nd", {"data": _x(3, 4), "indices": mx.np.array([[0, 2], [1, 3]])}),
    "layer_norm": ("LayerNorm", {
        "data": _x(2, 3), "gamma": _x(3), "beta": _x(3), "axis": -1, "eps": 1e-3}),
    "leaky_relu": ("LeakyReLU", {"data": _x(2, 3), "act_type": "elu", "slope": 0.4}),
    "log_softmax": ("log_softmax", {"data": _x(2, 3), "axis": 0, "temperature": 2.0}),
    "multibox_prior": ("contrib.MultiBoxPrior", {
        "data": _x(1, 3, 2, 2), "sizes": (0.5, 0.2), "ratios": (1, 2), "clip": True}),
    "one_hot": ("one_hot", {
        "indices": mx.np.array([0, 2]), "depth": 4, "on_value": 3.0, "off_value": 1.0,
        "dtype": "float64"}),
    "pick": ("pick", {
        "data": _x(2, 3), "index": mx.np.array([0, 5]), "axis": 1, "keepdims": True,
        "mode": "wrap"}),
    "pooling": ("Pooling", {
        "data": _x(1, 2, 4, 4), "kernel": (2, 2), "pool_type": "avg", "stride": (2, 2),
        "pad": (1, 1), "count_include_pad": False, "pooling_convention": "full"}),
    "relu": ("relu", {"data": _x(3)}),
    "reshape_like": ("reshape_like", {"lhs": _x(6), "rhs": _x(2, 3)}),
    "roi_pooling": ("ROIPooling", {
        "data": _x(1, 1, 4, 4), "rois": mx.np.array([[0, 0, 0, 3, 3]]), "pooled_size": (2, 2),
        "spatial_scale": 1.0}),
    "sequence_mask": ("SequenceMask", {
        "data": _x(3, 2), "sequence_length": mx.np.array([1, 2]), "use_sequence_length": True,
        "value": -1.0, "axis": 0}),
    "sigmoid": ("sigmoid", {"data": _x(3)}),
    "slice": ("slice", {"data": _x(4, 4), "begin": (0, 3), "end": (3, None), "step": (2, -1)}),
    "smooth_l1": ("smooth_l1", {"data": _x(3), "scalar": 2.0}),
    "softmax": ("softmax", {
        "data": _x(2, 3), "length": mx.np.array([1, 3], dtype="int32"), "axis": 1,
        "temperature": 2.0, "use_length": True}),
    "topk": ("topk", {
        "data": _x(2, 5), "axis": 1, "k": 2, "ret_typ": "value", "is_ascend": True}),
}  # fmt: skip


@pytest.mark.parametrize("name", _BY_NAME)
def test_arguments_by_the_names_of_mxnet(name):
    legacy, given = _BY_NAME[name]
    operator = mx.nd
    for word in legacy.split("."):
        operator = getattr(operator, word)
    expected = operator(**{
        key: value.as_nd_ndarray() if isinstance(value, mx.np.ndarray) else value
        for key, value in given.items()
    })  # fmt: skip
    function = getattr(npx, name)
    found = function(**given, name="node")
    assert type(found) is mx.np.ndarray
    np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())
    out = mx.np.zeros(found.shape, dtype=found.dtype)
    assert function(**given, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), expected.asnumpy())
    with pytest.raises(TypeError, match="no_such"):
        function(**given, no_such=1)


def test_arguments_of_mx_np_by_the_names_and_places_of_mxnet():
    face, x = mx.np, mx.np.array([[1.25, 2.0], [3.0, 4.0]])
    for found, expected in (
        (face.around(x=x, decimals=1), np.around(x.asnumpy(), 1)),
        (face.diag(array=x, k=0), np.diag(x.asnumpy())),
        (face.real(val=x), x.asnumpy()),
        (face.linalg.matrix_rank(A=x), 2),
        (face.max(x, 1, True), np.max(x.asnumpy(), 1, keepdims=True)),
        (face.any(x, 1, True), np.any(x.asnumpy(), 1, keepdims=True)),
        (face.sum(x, 1, None, True), np.sum(x.asnumpy(), 1, keepdims=True)),
        (npx.random.normal_n(loc=0.0, scale=1.0, batch_shape=(2,)).shape, (2,)),
    ):
        np.testing.assert_array_equal(np.asarray(found), expected)
    for name, args in (("average", ()), ("copy", ()), ("flip", ()), ("reshape", ((4,),)),
                       ("squeeze", ())):  # fmt: skip
        expected = getattr(face, name)(x, *args)
        out = face.zeros(expected.shape)
        assert getattr(face, name)(x, *args, out=out) is out
        assert bool((out == expected).all())
