"""NDArrays on a GPU against NumPy: made, copied both ways, sliced, assigned, saved."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import cynet as mx

DTYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"]


def numbers(rng, shape, dtype):
    return (rng.standard_normal(shape) * 50).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 1, 300), (700, 900)])
def test_there_and_back(gpu, rng, shape, dtype):
    x = numbers(rng, shape, dtype)
    a = mx.nd.array(x, ctx=gpu, dtype=dtype)
    assert a.context == gpu and a.shape == shape and a.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(a.asnumpy(), x)
    np.testing.assert_array_equal(a.copyto(mx.cpu()).asnumpy(), x)
    np.testing.assert_array_equal(a.as_in_context(mx.cpu()).as_in_context(gpu).asnumpy(), x)


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_are_the_cpus(gpu, rng, dtype, to):
    x = numbers(rng, (7, 33), dtype)
    host = mx.nd.array(x, dtype=dtype)
    want = host.astype(to).asnumpy()
    there = mx.nd.array(x, ctx=gpu, dtype=dtype)
    np.testing.assert_array_equal(there.astype(to).asnumpy(), want)
    out = mx.nd.zeros((7, 33), ctx=gpu, dtype=to)
    host.copyto(out)
    np.testing.assert_array_equal(out.asnumpy(), want)
    back = mx.nd.zeros((7, 33), dtype=to)
    there.copyto(back)
    np.testing.assert_array_equal(back.asnumpy(), want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [0, 1, 3.7, 200])
def test_filled(gpu, dtype, value):
    x, want = mx.nd.empty((5, 6), ctx=gpu, dtype=dtype), mx.nd.empty((5, 6), dtype=dtype)
    for each in (x, want):
        each[:] = 0
        each[1:4, ::2] = value
        each[4] = value
    np.testing.assert_array_equal(x.asnumpy(), want.asnumpy())


KEYS = [
    (slice(None),),
    (2,),
    (slice(1, 3),),
    (slice(None), 4),
    (slice(None, None, -1),),
    (1, slice(None, None, 2)),
    (slice(None), slice(1, 5), 0),
    (Ellipsis, slice(0, 2)),
    (slice(4, 0, -2), None),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_slices(gpu, rng, key):
    x = numbers(rng, (5, 6, 3), "float32")
    a = mx.nd.array(x, ctx=gpu)
    np.testing.assert_array_equal(a[key].asnumpy().reshape(x[key].shape), x[key])
    value = numbers(rng, x[key].shape, "float32")
    for given in (value, mx.nd.array(value), mx.nd.array(value, ctx=gpu)):
        a[:] = x
        a[key] = given
        want = x.copy()
        want[key] = value
        np.testing.assert_array_equal(a.asnumpy(), want)


def test_rows_by_number(gpu, rng):
    x = numbers(rng, (9, 4), "float32")
    a = mx.nd.array(x, ctx=gpu)
    rows = [3, 0, 8, 3]
    np.testing.assert_array_equal(a[rows].asnumpy(), x[rows])
    mask = x[:, 0] > 0
    np.testing.assert_array_equal(a[mask].asnumpy(), x[mask])
    value = numbers(rng, (4, 4), "float32")
    a[rows] = value
    x[rows] = value  # of equal rows the last one stays
    np.testing.assert_array_equal(a.asnumpy(), x)


def test_views_share_memory(gpu):
    a = mx.nd.zeros((4, 3), ctx=gpu)
    a[1:3][:] = 5
    a.reshape((3, 4))[0, 0] = 7
    want = np.zeros((4, 3), "f")
    want[1:3] = 5
    want[0, 0] = 7
    np.testing.assert_array_equal(a.asnumpy(), want)


def test_overlapping_assignment(gpu, rng):
    x = numbers(rng, (400,), "float32")
    a = mx.nd.array(x, ctx=gpu)
    a[10:] = a[:-10]
    x[10:] = x[:-10].copy()
    np.testing.assert_array_equal(a.asnumpy(), x)


def test_large_copies_in_pieces(gpu, rng):
    x = rng.standard_normal(5_300_001).astype("f")  # several pieces of pinned memory, and a rest
    a = mx.nd.array(x, ctx=gpu)
    b = a.copyto(gpu)
    a[:] = 1
    c = mx.nd.empty(x.shape)
    b.copyto(c)
    np.testing.assert_array_equal(b.asnumpy(), x)
    np.testing.assert_array_equal(c.asnumpy(), x)
    assert (a.asnumpy() == 1).all()


def test_the_host_may_overwrite_what_it_copied_from(gpu):
    host, there = mx.nd.zeros((1000, 300)), mx.nd.zeros((1000, 300), ctx=gpu)
    seen = []
    for i in range(40):
        host[:] = i
        host.copyto(there)
        seen.append(there[7:9].copyto(mx.cpu()))
    assert [float(s.asnumpy().min()) for s in seen] == list(range(40))
    assert [float(s.asnumpy().max()) for s in seen] == list(range(40))


def test_between_gpus(two, rng):
    x = numbers(rng, (300, 70), "float32")
    a = mx.nd.array(x, ctx=two[0])
    for i in range(20):
        a[:] = x + i
        b = a.copyto(two[1])
        a[:] = 0
        assert b.context == two[1]
        np.testing.assert_array_equal(b.asnumpy(), x + i)
    c = mx.nd.zeros((300, 70), ctx=two[1], dtype="float64")
    c[::2] = b[::2]
    want = np.zeros((300, 70))
    want[::2] = (x + 19)[::2]
    np.testing.assert_array_equal(c.asnumpy(), want)


def test_arrays_of_two_gpus_do_not_mix(two):
    a, b = mx.nd.ones((3,), ctx=two[0]), mx.nd.ones((3,), ctx=two[1])
    with pytest.raises(ValueError, match=r"inputs are on gpu\(0\) and gpu\(1\)"):
        a + b


def test_files_and_pickles(gpu, rng, tmp_path):
    x = numbers(rng, (4, 5), "float32")
    a = mx.nd.array(x, ctx=gpu)
    path = str(tmp_path / "arrays")
    mx.nd.save(path, {"a": a})
    np.testing.assert_array_equal(mx.nd.load(path)["a"].asnumpy(), x)
    again = pickle.loads(pickle.dumps(a))
    assert again.context == gpu
    np.testing.assert_array_equal(again.asnumpy(), x)


@pytest.mark.parametrize("shape", [(100, 100), (700, 900)])  # straight there, by a landing
def test_pinned_memory(gpu, rng, shape):
    x = numbers(rng, shape, "float32")
    a = mx.nd.array(x, ctx=mx.cpu_pinned())
    b = a.copyto(gpu)
    a[:] = 0
    np.testing.assert_array_equal(b.asnumpy(), x)
    b.copyto(a)
    np.testing.assert_array_equal(a.asnumpy(), x)
    b[3:9].copyto(a[10:16])
    x[10:16] = x[3:9]
    np.testing.assert_array_equal(a.asnumpy(), x)
    c = mx.nd.zeros(shape, ctx=mx.cpu_pinned(), dtype="float64")
    b.copyto(c)  # converted on the host
    x[10:16] = b[10:16].asnumpy()
    np.testing.assert_array_equal(c.asnumpy(), x)
    c[:, 1:3].copyto(b[:, 1:3])
    np.testing.assert_array_equal(b.asnumpy(), x)


@pytest.mark.parametrize("rows", [3, 300, 900])
def test_pinned_memory_is_overwritten_when_it_has_been_read(gpu, rows):
    host = mx.nd.zeros((rows, 1000), ctx=mx.cpu_pinned())
    back = mx.nd.zeros((rows, 1000), ctx=mx.cpu_pinned())
    there = mx.nd.zeros((rows, 1000), ctx=gpu)
    total, seen = mx.nd.zeros((rows, 1000), ctx=gpu), []
    for i in range(40):
        host[:] = i
        host.copyto(there)
        there += 1
        total += there
        there.copyto(back)
        seen.append(back + 0)
    for i, each in enumerate(seen):
        assert (each.asnumpy() == i + 1).all(), i
    assert (total.asnumpy() == 820).all()


def test_pinned_memory_given_up_while_it_is_read(gpu, rng):
    x = numbers(rng, (300, 400), "float32")
    kept = []
    for i in range(30):
        kept.append(mx.nd.array(x + i, ctx=mx.cpu_pinned()).as_in_context(gpu))
        mx.nd.zeros((300, 400), ctx=mx.cpu_pinned())  # gets its memory when it is free
    for i, each in enumerate(kept):
        np.testing.assert_array_equal(each.asnumpy(), x + np.float32(i))
    backs = [each.as_in_context(mx.cpu_pinned()) for each in kept]
    del kept, each
    for i, back in enumerate(backs):
        np.testing.assert_array_equal(back.asnumpy(), x + np.float32(i))


def test_the_host_cannot_look_inside(gpu):
    with pytest.raises(BufferError, match=r"on gpu\(0\)"):
        memoryview(mx.nd.ones((3,), ctx=gpu))


def test_no_such_gpu(gpu):
    count = mx.context.num_gpus()
    with pytest.raises(mx.MXNetError, match=rf"gpu\({count}\) does not exist: this machine has"):
        mx.nd.zeros((2,), ctx=mx.gpu(count))


def test_importing_cynet_starts_nothing():
    code = "import sys, cynet; sys.exit('pycuda' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_forked_child_is_refused(gpu):
    import os

    a = mx.nd.ones((3,), ctx=gpu)
    a.asnumpy()
    pid = os.fork()
    if pid == 0:
        try:
            mx.nd.ones((2,)).asnumpy()  # the CPU goes on
            a.asnumpy()
        except mx.MXNetError as error:
            os._exit(0 if "forked" in str(error) else 2)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
