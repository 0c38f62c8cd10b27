"""Making arrays: values, dtypes, shapes, devices, other libraries' memory, and what is refused."""

import time

import numpy as np
import pytest

import cynet as mx
from cynet.base.dtype import FLAGS

NUMPYS = [name for name in FLAGS if name != "bfloat16"]  # dtypes that NumPy has, too


@pytest.mark.parametrize("dtype", NUMPYS)
def test_array_keeps_values_in_every_dtype(dtype, rng):
    values = rng.integers(0, 2, (3, 4)).astype(dtype)
    array = mx.nd.array(values, dtype=dtype)
    assert np.dtype(array.dtype) == np.dtype(dtype)
    np.testing.assert_array_equal(array.asnumpy(), values)


@pytest.mark.parametrize("source", ["float64", "float16", "int16", "uint32", ">f4", "int64"])
@pytest.mark.parametrize("target", ["float32", "int32", "float64"])
def test_array_converts_what_numpy_has(source, target, rng):
    values = rng.integers(0, 100, (2, 5)).astype(source)
    np.testing.assert_array_equal(
        mx.nd.array(values, dtype=target).asnumpy(), values.astype(target)
    )


@pytest.mark.parametrize(
    "key", [np.s_[::-1], np.s_[:, ::2], np.s_[:, ::-3], np.s_[1:1], np.s_[..., None], np.s_[0]]
)
def test_array_reads_strided_sources(key, rng):
    values = rng.standard_normal((6, 7)).astype("float32")[key]
    np.testing.assert_array_equal(mx.nd.array(values).asnumpy(), values)
    np.testing.assert_array_equal(mx.nd.array(values.T).asnumpy(), values.T)


def test_array_reads_unaligned_fields():
    record = np.zeros(4, dtype=[("flag", "u1"), ("value", "f4")])
    record["value"] = [1, 2, 3, 4]
    np.testing.assert_array_equal(mx.nd.array(record["value"]).asnumpy(), record["value"])


def test_the_source_is_free_at_once():
    source = np.zeros((300, 1000), "float32")
    array = mx.nd.array(source)
    source[:] = 7
    assert not array.asnumpy().any()


@pytest.mark.parametrize(
    "bad", ["abc", None, [[1, 2], [3]], [object()], {"a": 1}, [1j], ["1", "x"], [10**400]]
)
def test_array_refuses(bad):
    with pytest.raises(TypeError, match="array takes numbers or something like an array"):
        mx.nd.array(bad)


@pytest.mark.parametrize(
    "shape, error",
    [
        ("a", TypeError),
        (2.5, TypeError),
        ((2, -1), ValueError),
        ((1,) * 9, ValueError),
        (None, TypeError),
        ((1 << 40, 1 << 40), MemoryError),
        ((1 << 45,), MemoryError),
    ],
)
def test_bad_shapes(shape, error):
    with pytest.raises(error, match="been given back, peak|shape"):
        mx.nd.zeros(shape)
    assert mx.nd.zeros((2,)).asnumpy().tolist() == [0, 0]  # the next request succeeds


def test_bad_dtype_and_device():
    with pytest.raises(TypeError, match="uint16"):
        mx.nd.zeros((2,), dtype="uint16")
    with pytest.raises(ValueError, match="toaster"):
        mx.nd.zeros((2,), ctx="toaster(0)")
    with pytest.raises(TypeError, match="Context"):
        mx.nd.zeros((2,), ctx=3)
    with pytest.raises(mx.base.MXNetError, match="needs the package pycuda: pip install"):
        mx.nd.zeros((2,), ctx=mx.gpu(0))


def test_device_of_the_with_statement():
    with mx.Context("cpu", 2):
        array = mx.nd.zeros((2,))
    assert array.context == mx.cpu(2)
    assert (array + 1).context == mx.cpu(2)
    assert array.as_in_context(mx.cpu(2)) is array
    assert array.as_in_context(mx.cpu(0)).context == mx.cpu(0)


def test_an_array_cannot_be_made_bare():
    with pytest.raises(TypeError, match=r"mx\.nd\.array"):
        mx.nd.NDArray()
    with pytest.raises(TypeError, match=r"mx\.nd\.array"):
        mx.nd.NDArray.__new__(mx.nd.NDArray)


def test_empty_sizes():
    assert mx.nd.array([]).shape == (0,)
    empty = mx.nd.zeros((0, 3))
    assert empty.asnumpy().shape == (0, 3) and not empty


