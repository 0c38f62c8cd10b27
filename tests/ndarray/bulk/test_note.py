"""Bulks: the same bytes, and everybody who looks at an array sees what a call by itself shows."""

import os
import pickle
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd
from cynet.ndarray.bulk import note as bulks


def formula(F, a, b):
    x = a * 2.0 + b
    y = F.exp(-x) * a
    y = y / (1.0 + F.abs(y))
    return F.sqrt(F.abs(y)) - b * b


def both(function, *shapes, dtype="float32", face="nd", size=15):
    """Results of `function(F, *arrays)` call by call and in a bulk, as bytes."""
    F, seen = getattr(mx, face), []
    rng = np.random.default_rng(3)
    values = [(rng.standard_normal(shape) * 3).astype(dtype) for shape in shapes]
    for n in (0, size):
        arrays = [F.array(v, dtype=dtype) for v in values]
        with mx.engine.bulk(n):
            out = function(F, *arrays)
        outs = out if isinstance(out, (list, tuple)) else [out]
        seen.append([(each.shape, each.host_copy().tobytes()) for each in outs])
    return seen


@pytest.mark.parametrize("face", ["nd", "np"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "uint8"])
@pytest.mark.parametrize("shape", [(1,), (7,), (1025,), (3, 700), (40, 50, 60)])
def test_the_same_bytes(face, dtype, shape):
    if dtype == "bfloat16":
        a = nd.array(np.random.default_rng(1).standard_normal(shape)).astype("bfloat16")
        want = formula(nd, a, a).host_copy().tobytes()
        with mx.engine.bulk(15):
            assert formula(nd, a, a).host_copy().tobytes() == want
        return
    one, other = both(formula, shape, shape, dtype=dtype, face=face)
    assert one == other


@pytest.mark.parametrize("face", ["nd", "np"])
@pytest.mark.parametrize("small", [(1, 1), (1, 700), (30, 1)])
def test_operands_that_repeat(face, small):
    def function(F, a, b):
        if F is nd:
            x = nd.broadcast_mul(a * 0.5, b)
            return nd.exp(nd.broadcast_sub(x, b)) + 1.0
        return F.exp(a * 0.5 * b - b) + 1.0

    one, other = both(function, (30, 700), small, face=face)
    assert one == other


def noted():
    """How many calls wait."""
    return bulks.waiting_and_pushed_counts()[0]


def test_calls_are_noted_and_what_nobody_holds_is_not_written():
    a = nd.ones((1000,))
    a.wait_to_read()
    with mx.engine.bulk(15):
        _, programs, written = bulks.waiting_and_pushed_counts()
        x = a + 1.0
        y = x * 2.0
        assert noted() == 2
        del x
        z = y - 1.0
        y = z * z
        assert noted() == 4
        y = None
        assert z.asnumpy()[0] == 3.0
        assert noted() == 0
        assert bulks.waiting_and_pushed_counts()[1:] == (programs + 1, written + 1)


def test_the_limit_is_kept():
    a = nd.ones((100,))
    with mx.engine.bulk(4):
        for _ in range(3):
            a = a + 1.0
        assert noted() == 3
        a = a + 1.0
        assert noted() == 0
        a = a * 1.0
    assert noted() == 0  # the scope is left
    assert a.asnumpy()[0] == 5.0
    with mx.engine.bulk(1):
        a = a + 1.0
        assert noted() == 0


def test_a_scope_leaves_what_was_set_outside():
    before = mx.engine.set_bulk_size(3)
    with mx.engine.bulk(7):
        with mx.engine.bulk(0):
            a = nd.ones((5,)) + 1.0
            assert noted() == 0
        a = a + 1.0
        assert noted() == 1
    assert mx.engine.set_bulk_size(before) == 3
    with pytest.raises(KeyError, match="'gone'"), mx.engine.bulk(9):
        a = a + 1.0
        raise KeyError("gone")
    assert noted() == 0 and a.asnumpy()[0] == 4.0


