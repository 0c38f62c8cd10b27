"""bfloat16 arrays: conversions against integer arithmetic on bits, NumPy's view of them, files."""

import pickle

import numpy as np
import pytest

import cynet as mx
from cynet.base.dtype import BFLOAT16
from tests.bfloat16 import narrowed, widened

EVERY = np.arange(1 << 16, dtype=np.uint16).view(BFLOAT16)
# MXNet 1.9.1's file of {"b": [1, -2.5, 3.140625]} in bfloat16
FILE = bytes.fromhex(
    "120100000000000000000000000000000100000000000000c9fa93f9000000000100000003000000000000000100"
    "0000000000000c000000803f20c049400100000000000000010000000000000062"
)


def bits(array):
    return array.host_copy().view(np.uint16)


def test_every_number_as_float32_and_back():
    array = mx.nd.array(EVERY, dtype="bfloat16")
    assert (bits(array) == EVERY.view(np.uint16)).all()
    wide = array.asnumpy()
    np.testing.assert_array_equal(wide, widened(EVERY))
    assert wide.dtype == np.float32
    for other in ("float32", "float64"):
        back = bits(array.astype(other).astype("bfloat16"))
        number = ~np.isnan(wide)
        assert (back[number] == EVERY.view(np.uint16)[number]).all()
        assert np.isnan(widened(back.view(BFLOAT16))[~number]).all()


def test_rounding():
    """To the nearest, of two the even one: numbers in the middle of two, beside it, and random bit
    patterns."""
    middle = (np.arange(0, 1 << 16, 7, dtype=np.uint32) << 16) | 0x8000
    rng = np.random.default_rng(3)
    patterns = [middle, middle + 1, middle - 1, rng.integers(0, 1 << 32, 20000, dtype=np.uint32)]
    for values in (each.view(np.float32) for each in patterns):
        found, wanted = mx.nd.array(values, dtype="bfloat16"), narrowed(values)
        assert (bits(found)[~np.isnan(values)] == wanted.view(np.uint16)[~np.isnan(values)]).all()
        assert np.isnan(found.asnumpy()[np.isnan(values)]).all()


@pytest.mark.parametrize("how", ["astype", "Cast", "amp_cast", "[:]"])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "uint8", "int8", "int32", "int64", "bool"]
)
def test_from_and_to_every_dtype(how, dtype, rng):
    values = (rng.standard_normal(300) * 100).astype(dtype)
    if dtype == "float64":  # in the middle of two but for what float32 does not see
        values[:4] = [1 + 2**-8 + 2**-40, 1 + 2**-8 - 2**-40, 1 + 2**-8, 1 + 3 * 2**-8]
    if dtype in ("int32", "int64"):
        values[:3] = [2**30 + 2**22, 2**30 + 2**22 + 1, -(2**30) - 2**22 - 1]
    source = mx.nd.array(values, dtype=dtype)
    if how == "amp_cast" and dtype not in ("float32", "float16"):
        assert mx.nd.amp_cast(source, dtype="bfloat16").dtype == source.dtype
        return
    found = convert(how, source, "bfloat16")
    assert found.dtype == BFLOAT16
    assert (bits(found) == narrowed(values).view(np.uint16)).all()
    back = convert(how, found, dtype)
    np.testing.assert_array_equal(back.asnumpy(), widened(narrowed(values)).astype(dtype))


def convert(how, array, dtype):
    if how == "astype":
        return array.astype(dtype)
    if how == "[:]":
        out = mx.nd.zeros((3, array.size), dtype=dtype)
        out[1:, ::-1] = array  # strides on both sides
        assert (out.asnumpy()[0] == 0).all()
        return out[2][::-1]
    return getattr(mx.nd, how)(array, dtype=dtype)


def test_large_integers_are_rounded_once():
    near = (1 << 62) + (1 << 54)  # in the middle; a double rounds all of them to it
    values = [near - 1, near, near + 1, -near - 1, 2**63 - 1, -(2**63)]
    found = mx.nd.array(np.array(values), dtype="bfloat16").asnumpy().astype(object)
    low, high = 1 << 62, (1 << 62) + (1 << 55)
    assert [int(x) for x in found] == [low, low, high, -high, 2**63, -(2**63)]


def test_what_numpy_sees():
    a = mx.nd.array([[1.00390625, -2.5], [3.14159, 1e-40]], dtype="bfloat16")
    wanted = widened(narrowed(np.float32([[1.00390625, -2.5], [3.14159, 1e-40]])))
    assert a.dtype == np.dtype([("bfloat16", np.uint16)]) and a.dtype_flag == 12
    assert wanted[1, 1] != 0 and "3.140625" in str(a)
    for seen in (a.asnumpy(), np.asarray(a), np.array(a, dtype="float64"), np.exp(a * 0) * a):
        np.testing.assert_array_equal(np.asarray(seen), wanted)
    assert type(a[0, 1].asscalar()) is np.float32 and float(a[0, 1]) == -2.5
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(a)
    for copy in (
        mx.nd.array(a.asnumpy(), dtype=a.dtype),
        mx.nd.array(a.host_copy(), dtype=a.dtype),
        mx.nd.array(a),
        mx.nd.from_dlpack(a),
        pickle.loads(pickle.dumps(a)),
        a.copyto(mx.cpu(1)),
    ):
        assert copy.dtype == a.dtype and (bits(copy) == bits(a)).all()
    assert mx.nd.array(a.host_copy()).dtype == np.float32
    assert (a + np.float32([1, 2])).dtype == a.dtype
    with pytest.raises(TypeError, match="bfloat16"):
        mx.nd.ones((2,), dtype="bfloat17")