@pytest.mark.parametrize(
    "start, stop, step", [(0, 5, 1), (2, 6, 2), (5, 2, -1), (0, 1, 0.3), (-3, 3, 0.5)]
)
def test_arange(start, stop, step):
    np.testing.assert_allclose(
        mx.nd.arange(start, stop, step).asnumpy(),
        np.arange(start, stop, step, "float32"),
        rtol=1e-6,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16"])
@pytest.mark.parametrize("n", [1, 7, 1023, 1024, 1025, 100_000])
def test_arange_in_the_arithmetic_of_its_dtype(n, dtype):
    kind = np.dtype(dtype).type
    steps = (1, -3) if "int" in dtype else (1, 0.1, -1 / 3)
    for step in steps:
        n = min(n, 2000) if dtype == "float16" else n
        start, stop = 5, 5 + step * n
        got = mx.nd.arange(start, stop, step, dtype=dtype).asnumpy()
        count = int(np.ceil((stop - start) / step))
        expected = kind(start) + np.arange(count).astype(dtype) * kind(step)
        np.testing.assert_array_equal(got, expected)


def test_full_keeps_what_its_dtype_holds():
    for value in (2**62 + 1, -(2**60) - 7, 2**53 + 1, -3, True, 2.5, np.float32(0.1), np.int64(9)):
        kind = "float64" if isinstance(value, (float, np.floating)) else "int64"
        assert mx.nd.full(2, value, dtype=kind).asnumpy().tolist() == [value] * 2
    assert mx.nd.full((2,), -1, dtype="uint8").asnumpy().tolist() == [255, 255]
    assert np.isnan(mx.nd.full(3, float("nan")).asnumpy()).all()
    out = mx.nd.ones((2, 3))
    assert mx.nd.full((2, 3), 4, out=out) is out and mx.nd.zeros((2, 3), out=out) is out
    assert not out.asnumpy().any()


@pytest.mark.parametrize("arguments", [(0,), (3, 3), (0, 3, 0), (0, 3, -1), (0, 3, 1, 0)])
def test_arange_refuses_empty_ranges(arguments):
    with pytest.raises(ValueError, match="arange"):
        mx.nd.arange(*arguments)


def test_buffer_and_array_protocols(rng):
    values = rng.standard_normal((2, 3)).astype("float32")
    array = mx.nd.array(values)
    view = memoryview(array)
    assert (view.format, view.shape, view.strides, view.readonly) == ("f", (2, 3), (12, 4), True)
    np.testing.assert_array_equal(np.asarray(array), values)
    assert np.asarray(array).ctypes.data == array.data_ptr
    assert np.array(array, dtype="float64").dtype == np.float64
    np.testing.assert_array_equal(np.exp(array), np.exp(values))


@pytest.mark.parametrize("dtype", NUMPYS)
def test_dlpack_both_ways(dtype):
    values = np.arange(6).reshape(2, 3).astype(dtype)
    array = mx.nd.array(values, dtype=dtype)
    shown = np.from_dlpack(array)
    np.testing.assert_array_equal(shown, values)
    assert shown.ctypes.data == array.data_ptr
    back = mx.nd.from_dlpack(mx.nd.to_dlpack_for_read(array))
    assert back.data_ptr == array.data_ptr and back.dtype == array.dtype
    del array
    np.testing.assert_array_equal(back.asnumpy(), values)


def test_dlpack_shares_memory_both_ways():
    values = np.zeros(4, "float32")
    array = mx.nd.from_dlpack(values)
    array[:] = 3
    array.wait_to_read()
    assert values.tolist() == [3, 3, 3, 3]
    del values
    assert (array + 1).asnumpy().tolist() == [4, 4, 4, 4]


def test_dlpack_refuses():
    with pytest.raises(ValueError, match="capsule"):
        mx.nd.from_dlpack([1, 2])
    capsule = mx.nd.to_dlpack_for_read(mx.nd.zeros((2,)))
    mx.nd.from_dlpack(capsule)
    with pytest.raises(ValueError, match="unused"):
        mx.nd.from_dlpack(capsule)
    with pytest.raises(ValueError, match="contiguous"):
        mx.nd.from_dlpack(np.zeros((4, 4), "float32")[:, ::2])
    with pytest.raises(TypeError, match="16 bits"):
        mx.nd.from_dlpack(np.zeros(4, "uint16"))


def test_a_capsule_nobody_takes_is_freed():
    before = mx.storage.stats(mx.cpu())["used_bytes"]
    for _ in range(100):
        mx.nd.to_dlpack_for_write(mx.nd.zeros((1000,)))
    mx.nd.waitall()  # a block is freed behind what writes it
    due = time.monotonic() + 10
    while mx.storage.stats(mx.cpu())["used_bytes"] > before + 8192 and time.monotonic() < due:
        time.sleep(0.01)
    assert mx.storage.stats(mx.cpu())["used_bytes"] <= before + 8192


def test_from_numpy():
    values = np.arange(4, dtype="float32")
    array = mx.nd.from_numpy(values)
    assert array.data_ptr == values.ctypes.data and not values.flags.writeable
    copied = mx.nd.from_numpy(np.arange(4, dtype="int32"), zero_copy=False)
    assert copied.dtype is np.int32
    with pytest.raises(ValueError, match="not C-contiguous.*zero_copy=False"):
        mx.nd.from_numpy(np.zeros((4, 4))[:, ::2])
    values = np.arange(4, dtype="float32")
    with pytest.raises(TypeError, match="array_cls must be mx.nd.NDArray, got.*ndarray"):
        mx.nd.from_numpy(values, array_cls=np.ndarray)
    assert type(mx.nd.from_numpy(values, True, mx.nd.NDArray)) is mx.nd.NDArray
    values = np.frombuffer(b"abcd", "uint8")  # read-only: its values are copied
    array = mx.nd.from_numpy(values)
    array[:] = 1
    assert array.asnumpy().tolist() == [1] * 4 and values.tobytes() == b"abcd"


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 3)])
def test_dlpack_of_empty_arrays(shape):
    for source in (np.ones(shape, "float32"), mx.nd.zeros(shape)):
        assert mx.nd.from_dlpack(source).shape == shape