# Each looks at `x`, which waits to be written, in its own way: the number 3 is there.
LOOKS = {
    "asnumpy": lambda x: x.asnumpy()[0],
    "asscalar": lambda x: x[:1].asscalar(),
    "view": lambda x: x[1:3].asnumpy()[0],
    "reshape": lambda x: x.reshape((2, -1)).asnumpy()[0, 0],
    "copy": lambda x: x.copy().asnumpy()[0],
    "astype": lambda x: x.astype("float64").asnumpy()[0],
    "copyto": lambda x: x.copyto(nd.zeros(x.shape)).asnumpy()[0],
    "sum": lambda x: nd.sum(x).asscalar() / x.size,
    "dot": lambda x: nd.dot(x, nd.ones(x.shape)).asscalar() / x.size,
    "tostype": lambda x: x.reshape((1, -1)).tostype("csr").asnumpy()[0, 0],
    "dlpack": lambda x: np.from_dlpack(x)[0],
    "buffer": lambda x: memoryview(x)[0],
    "pickle": lambda x: pickle.loads(pickle.dumps(x)).asnumpy()[0],
    "wait": lambda x: (x.wait_to_read(), noted() == 0 and 3.0)[1],
    "wait to write": lambda x: (x.wait_to_write(), noted() == 0 and 3.0)[1],
    "waitall": lambda x: (nd.waitall(), noted() == 0 and 3.0)[1],
    "take": lambda x: nd.take(x, nd.array([2])).asscalar(),
    "mask": lambda x: x[x > 0].asnumpy()[0],
    "float": lambda x: float(x[0]),
    "address": lambda x: (x.data_ptr, x.asnumpy()[0])[1],
    "Custom": lambda x: nd.clip(x, 0, 9).asnumpy()[0],
    "save": lambda x: _saved(x),
}


def _saved(x):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        nd.save(os.path.join(folder, "x"), [x])
        return nd.load(os.path.join(folder, "x"))[0].asnumpy()[0]


@pytest.mark.parametrize("look", LOOKS)
def test_who_looks_sees_the_values(look):
    a = nd.ones((10,))
    with mx.engine.bulk(15):
        x = a + 1.0
        x = x + 1.0
        assert noted() == 2
        assert LOOKS[look](x) == 3.0


