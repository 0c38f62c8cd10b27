"""What becomes of errors and of calls that go wrong: nobody waits, too deep, sub-interpreters."""

import subprocess
import sys
import textwrap
import threading

import pytest

import cynet as mx

OPERATOR = """
    import sys, os
    import cynet as mx

    def register(name, forward):
        class Op(mx.operator.CustomOp):
            pass
        Op.forward = forward
        class Prop(mx.operator.CustomOpProp):
            def create_operator(self, ctx, shapes, dtypes):
                return Op()
        mx.operator.register(name)(Prop)
"""


def run_python(code, **env):
    """(stdout, stderr) of a script in a process of its own, which ends well and soon."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(OPERATOR) + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "", "OPENBLAS_NUM_THREADS": "1", **env},
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout, done.stderr


# --- errors that nobody waits for -----------------------------------------------------------------
@pytest.mark.parametrize("kind", ["NaiveEngine", "ThreadedEngine"])
def test_errors_that_nobody_waited_for_are_written_at_exit(kind):
    out, err = run_python(
        """
        e = mx.engine.get()
        v, w, seen = e.new_variable(), e.new_variable(), e.new_variable()
        def fail(ctx): raise ZeroDivisionError("lost " + "x" * 5000)
        def loud(ctx): raise KeyError("caught")
        e.push_sync(fail, None, (), (v,), name="halve")
        e.push_sync(print, None, (v,), (w,))  # skipped: the same error
        e.push_sync(loud, None, (), (seen,))
        try: e.wait_for_var(seen)
        except KeyError: print("seen")
        """,
        CYNET_ENGINE_TYPE=kind,
    )
    assert out == "seen\n"
    lines = err.splitlines()
    assert len(lines) == 1 and len(lines[0]) < 600
    assert lines[0].startswith("cynet: nobody waited for this error: ZeroDivisionError: ")
    assert "'halve'" in lines[0] and "lost" in lines[0] and "KeyError" not in err


def test_of_many_errors_the_first_are_written():
    _, err = run_python("""
        e = mx.engine.get()
        for i in range(25):
            e.push_sync(lambda ctx, i=i: {}[i], None, (), (e.new_variable(),))
        while e.census()["pending"]: pass
    """)
    lines = err.splitlines()
    assert len(lines) == 11 and lines[-1] == "cynet: nor for 15 more"
    assert all("KeyError" in line for line in lines[:-1])


def test_a_child_does_not_write_its_parents_errors():
    _, err = run_python("""
        e = mx.engine.get()
        v = e.new_variable()
        e.push_sync(lambda ctx: {}["parent"], None, (), (v,))
        e.push_sync(lambda ctx: None, None, (), ())
        e.wait_for_var(e.new_variable())
        while e.census()["pending"]: pass
        child = os.fork()
        if child:
            os.waitpid(child, 0)
    """)
    assert err.count("'parent'") == 1


def test_a_failing_on_delete_is_reported():
    out, err = run_python("""
        e = mx.engine.get()
        def fail(): raise ZeroDivisionError("in on_delete")
        e.delete_variable(e.new_variable(), fail)
        seen = []
        sys.unraisablehook = lambda told: seen.append((told.exc_type, told.object))
        e.delete_variable(e.new_variable(), fail)
        print(seen == [(ZeroDivisionError, fail)])
    """)
    assert out == "True\n"
    assert err.count("ZeroDivisionError: in on_delete") == 1


def test_an_error_after_completion_is_reported():
    _, err = run_python("""
        e = mx.engine.get()
        def fail(ctx, done):
            done()
            raise ZeroDivisionError("too late")
        e.push_async(fail, None, (), (e.new_variable(),))
        e.wait_for_all()
    """)
    assert err.count("too late") >= 1


# --- classes --------------------------------------------------------------------------------------
def test_a_memory_error_of_an_operator_is_one():
    def forward(self, is_train, req, in_data, out_data, aux):
        mx.nd.empty((2**45,))

    op = type("Hungry", (mx.operator.CustomOp,), {"forward": forward})
    make = {"create_operator": lambda self, ctx, shapes, dtypes: op()}
    mx.operator.register("test_hungry")(type("HungryProp", (mx.operator.CustomOpProp,), make))
    for error in (MemoryError, mx.base.MXNetError):
        with pytest.raises(error, match="test_hungry"):
            mx.nd.Custom(mx.nd.ones((2,)), op_type="test_hungry").asnumpy()


# --- too deep -------------------------------------------------------------------------------------
DEEP = """
    def forward(self, is_train, req, in_data, out_data, aux):
        out_data[0][:] = mx.nd.Custom(in_data[0], op_type="deep").asnumpy()
    register("deep", forward)
    try:
        mx.nd.Custom(mx.nd.ones((2,)), op_type="deep").asnumpy()
    except RecursionError as error:
        import traceback
        assert isinstance(error, mx.base.MXNetError), type(error)
        print(len(str(error)) <= 4000, len("".join(traceback.format_exception(error))) < 100000)
    print((mx.nd.ones((2,)) + 1).asnumpy().tolist())