def test_texts_and_objects_that_are_numbers():
    assert mx.nd.array(["1", "2.5"]).asnumpy().tolist() == [1, 2.5]
    assert mx.nd.array(["3", "4"], dtype="int32").asnumpy().tolist() == [3, 4]
    assert mx.nd.array([b"1", b"2"]).asnumpy().tolist() == [1, 2]
    for dtype in ("float32", "int64"):
        for source in (np.array([1, 2.0], dtype=object), np.array(["1", "2"])):
            got = mx.nd.array(source, dtype=dtype)
            assert got.asnumpy().tolist() == [1, 2] and got.dtype is np.dtype(dtype).type
    array = mx.nd.ones((2,))
    array[:] = np.array([3, 4], dtype=object)
    assert array.asnumpy().tolist() == [3, 4]


def test_split_v2():
    array = mx.nd.arange(5)
    parts = mx.nd.split_v2(array, (2, 3))
    assert [part.asnumpy().tolist() for part in parts] == [[0, 1], [2], [3, 4]]
    assert [p.shape for p in mx.nd.ones((4, 2)).split_v2(2, axis=1, squeeze_axis=True)] == [
        (4,)
    ] * 2


def test_linspace_of_nothing():
    assert mx.nd.linspace(0, 1, 0).shape == (0,)
    with pytest.raises(ValueError, match="num must be at least 0, got -1"):
        mx.nd.linspace(0, 1, -1)


def test_memory_is_given_back():
    before = mx.storage.stats(mx.cpu())["used_bytes"]
    array = mx.nd.zeros((1000, 1000))
    view = array[10:20]
    del array
    assert view.asnumpy().shape == (10, 1000)
    assert mx.storage.stats(mx.cpu())["used_bytes"] >= before + 4_000_000
    del view
    mx.nd.waitall()
    assert mx.storage.stats(mx.cpu())["used_bytes"] < before + 4_000_000


def test_concatenate_and_moveaxis(rng):
    values = rng.standard_normal((2, 3, 4)).astype("float32")
    array = mx.nd.array(values)
    for axis in (0, 1, 2, -1):
        np.testing.assert_array_equal(
            mx.nd.concatenate([array, array], axis).asnumpy(),
            np.concatenate([values, values], axis),
        )
    assert mx.nd.concatenate([array], always_copy=False) is array
    for source, target in [(0, 2), (2, 0), (-1, 0), ((0, 1), (1, 2))]:
        np.testing.assert_array_equal(
            mx.nd.moveaxis(array, source, target).asnumpy(), np.moveaxis(values, source, target)
        )
    for bad in [(0, 3), (3, 0), ((0, 0), (1, 2)), ((0,), (1, 2))]:
        with pytest.raises(ValueError, match="moveaxis"):
            mx.nd.moveaxis(array, *bad)
    with pytest.raises(ValueError, match="no arrays"):
        mx.nd.concatenate([])
    with pytest.raises(TypeError, match="input 1 must be an NDArray"):
        mx.nd.concatenate([array, values])


def test_onehot_encode():
    out = mx.nd.zeros((2, 3))
    assert mx.nd.onehot_encode(mx.nd.array([2, 0]), out) is out
    assert out.asnumpy().tolist() == [[0, 0, 1], [1, 0, 0]]
