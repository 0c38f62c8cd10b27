"""The dependency engine: order, failures, waits, operators, variables, completion, processes."""

import gc
import subprocess
import sys
import threading
import time

import pytest
from cynet.engine.testing import Cells

import cynet as mx

KINDS = {
    "naive": mx.engine.NaiveEngine,
    "one": lambda: mx.engine.ThreadedEngine(workers=1),
    "two": lambda: mx.engine.ThreadedEngine(workers=2),
    "four": lambda: mx.engine.ThreadedEngine(workers=4),
}


@pytest.fixture(params=KINDS)
def engine(request):
    """A private engine of each kind; everything it was given is gone at the end."""
    e = KINDS[request.param]()
    yield e
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(20)  # it may hold an error whose traceback holds variables
    e.wait_for_all()
    gc.collect()  # may delete variables, which is pushed, too
    e.wait_for_all()
    assert e.census()["pending"] == 0


@pytest.fixture(params=["one", "two", "four"])
def threaded(request):
    return KINDS[request.param]()


def test_writers_run_in_the_order_they_were_pushed(engine):
    v, seen = engine.new_variable(), []
    for i in range(500):
        engine.push_sync(lambda ctx, i=i: seen.append(i), mx.cpu(), (), (v,))
    engine.wait_for_var(v)
    assert seen == list(range(500))


def test_readers_between_two_writers_run_together(threaded):
    v, w = threaded.new_variable(), [threaded.new_variable() for _ in range(3)]
    meeting = threading.Barrier(3, timeout=20)
    seen = []
    threaded.push_sync(lambda ctx: seen.append("first"), None, (), (v,))
    for each in w:
        threaded.push_sync(lambda ctx: seen.append(meeting.wait() >= 0), None, (v,), (each,))
    threaded.push_sync(lambda ctx: seen.append("last"), None, (), (v,))
    threaded.wait_for_all()
    assert seen == ["first", True, True, True, "last"]


def test_a_writer_waits_for_the_readers_before_it(threaded):
    v, seen = threaded.new_variable(), []
    go = threading.Event()
    threaded.push_sync(lambda ctx: (go.wait(20), seen.append("read")), None, (v,), ())
    threaded.push_sync(lambda ctx: seen.append("write"), None, (), (v,))
    time.sleep(0.05)
    assert seen == []
    go.set()
    threaded.wait_for_all()
    assert seen == ["read", "write"]


def test_run_context(engine):
    v, seen = engine.new_variable(), []
    engine.push_sync(seen.append, mx.cpu(3), (), (v,))
    engine.wait_for_var(v)
    assert seen[0].ctx == mx.cpu(3)
    assert seen[0].stream == 0
    assert (seen[0].worker == 0) == isinstance(engine, mx.engine.NaiveEngine)


def test_wait_for_var_does_not_wait_for_what_comes_later(threaded):
    v = threaded.new_variable()
    gate = threading.Event()
    threaded.push_sync(lambda ctx: None, None, (), (v,))
    threaded.wait_for_var(v)
    threaded.push_sync(lambda ctx: gate.wait(20), None, (v,), ())
    threaded.wait_for_var(v)  # a reader is pending, no writer
    gate.set()


# ---- failures