def test_arrays_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = np.array([1.5, -3.0, np.inf], ml_dtypes.bfloat16)
    for dtype in ("bfloat16", ml_dtypes.bfloat16, values.dtype):
        found = mx.nd.array(values, dtype=dtype)
        assert found.dtype == BFLOAT16 and found.asnumpy().tolist() == [1.5, -3.0, np.inf]
    assert (found.host_copy().view(ml_dtypes.bfloat16) == values).all()


def test_parts_and_numbers(rng):
    """Assignments and reads of parts, which move bytes."""
    values = rng.standard_normal((4, 5, 6)).astype("f")
    a, wanted = mx.nd.array(values, dtype="bfloat16"), widened(narrowed(values))
    a[1:3, ::2] = 0.1
    wanted[1:3, ::2] = widened(narrowed(0.1))
    a[0, 1] = values[2, 1]
    wanted[0, 1] = widened(narrowed(values[2, 1]))
    a[3] = True
    wanted[3] = 1
    a[2, :, [1, 4]] = a[0, :, [2, 3]]
    wanted[2][:, [1, 4]] = wanted[0][:, [2, 3]]
    for key in np.s_[1:], np.s_[:, ::-2], np.s_[..., None, 2], np.s_[[3, 0]], np.s_[2, 1, 1:5:3]:
        np.testing.assert_array_equal(a[key].asnumpy(), wanted[key])
    np.testing.assert_array_equal(a.T.asnumpy(), wanted.T)
    np.testing.assert_array_equal(a.reshape((20, 6)).asnumpy(), wanted.reshape(20, 6))
    joined = mx.nd.concat(a, a[:1], dim=0).asnumpy()
    np.testing.assert_array_equal(joined, np.concatenate([wanted, wanted[:1]]))
    assert mx.nd.full((2,), 1.01, dtype="bfloat16").asnumpy().tolist() == [1.0078125] * 2
    assert mx.nd.arange(3, dtype="bfloat16").asnumpy().tolist() == [0, 1, 2]
    assert mx.nd.eye(2, dtype="bfloat16").asnumpy().tolist() == [[1, 0], [0, 1]]


def test_mxnets_file(tmp_path):
    path = str(tmp_path / "x.params")
    mx.nd.save(path, {"b": mx.nd.array([1, -2.5, 3.140625], dtype="bfloat16")})
    with open(path, "rb") as file:
        assert file.read() == FILE
    found = mx.nd.load_frombuffer(FILE)["b"]
    assert found.dtype == BFLOAT16 and found.asnumpy().tolist() == [1, -2.5, 3.140625]


@pytest.mark.parametrize("form", ["params", "npz", "safetensors"])
def test_files(tmp_path, form, rng):
    """Small and large arrays; safetensors' own name for the dtype."""
    if form == "safetensors":
        pytest.importorskip("safetensors")
    arrays = {
        "small": mx.nd.array(EVERY[: 3 * 5].reshape(3, 5), dtype="bfloat16"),
        "large": mx.nd.array(np.resize(EVERY, (70000, 2)), dtype="bfloat16"),
        "plain": mx.nd.array([1.5, 2.5]),
        "kürzer": mx.nd.array([7], dtype="bfloat16"),
    }
    path = str(tmp_path / f"x.{form}")
    mx.nd.save(path, arrays)
    if form == "safetensors":
        with open(path, "rb") as file:
            assert file.read(500).count(b'"BF16"') == 3
    found = mx.nd.load(path)
    assert found.keys() == arrays.keys()
    for name, each in arrays.items():
        assert found[name].dtype == each.dtype
        assert (found[name].host_copy() == each.host_copy()).all()


def test_symbols_and_their_json():
    """As MXNet 1.9.1 writes them: the type's name in parameters, its flag at variables."""
    x = mx.sym.var("x", dtype="bfloat16")
    assert x.attr("__dtype__") == "12"
    net = mx.sym.Cast(x, dtype=np.dtype([("bfloat16", np.uint16)]), name="c")
    assert '"dtype": "bfloat16"' in net.tojson()
    back = mx.sym.load_json(net.tojson())
    assert back.infer_type()[1] == [BFLOAT16]
    executor = back.simple_bind(mx.cpu(), x=(3,), grad_req="write")
    executor.arg_dict["x"][:] = [1.5, 2, 300.7]
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [1.5, 2, 300]
    executor.backward([mx.nd.ones((3,), dtype="bfloat16")])
    assert executor.grad_dict["x"].dtype == BFLOAT16
    assert executor.grad_dict["x"].asnumpy().tolist() == [1] * 3


def test_multicast():
    kinds = {k: mx.nd.ones((2,), dtype=k) for k in ("bfloat16", "float16", "float32", "int32")}

    def made(*names, **options):
        outs = mx.nd.amp_multicast(*[kinds[n] for n in names], num_outputs=len(names), **options)
        return [mx.base.dtype.name_of(each.dtype) for each in outs]

    assert made("bfloat16", "float32", "int32") == ["float32", "float32", "int32"]
    assert made("float32", "bfloat16", cast_narrow=True) == ["bfloat16"] * 2
    assert made("bfloat16", "bfloat16", "int32") == ["bfloat16", "bfloat16", "int32"]
    assert made("float16", "bfloat16") == ["float32"] * 2  # which hold all numbers of both