# Each writes `a`, which noted calls have read before.
WRITES = {
    "x[:]": lambda a: a.__setitem__(slice(None), 9.0),
    "array": lambda a: a.__setitem__(slice(None), nd.zeros(a.shape)),
    "part": lambda a: a.__setitem__(slice(0, 2), 9.0),
    "numpy": lambda a: a.__setitem__(slice(None), np.zeros(10, "f")),
    "view": lambda a: a[0:5].__setitem__(slice(None), 9.0),
    "+=": lambda a: a.__iadd__(5.0),
    "view +=": lambda a: a[0:5].__iadd__(5.0),
    "out": lambda a: nd.elemwise_add(a, a, out=a),
    "copyto": lambda a: nd.zeros(a.shape).copyto(a),
    "update": lambda a: nd.sgd_update(a, nd.ones(a.shape), out=a, lr=1.0),
    "random": lambda a: nd.random.uniform(shape=a.shape, out=a),
    "dlpack": lambda a: np.from_dlpack(a).__setitem__(slice(None), 5.0),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_comes_behind_what_was_noted(write):
    a = nd.ones((10,))
    with mx.engine.bulk(15):
        x = a + 1.0
        if write == "dlpack":
            with pytest.raises(ValueError, match="read-only"):  # NumPy only gets to read it
                WRITES[write](a)
        else:
            WRITES[write](a)
        y = a * 1.0
        assert (x.asnumpy() == 2.0).all()
    assert y.shape == (10,) and (y.asnumpy() == a.asnumpy()).all()


def test_memory_of_others_is_read_at_once():
    host = np.ones(100, "float32")
    a = nd.from_numpy(host, zero_copy=True)
    with mx.engine.bulk(15):
        x = a + 1.0
        assert noted() == 0
    assert x.asnumpy()[0] == 2.0


def test_views_that_overlap():
    def function(F, a):
        x = a * 1.0
        x[1:] += x[:-1] * 2.0
        head = x[:10]
        head *= 3.0
        tail = x[5:15]
        tail += head
        return [x, x + 1.0, head, tail]

    one, other = both(function, (300,))
    assert one == other


def test_views_side_by_side_of_one_array():
    def function(F, a):
        x = a * 1.0
        F.elemwise_add(x[:150], x[:150], out=x[150:])
        F.elemwise_mul(x[150:], x[150:], out=x[:150])
        x[150:][:] = x[:150]
        return [x, x + 1.0]

    one, other = both(function, (300,))
    assert one == other


@pytest.mark.parametrize("face", ["nd", "np"])
def test_whole_arrays_that_are_put(face):
    def function(F, a, b, small):
        a[:] = 0.9 * a + 0.1 * b
        b[0:300] = a * b
        b[...] = b + a
        x = b * 2.0
        a[:] = x  # and x lives on
        x[::-1] = a
        b[:] = small * 1.0  # broadcasts: flushes
        a[2:] = b[:-2]
        return [a, b, x]

    for shape in ((300,), (300, 1)):
        one, other = both(function, shape, shape, (1,) * len(shape), face=face)
        assert one == other
    a = getattr(mx, face).ones((300,))
    a.wait_to_read()
    with mx.engine.bulk(15):
        a[:] = 0.9 * a + 0.1
        assert noted() == 3
    assert a[5].item() == 1.0


def test_a_put_of_another_dtype():
    a, b = nd.ones((50,)), nd.ones((50,), dtype="float64")
    with mx.engine.bulk(15):
        a[:] = b * 2.5
        b[:] = a + 0.25
        mask = a > 1.0
        mask[:] = a > 2.0
    assert a.asnumpy()[0] == 2.5 and b.asnumpy()[0] == 2.75 and mask.asnumpy()[0] == 1


def test_errors_of_arguments_come_at_once():
    a, b = nd.ones((3,)), nd.ones((4,))
    with mx.engine.bulk(15):
        x = a + 1.0
        with pytest.raises(mx.MXNetError, match="3.*4"):
            x + b
        assert noted() == 1


class Fails(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        raise ArithmeticError("bulk test")


@mx.operator.register("bulk_test_fails")
class FailsProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Fails()


def test_a_failure_reaches_what_was_computed_from_it_alone():
    a = nd.ones((20,))
    with mx.engine.bulk(15):
        bad = nd.Custom(a, op_type="bulk_test_fails")
        good = a + 1.0
        worse = bad + good
        good = good * 2.0
        worse = worse * 2.0
        assert noted() == 4
        assert good.asnumpy()[0] == 4.0
        with pytest.raises(ArithmeticError, match="bulk test") as caught:
            worse.asnumpy()
    assert "test_note.py:" in str(caught.value)


# --- autograd -------------------------------------------------------------------------------------
def gradients(n, steps=3):
    rng = np.random.default_rng(5)
    w, x = nd.array(rng.standard_normal((40, 30))), nd.array(rng.standard_normal((8, 30)))
    label = nd.array(rng.random((8, 40)))
    w.attach_grad()
    with mx.engine.bulk(n):
        for _ in range(steps):
            with autograd.record():
                z = nd.dot(x, w, transpose_b=True)
                e = nd.exp(z - nd.max(z, axis=1, keepdims=True).broadcast_to(z.shape))
                p = nd.broadcast_div(e, nd.sum(e, axis=1, keepdims=True))
                loss = -(label * nd.log(p + 1e-6)) * nd.sigmoid(z) + nd.square(z) * 0.1
            loss.backward()
            w -= 0.1 * w.grad
        return w.grad.asnumpy().tobytes(), w.asnumpy().tobytes()


def test_gradients_have_the_same_bytes():
    assert gradients(0) == gradients(15) == gradients(3)


def test_recorded_calls_are_noted_and_keep_what_backward_reads():
    a = nd.ones((50,)) * 2.0
    a.attach_grad()
    with mx.engine.bulk(15):
        with autograd.record():
            x = nd.exp(a)  # whose gradient reads it
            z = (x + 1.0) * 3.0
            assert noted() == 3
        held, written = weakref.ref(x), bulks.waiting_and_pushed_counts()[2]
        del x
        assert held() is None
        z.backward()
        assert bulks.waiting_and_pushed_counts()[2] == written + 2
    np.testing.assert_allclose(a.grad.asnumpy(), 3 * np.exp(2.0), rtol=1e-6)


def test_a_write_after_recording_is_refused_by_backward():
    a = nd.ones((50,))
    a.attach_grad()
    with mx.engine.bulk(15):
        b = a * 3.0
        with autograd.record():
            y = a * b
        b += 1.0
        with pytest.raises(mx.MXNetError, match="changed in place"):
            y.backward()
        b = nd.ones((50,))
        b += 1.0  # before: backward reads what is there then
        b *= 2.0
        with autograd.record():
            y = a * b
        y.backward()
        assert a.grad.asnumpy()[0] == 4.0


# --- threads, processes, observers ----------------------------------------------------------------
def test_another_thread_sees_what_was_noted():
    a, seen = nd.ones((100,)), []
    with mx.engine.bulk(100):
        x = a + 1.0
        thread = threading.Thread(target=lambda: seen.append(x.asnumpy()[0]))
        thread.start()
        thread.join()
    assert seen == [2.0]


def test_threads_note_side_by_side():
    wrong = []

    def work(k):
        with mx.engine.bulk(5 + k):
            for i in range(200):
                a = nd.ones((17 + k % 2,)) * k
                b = a + i
                b += a
                if (b.asnumpy() != 2 * k + i).any():
                    wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong and noted() == 0


def test_calls_that_others_note_while_a_program_runs_stay_noted():
    # A large program runs on the thread that pushes it, without the GIL: others note meanwhile.
    large, count, begun, over = nd.ones((1 << 20,)), nd.zeros((100,)), threading.Event(), []

    def run_large():
        for _ in range(20):
            with mx.engine.bulk(100):
                x = large + 1.0
                for _ in range(20):
                    x = x * 1.5 - 0.5
                begun.set()
        over.append(True)

    thread, calls = threading.Thread(target=run_large), 0
    thread.start()
    begun.wait()
    with mx.engine.bulk(1000):
        while not over:
            for _ in range(3):
                count += 1.0
            calls += 3
            time.sleep(0.0002)
    thread.join()
    assert count.asnumpy().tolist() == [calls] * 100


def test_the_setting_counts_in_each_thread():
    code = (
        "import threading, cynet as mx\n"
        "from cynet.ndarray.bulk import note\n"
        "a, seen = mx.nd.ones((100,)), []\n"
        "def work():\n"
        "    x = a + 1.0\n"
        "    seen.append(note.waiting_and_pushed_counts()[0])\n"
        "    assert x.asnumpy()[0] == 2.0\n"
        "work()\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start(); thread.join()\n"
        "assert seen == [1, 1], seen\n"
    )
    setting = {**os.environ, "CYNET_BULK": "15"}
    subprocess.run([sys.executable, "-c", code], env=setting, check=True, timeout=100)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_has_what_was_noted():
    a = nd.ones((100,))
    with mx.engine.bulk(15):
        x = a + 1.0
        child = os.fork()
        if child == 0:
            os._exit(0 if x.asnumpy()[0] == 2.0 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert x.asnumpy()[0] == 2.0


def test_who_watches_calls_sees_each_of_them():
    from cynet.ndarray import _dispatch

    a, names = nd.ones((10,)), []
    with mx.engine.bulk(15):
        x = a + 1.0
        _dispatch.set_call_observer(lambda op, ins, outs: names.append((op, outs[0].asnumpy()[0])))
        try:
            x = x + 1.0
            x = x * 2.0
        finally:
            _dispatch.set_call_observer(None)
        assert names == [("_plus_scalar", 3.0), ("_mul_scalar", 6.0)]
        assert noted() == 0


def test_a_profile_has_each_call(tmp_path):
    a = nd.ones((10,))
    mx.profiler.set_config(
        filename=str(tmp_path / "p.json"), profile_all=True, aggregate_stats=True
    )
    with mx.engine.bulk(15):
        mx.profiler.set_state("run")
        x = nd.tanh(nd.exp(a))
        x.wait_to_read()
        mx.profiler.set_state("stop")
    table = mx.profiler.dumps(reset=True)
    assert "exp" in table and "tanh" in table


def test_large_arrays():
    def function(F, a, b):
        x = a * b + 1.0
        return [x - a, F.exp(x * 0.01)]

    one, other = both(function, (1 << 20, 3), (1 << 20, 3))
    assert one == other