def test_a_failure_names_the_function_and_who_pushed_it(engine):
    v = engine.new_variable()
    engine.push_sync(lambda ctx: 1 // 0, None, (), (v,), name="halve")
    line = sys._getframe().f_lineno - 1
    with pytest.raises(ZeroDivisionError, match="halve") as caught:
        engine.wait_for_var(v)
    assert isinstance(caught.value, mx.base.MXNetError)
    assert f"{__file__}:{line}" in str(caught.value)
    assert "integer division or modulo by zero" in str(caught.value)


def test_a_failure_spreads_to_what_depends_on_it_and_later_work_runs(engine):
    a, b, c, d = (engine.new_variable() for _ in range(4))
    ran = []
    gate = threading.Event()

    def fail(ctx, on_complete):
        threading.Thread(target=lambda: (gate.wait(20), on_complete(KeyError("lost")))).start()

    engine.push_async(fail, None, (), (a,))
    engine.push_sync(lambda ctx: ran.append("b"), None, (a,), (b,))
    engine.push_sync(lambda ctx: ran.append("c"), None, (b,), (c,))
    engine.push_sync(lambda ctx: ran.append("d"), None, (), (d,))
    engine.wait_for_var(d)
    gate.set()
    with pytest.raises(KeyError, match="lost"):
        engine.wait_for_var(c)
    assert ran == ["d"]
    engine.wait_for_var(a)  # raised once, clear everywhere
    engine.wait_for_all()
    engine.push_sync(lambda ctx: ran.append("b"), None, (a,), (b,))
    engine.push_sync(lambda ctx: ran.append("c"), None, (b,), (c,))
    engine.wait_for_var(c)
    assert ran == ["d", "b", "c"]


def test_wait_for_all_raises_the_first_failure_and_clears_all(engine):
    v, w = engine.new_variable(), engine.new_variable()
    engine.push_sync(lambda ctx: [][0], None, (), (v,))
    engine.push_sync(lambda ctx: {}["k"], None, (v,), (w,))
    with pytest.raises(IndexError, match="failed: IndexError: list index out of range"):
        engine.wait_for_all()
    engine.wait_for_all()
    engine.wait_for_var(w)


def test_a_failure_without_variables_is_raised_by_wait_for_all(engine):
    engine.push_sync(lambda ctx: 1 / 0, None)
    with pytest.raises(ZeroDivisionError, match="failed: ZeroDivisionError: division by zero"):
        engine.wait_for_all()


def test_a_base_exception_comes_as_it_is(engine):
    v, stop = engine.new_variable(), KeyboardInterrupt("enough")

    def fail(ctx):
        raise stop

    engine.push_sync(fail, None, (), (v,))
    with pytest.raises(KeyboardInterrupt) as caught:
        engine.wait_for_var(v)
    assert caught.value is stop


def test_a_long_chain_of_skipped_functions(engine):
    v = [engine.new_variable() for _ in range(2)]
    gate = threading.Event()
    engine.push_async(
        lambda ctx, done: threading.Thread(
            target=lambda: (gate.wait(20), done(OSError("disk")))
        ).start(),
        None,
        (),
        v,
    )
    for i in range(20000):
        engine.push_sync(print, None, (v[i % 2],), (v[1 - i % 2],))
    gate.set()
    with pytest.raises(OSError, match="disk"):
        engine.wait_for_var(v[0])


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("gpu", [-1, 0])
def test_a_native_failure(engine, inline, gpu):
    cells = Cells(engine, 2)
    cells.push([], [0], 7, "fail", inline=inline, gpu=gpu)
    cells.push([0], [1], 1, "stamp", inline=inline, gpu=gpu)
    with pytest.raises(ValueError, match="a job failed: ValueError: salt 7"):
        cells.wait(1)
    assert cells.values() == [0, 0]
    cells.push([0], [1], 1, "stamp", inline=inline)
    cells.wait(1)
    assert cells.values() == [0, 1]
    cells.close()


# ---- what is refused


def test_duplicate_variables_are_refused(engine):
    v, w = engine.new_variable(), engine.new_variable()
    for reads, writes in (((v,), (v,)), ((v, w, v), ()), ((), (w, w))):
        with pytest.raises(mx.errors.ArgumentError, match="twice"):
            engine.push_sync(print, None, reads, writes)
        with pytest.raises(mx.errors.ArgumentError, match="twice"):
            engine.push_async(print, None, reads, writes)
        with pytest.raises(mx.errors.ArgumentError, match="twice"):
            engine.new_operator(print, reads, writes)
    assert engine.census()["pending"] == 0


def test_bad_arguments_are_refused(engine):
    v, stranger = engine.new_variable(), mx.engine.NaiveEngine().new_variable()
    with pytest.raises(ValueError, match="another engine"):
        engine.push_sync(print, None, (stranger,), ())
    with pytest.raises(TypeError, match="callable"):
        engine.push_sync(3, None, (), (v,))
    with pytest.raises(TypeError, match="sequence of variables"):
        engine.push_sync(print, None, v, ())
    with pytest.raises(TypeError, match="expected a variable"):
        engine.push_sync(print, None, ("v",), ())
    with pytest.raises(TypeError, match="Context"):
        engine.push_sync(print, "cpu", (), (v,))
    with pytest.raises(TypeError, match="name"):
        engine.push_sync(print, None, (), (v,), name=3)
    with pytest.raises(TypeError, match="Argument 'var' has incorrect type"):
        engine.wait_for_var(None)
    engine.delete_variable(v)
    for use in (engine.wait_for_var, engine.delete_variable):
        with pytest.raises(ValueError, match="deleted"):
            use(v)
    for kind in (mx.engine.Engine, mx.engine.Variable):
        with pytest.raises(TypeError, match="ThreadedEngine or a NaiveEngine|made by an engine's"):
            kind()
    with pytest.raises(ValueError, match="negative"):
        mx.engine.ThreadedEngine(workers=-1)


def test_unknown_engine_type():
    done = subprocess.run(
        [sys.executable, "-c", "import cynet"],
        env={"CYNET_ENGINE_TYPE": "Steam"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "CYNET_ENGINE_TYPE='Steam'" in done.stderr


# ---- waiting inside a function


def test_a_python_function_may_wait_inside_one_worker():
    e = mx.engine.ThreadedEngine(workers=1)
    variables = [e.new_variable() for _ in range(30)]

    def nested(ctx, depth):
        if depth:
            e.push_sync(lambda ctx: nested(ctx, depth - 1), None, (), (variables[depth],))
            e.wait_for_var(variables[depth])
        reached.append(depth)

    reached = []
    e.push_sync(lambda ctx: nested(ctx, 20), None, (), (variables[0],))
    e.wait_for_var(variables[0])
    assert reached == list(range(21))


@pytest.mark.parametrize("kind", ["one", "two"])
def test_a_native_function_may_wait_inside_one_worker(kind):
    cells = Cells(KINDS[kind](), 12)
    for _ in range(20):
        for depth in range(10):
            cells.push([], [depth], depth + 1, "wait")  # for what stands on the next cell
        cells.push([], [10], 0, "stamp")
    cells.wait(0)
    cells.wait(10)
    assert cells.values()[10] == 20
    cells.close()


def test_a_native_function_that_waits_lets_another_run():
    e = mx.engine.ThreadedEngine(workers=1)
    cells = Cells(e, 3)
    cells.push([], [2], 0, "gate")
    cells.push([], [0], 2, "wait")  # would block the only worker
    cells.open_gate()
    cells.push([], [1], 9, "stamp")
    cells.wait(0)
    cells.wait(1)
    assert cells.values()[1] == 1
    cells.close()


def test_a_function_that_waits_for_itself(engine):
    v, seen = engine.new_variable(), []

    def waits(ctx):
        engine.wait_for_var(v)  # all before this function is done: returns at once
        try:
            engine.wait_for_all()
        except mx.base.MXNetError as error:
            seen.append(str(error))

    engine.push_sync(waits, None, (), (v,))
    engine.wait_for_var(v)
    assert "wait for itself" in seen[0]


def test_python_functions_that_block_do_not_starve_others(threaded):
    variables = [threaded.new_variable() for _ in range(40)]
    meeting = threading.Barrier(40, timeout=30)
    for v in variables:
        threaded.push_sync(lambda ctx: meeting.wait(), None, (), (v,))
    threaded.wait_for_all()


def test_wait_to_write_waits_for_readers(threaded):
    cells = Cells(threaded, 2)
    cells.push([0], [1], 0, "gate")
    timer = threading.Timer(0.1, cells.open_gate)
    timer.start()
    cells.wait(0)
    assert cells.is_ready(0)
    assert not cells.is_ready(1)
    start = time.monotonic()
    cells.wait_to_write(0)
    assert time.monotonic() - start > 0.03
    assert cells.is_ready(1)
    cells.close()


# ---- asynchronous functions


def test_completion_from_another_thread(engine):
    v, seen = engine.new_variable(), []

    def start(ctx, on_complete):
        threading.Timer(0.05, lambda: (seen.append("done"), on_complete())).start()

    engine.push_async(start, None, (), (v,))
    engine.push_sync(lambda ctx: seen.append("after"), None, (v,), ())
    engine.wait_for_all()
    assert seen == ["done", "after"]


def test_completion_twice_or_never(engine):
    v, kept = engine.new_variable(), []
    engine.push_async(lambda ctx, done: (kept.append(done), done()), None, (), (v,))
    engine.wait_for_all()
    with pytest.raises(mx.base.MXNetError, match="already"):
        kept[0]()
    with pytest.raises(TypeError, match="error must be an exception or None, got 'error'"):
        kept[0]("error")
    engine.push_async(lambda ctx, done: None, None, (), (v,))
    with pytest.raises(mx.base.MXNetError, match="without being called"):
        engine.wait_for_var(v)


def test_an_asynchronous_function_that_raises(engine):
    v = engine.new_variable()
    engine.push_async(lambda ctx, done: 1 / 0, None, (), (v,))
    with pytest.raises(ZeroDivisionError, match="failed: ZeroDivisionError: division by zero"):
        engine.wait_for_var(v)


# ---- operators and variables


def test_an_operator_is_pushed_many_times(engine):
    v, w, seen = engine.new_variable(), engine.new_variable(), []
    op = engine.new_operator(lambda c, done: (seen.append(c.ctx.device_id), done()), (v,), (w,))
    for i in range(100):
        engine.push(op, mx.cpu(i))
    engine.delete_operator(op)
    engine.wait_for_all()
    assert seen == list(range(100))
    assert engine.census()["operators"] == 0
    with pytest.raises(ValueError, match="deleted"):
        engine.push(op)
    with pytest.raises(ValueError, match="deleted"):
        engine.delete_operator(op)


def test_an_operator_deleted_while_it_is_pending(threaded):
    v, seen = threaded.new_variable(), []
    gate = threading.Event()
    threaded.push_sync(lambda ctx: gate.wait(20), None, (), (v,))
    op = threaded.new_operator(lambda ctx: seen.append(1), (), (v,), sync=True)
    for _ in range(10):
        threaded.push(op)
    threaded.delete_operator(op)
    assert threaded.census()["operators"] == 1
    gate.set()
    threaded.wait_for_all()
    assert seen == [1] * 10
    assert threaded.census()["operators"] == 0


def test_an_operator_that_fails(engine):
    v = engine.new_variable()
    op = engine.new_operator(lambda ctx: 1 / 0, (), (v,), sync=True)
    engine.push(op)
    engine.push(op)
    with pytest.raises(ZeroDivisionError, match="failed: ZeroDivisionError: division by zero"):
        engine.wait_for_var(v)


def test_on_delete_comes_after_everything_pushed_on_the_variable(engine):
    v, seen = engine.new_variable(), []
    for i in range(50):
        engine.push_sync(lambda ctx, i=i: seen.append(i), None, (), (v,))
    engine.delete_variable(v, lambda: seen.append("gone"))
    engine.wait_for_all()
    assert seen == [*range(50), "gone"]
    assert engine.census()["variables"] == 0


def test_on_delete_of_an_idle_variable_is_called_at_once(engine):
    here = []
    engine.delete_variable(engine.new_variable(), lambda: here.append(threading.get_ident()))
    assert here == [threading.get_ident()]


def test_on_delete_comes_after_a_failure_too(engine):
    v, seen = engine.new_variable(), []
    engine.push_sync(lambda ctx: 1 / 0, None, (), (v,))
    engine.delete_variable(v, lambda: seen.append("gone"))
    with pytest.raises(ZeroDivisionError, match="failed: ZeroDivisionError: division by zero"):
        engine.wait_for_all()
    assert seen == ["gone"]


def test_nothing_is_left_alive(engine):
    cells = Cells(engine, 10)
    for i in range(1000):
        cells.push([i % 9], [(i + 1) % 10] if i % 9 != (i + 1) % 10 else [], i)
    v, token = engine.new_variable(), threading.local()
    engine.push_sync(lambda ctx, token=token: None, None, (), (v,))
    engine.wait_for_all()
    assert cells.live_job_count() == 0
    cells.close()
    del v
    assert engine.census()["variables"] == 0
    assert sys.getrefcount(token) == 2  # the function's hold on it is gone


# ---- priorities, bulks, inline


def test_higher_priority_starts_first():
    e = mx.engine.ThreadedEngine(workers=1)
    cells = Cells(e, 8)
    cells.push([], [7], 0, "gate", priority=100)  # the worker may begin after the pushes below
    priorities = [0, -5, 3, 0, 10, 3, -5]
    for i, priority in enumerate(priorities):
        cells.push([], [i], 0, "stamp", priority=priority)
    cells.open_gate()
    e.wait_for_all()
    order = sorted(range(7), key=lambda i: (-priorities[i], i))
    assert cells.values() == [order.index(i) + 1 for i in range(7)] + [0]
    cells.close()


def test_bulk(engine):
    cells = Cells(engine, 1)
    before = mx.engine.set_bulk_size(0)
    with mx.engine.bulk(1000):
        assert mx.engine.set_bulk_size(1000) == 1000
        for _ in range(10):
            cells.push([], [0], 0, "stamp")
        cells.wait(0)
        assert cells.values() == [10]
        for _ in range(10):
            cells.push([], [0], 0, "stamp")
    deadline = time.monotonic() + 20
    while not cells.is_ready(0) and time.monotonic() < deadline:  # nobody waits in the engine
        time.sleep(0.001)
    assert cells.values() == [20]
    assert mx.engine.set_bulk_size(before) == 0
    with pytest.raises(ValueError, match="negative"):
        mx.engine.set_bulk_size(-1)
    with pytest.raises(TypeError, match="must be an int"):
        mx.engine.set_bulk_size(1.5)
    cells.close()


def test_inline_functions_need_no_thread():
    e = mx.engine.ThreadedEngine(workers=2)
    cells = Cells(e, 2)
    for _ in range(100):
        cells.push([0], [1], 0, "stamp", inline=True)
    assert cells.values() == [0, 100]
    assert e.census()["native_threads"] == 0
    cells.close()


def test_inline_functions_keep_the_order():
    e = mx.engine.ThreadedEngine(workers=2)
    cells = Cells(e, 3)
    cells.push([], [0], 0, "gate")
    cells.push([0], [1], 0, "stamp", inline=True)  # must wait for the gate
    cells.push([], [2], 0, "stamp", inline=True)
    assert cells.values() == [0, 0, 1]
    cells.open_gate()
    cells.wait(1)
    assert cells.values() == [0, 2, 1]
    cells.close()


@pytest.mark.parametrize("inline", [False, True])
def test_what_is_written_may_be_given_back_before_the_function_is_done(engine, inline):
    cells = Cells(engine, 4)
    cells.push([0], [1], 3, "lend", inline=inline)
    cells.push([1], [2], 0, "stamp")
    cells.push([0], [3], 0, "stamp")
    cells.wait(2)  # neither a writer of 1 nor a reader of 0 is held up
    cells.wait(3)
    cells.push([], [0], 0, "stamp")
    assert not within(0.05, lambda: cells.is_ready(0))  # a writer of what it reads is
    assert cells.values()[0] == 0
    cells.open_gate()
    cells.wait(0)
    assert cells.values()[0] == 3
    engine.wait_for_all()
    assert cells.live_job_count() == 0
    cells.close()


# ---- functions of a GPU


def within(seconds, condition):
    """True once `condition()` is; False when that takes longer."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)
    return condition()


def test_busy_cpu_workers_do_not_hold_up_a_gpu(threaded):
    cells = Cells(threaded, 10)
    for i in range(4):  # as many as the largest of these engines has workers
        cells.push([], [i], 0, "gate")
    cells.push([], [4], 0, "stamp", gpu=0)
    cells.push([4], [5], 0, "stamp", gpu=0)
    cells.push([5], [6], 0, "stamp", gpu=0, copies=True)
    cells.push([6], [7], 0, "stamp", gpu=3)
    try:
        assert within(20, lambda: cells.is_ready(7))
        assert cells.values()[4:8] == [1, 2, 3, 4]
        assert threaded.census()["gpu_threads"] == 3
        cells.push([7], [8], 0, "stamp")
        assert not within(0.05, lambda: cells.is_ready(8)), "a CPU function on a GPU's worker"
    finally:
        cells.open_gate()
    threaded.wait_for_all()
    cells.close()


def test_a_gpu_has_one_worker_and_one_for_copies(threaded):
    cells = Cells(threaded, 5)
    cells.push([], [0], 0, "gate", gpu=1)
    cells.push([], [1], 0, "stamp", gpu=1)
    cells.push([], [2], 0, "stamp", gpu=1, copies=True)
    cells.push([], [3], 0, "stamp", gpu=0)
    cells.push([], [4], 0, "stamp")
    try:
        for i in (2, 3, 4):
            assert within(20, lambda i=i: cells.is_ready(i))
        assert not within(0.05, lambda: cells.is_ready(1))
    finally:
        cells.open_gate()
    threaded.wait_for_all()
    assert sorted(cells.values()) == [0, 1, 2, 3, 4]
    cells.close()


def test_a_gpus_function_that_waits_lets_another_run():
    e = mx.engine.ThreadedEngine(workers=1)
    cells = Cells(e, 3)
    cells.push([], [2], 0, "gate", gpu=0, copies=True)
    cells.push([], [0], 2, "wait", gpu=0)
    cells.push([], [1], 9, "stamp", gpu=0)
    try:
        assert within(20, lambda: cells.is_ready(1))
        assert not cells.is_ready(0)
    finally:
        cells.open_gate()
    cells.wait(0)
    cells.close()


def test_functions_of_a_gpu_without_threads():
    e = mx.engine.NaiveEngine()
    cells = Cells(e, 2)
    cells.push([], [0], 0, "stamp", gpu=0)
    cells.push([0], [1], 0, "stamp", gpu=0, copies=True)
    assert cells.values() == [1, 2]
    assert e.census()["gpu_threads"] == 0
    cells.close()