"""


@pytest.mark.parametrize("kind", ["NaiveEngine", "ThreadedEngine"])
def test_an_operator_that_uses_itself(kind):
    out, _ = run_python(DEEP, CYNET_ENGINE_TYPE=kind)
    assert out == "True True\n[2.0, 2.0]\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_an_operator_that_uses_itself_where_threads_are_few():
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9,) * 2)\n"
    out, _ = run_python(limit + textwrap.dedent(DEEP))
    assert out == "True True\n[2.0, 2.0]\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_an_operator_that_uses_itself_where_threads_come_and_go():
    """Calls 4, 5, 8, 9, 12, 13, ... make no thread, the others do."""
    out, _ = run_python("""
        import resource
        depth = 0
        def limit(few):
            size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            most = resource.getrlimit(resource.RLIMIT_AS)[1]
            resource.setrlimit(resource.RLIMIT_AS, (size + 2**21 if few else most, most))
        def forward(self, is_train, req, in_data, out_data, aux):
            global depth
            depth += 1
            limit(depth % 4 < 2 and depth >= 4)
            if depth < 32:
                out_data[0][:] = mx.nd.Custom(in_data[0] + 1, op_type="deep").asnumpy()
            else:
                out_data[0][:] = in_data[0]
        register("deep", forward)
        print(mx.nd.Custom(mx.nd.ones((2,)), op_type="deep").asnumpy().tolist())
        limit(False)
        print((mx.nd.ones((2,)) + 1).asnumpy().tolist())
    """)
    assert out == "[32.0, 32.0]\n[2.0, 2.0]\n"


def test_a_function_that_pushes_and_waits_for_itself_without_end():
    out, _ = run_python("""
        e = mx.engine.get()
        def nest(ctx):
            v = e.new_variable()
            e.push_sync(nest, None, (), (v,))
            e.wait_for_var(v)
        v = e.new_variable()
        e.push_sync(nest, None, (), (v,))
        try: e.wait_for_var(v)
        except RecursionError as error: print(isinstance(error, mx.base.MXNetError))
    """)
    assert out == "True\n"


def test_many_functions_may_wait_at_once():
    engine = mx.engine.ThreadedEngine(workers=1)
    gate, last = engine.new_variable(), threading.Event()
    engine.push_async(
        lambda ctx, done: threading.Thread(target=lambda: (last.wait(60), done())).start(),
        None,
        (),
        (gate,),
    )
    variables = [engine.new_variable() for _ in range(300)]
    for v in variables:
        engine.push_sync(lambda ctx: engine.wait_for_var(gate), None, (), (v,))
    last.set()
    for v in variables:
        engine.wait_for_var(v)


# --- other interpreters ---------------------------------------------------------------------------
def test_after_a_sub_interpreter_waits_still_release_the_gil():
    out, _ = run_python("""
        import importlib, threading
        name = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
        interpreters = importlib.import_module(name)
        kept = interpreters.create()  # ends with this module, which the operator's class is of
        interpreters.run_string(kept, "pass")

        def forward(self, is_train, req, in_data, out_data, aux):
            out_data[0][:] = in_data[0].asnumpy() * 2  # wants the GIL
        register("twice", forward)
        for _ in range(50):
            y = mx.nd.Custom(mx.nd.ones((3,)), op_type="twice")
            mx.nd.waitall()
        print(y.asnumpy().tolist())
        threads = [threading.Thread(target=lambda: (y + 1).asnumpy()) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        mx.engine.ThreadedEngine(workers=2)
    """)
    assert out == "[2.0, 2.0, 2.0]\n"


# --- operators of the engine ----------------------------------------------------------------------
@pytest.mark.parametrize("kind", [mx.engine.NaiveEngine, mx.engine.ThreadedEngine])
def test_an_operator_is_done_when_it_says_so(kind):
    """As MXNet's AsyncFn: a thread of its own may end it, and each push is a run of its own."""
    engine = kind()
    v, seen = engine.new_variable(), []

    def start(ctx, on_complete):
        seen.append("begun")
        threading.Timer(0.02, lambda: (seen.append("done"), on_complete())).start()

    op = engine.new_operator(start, (), (v,))
    for _ in range(3):
        engine.push(op)
    engine.delete_operator(op)
    engine.wait_for_var(v)
    assert seen == ["begun", "done"] * 3
    assert engine.census()["operators"] == 0
    engine.push(engine.new_operator(lambda ctx, on_complete: None, (), (v,)))
    with pytest.raises(mx.base.MXNetError, match="without being called"):
        engine.wait_for_var(v)
    engine.push(engine.new_operator(lambda ctx, done: done(KeyError("lost")), (), (v,)))
    with pytest.raises(KeyError, match="lost"):
        engine.wait_for_var(v)
