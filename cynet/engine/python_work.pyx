"""The engine for Python: Variable, operators, ThreadedEngine, NaiveEngine (face: engine.py)."""

from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from .._engine cimport (
    EngineDeleter, OprHandle, VarHandle, census, complete, default_engine, delete_operator,
    delete_variable, drop_engine, is_naive, make_engine, new_operator_on, new_sync_operator_on,
    new_variable_on, next_failure, push, push_async_on, push_sync_on,
    set_bulk_size as _set_bulk_size, stop_engines, wait_for_all_on, wait_for_var, kPython
)
from .._typedefs cimport RunContext
from .trace cimport IMPERATIVE, begun, kept_text, note_function

import sys

from ..context import Context, cpu
from ..base.errors import (
    ArgumentError, ArgumentTypeError, CynetError, OutOfMemoryError, dress, shorten, shown, told,
    user_frame,
)
from ..base.kinds import to_index

cdef extern from "Python.h":
    void PyErr_WriteUnraisable(object source) noexcept

cdef int MOST_REPORTED = 10  # errors that are written at exit, one a line
cdef int LINE_CHARS = 500    # of each


cdef class PyRunContext:
    """Where a function runs: ``ctx`` (a Context; ``dev_type`` and ``dev_id`` are its numbers),
    ``stream`` (address of a device's stream, 0 on the CPU) and ``worker`` (index of the worker; 0
    is the thread that pushed).
    """

    def __init__(self):
        raise ArgumentTypeError("a run context is made by the engine, for the function it runs")

    @staticmethod
    cdef PyRunContext make(const RunContext* context):
        cdef PyRunContext out = PyRunContext.__new__(PyRunContext)
        out.dev_type, out.dev_id = context.dev_type, context.dev_id
        out.stream = <size_t>context.stream
        out.worker = context.worker
        return out

    @property
    def ctx(self):
        """The device, a Context."""
        return Context(Context.devtype2str[self.dev_type], self.dev_id)

    def __repr__(self):
        return f"<run context: {self.ctx!r}, worker {self.worker}>"


cdef class PythonTask:
    """A Python function on its way through the engine: what to call, and who pushed it."""

    cdef object fn
    cdef str name
    cdef tuple pushed_at

    cdef str label(self):
        return self.name or getattr(self.fn, "__qualname__", None) or repr(self.fn)

    cdef int note(self, int64_t begin, const RunContext* context) except -1:
        cdef bytes label
        if begin:
            label = self.label().encode("utf-8", "replace")
            note_function(kept_text(label), False, begin, context)
        return 0

    cdef object dressed(self, error):
        if not isinstance(error, Exception):
            return error
        name = self.label()
        file, line = self.pushed_at
        return dress(error, f"function '{name}' pushed at {file}:{line} failed: {told(error)}")


cdef PythonTask _task(fn, name):
    if not callable(fn):
        raise ArgumentTypeError(f"fn must be callable, got {shown(fn)}")
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"name must be a str or None, got {shown(name)}")
    cdef PythonTask task = PythonTask.__new__(PythonTask)
    task.fn = fn
    task.name = name
    task.pushed_at = user_frame()
    return task


cdef int _run_task(void* arg, RunContext* context) except -1 with gil:
    cdef PythonTask task = <PythonTask>arg
    cdef int64_t begin = begun(IMPERATIVE)
    try:
        task.fn(PyRunContext.make(context))
    except BaseException as error:
        raised = task.dressed(error)
    else:
        return task.note(begin, context)
    raise raised


cdef int _run_async_task(void* arg, RunContext* context, void* token) except -1 with gil:
    cdef PythonTask task = <PythonTask>arg
    cdef OnComplete on_complete = OnComplete.__new__(OnComplete)
    on_complete.task = task
    on_complete.token = token
    cdef int64_t begin = begun(IMPERATIVE)
    try:
        task.fn(PyRunContext.make(context), on_complete)
    except BaseException as error:
        raised = task.dressed(error)
    else:
        return task.note(begin, context)
    if on_complete.token != NULL:
        on_complete.token = NULL
        raise raised
    _write_unraisable(raised, task.fn)  # it has said that it was done
    return 0


cdef void _drop(void* arg) noexcept with gil:
    Py_DECREF(<object>arg)


cdef int _raise(error) except -1:
    raise error


ctypedef int (*QuietRaise)(object error) noexcept


cdef void _write_unraisable(error, source) noexcept:
    """Report what nobody can be told of: where sys.unraisablehook puts it."""
    (<QuietRaise>_raise)(error)
    PyErr_WriteUnraisable(source)


cdef class OnComplete:
    """Says, once, that an asynchronous function is done: ``on_complete(error=None)``."""

    cdef PythonTask task
    cdef void* token

    def __init__(self):
        raise ArgumentTypeError("on_complete is made by the engine, for the function it runs")

    def __dealloc__(self):
        if self.token != NULL:
            self.finish(CynetError("on_complete was dropped without being called"))

    def __call__(self, error=None):
        if error is not None and not isinstance(error, BaseException):
            raise ArgumentTypeError(f"error must be an exception or None, got {shown(error)}")
        if self.token == NULL:
            raise CynetError("on_complete was called already; a function is done once")
        self.finish(error)

    cdef int finish(self, error) except -1:
        cdef void* token = self.token
        cdef void* raised = NULL
        self.token = NULL
        if error is not None:
            if self.task is not None:  # the garbage collector may have been here
                error = self.task.dressed(error)
            raised = <void*>error
        with nogil:
            complete(token, raised)
        return 0


cdef class Variable:
    """A tag for something that functions read and write; made by `Engine.new_variable`.

    It goes when the last reference does, after everything pushed on it.
    """

    def __init__(self):
        raise ArgumentTypeError("a variable is made by an engine's new_variable()")

    def __dealloc__(self):
        cdef VarHandle handle = self.handle
        if handle != NULL:
            self.handle = NULL
            with nogil:
                delete_variable(handle, NULL, NULL)


cdef class OperatorHandle:
    """A function with its variables, pushed many times; made by `Engine.new_operator`."""

    cdef OprHandle handle
    cdef readonly Engine engine
    cdef tuple variables
    cdef object __weakref__

    def __init__(self):
        raise ArgumentTypeError("an operator is made by an engine's new_operator()")

    def __dealloc__(self):
        cdef OprHandle handle = self.handle
        if handle != NULL:
            self.handle = NULL
            with nogil:
                delete_operator(handle)


cdef class _Handles:
    """The C side of const_vars and mutable_vars, freed with this object."""

    cdef VarHandle* const_vars
    cdef VarHandle* mutable_vars
    cdef int n_const
    cdef int n_mutable

    def __cinit__(self, Engine engine, const_vars, mutable_vars):
        cdef tuple reads = _variables("const_vars", const_vars)
        cdef tuple writes = _variables("mutable_vars", mutable_vars)
        self.n_const, self.n_mutable = len(reads), len(writes)
        cdef size_t n = len(reads) + len(writes)
        self.const_vars = <VarHandle*>malloc((n + 1) * sizeof(VarHandle))
        if self.const_vars == NULL:
            raise OutOfMemoryError("no memory for the variables of a function")
        self.mutable_vars = self.const_vars + self.n_const
        for i, each in enumerate(reads + writes):
            self.const_vars[i] = _alive(engine, each)

    def __dealloc__(self):
        free(self.const_vars)


cdef tuple _variables(str name, values):
    if isinstance(values, Variable) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(f"{name} must be a sequence of variables, got {shown(values)}")
    return tuple(values)


cdef VarHandle _alive(Engine engine, each) except NULL:
    if not isinstance(each, Variable):
        raise ArgumentTypeError(f"expected a variable of the engine, got {shown(each)}")
    cdef Variable var = <Variable>each
    if var.engine is not engine:
        raise ArgumentError("the variable belongs to another engine")
    if var.handle == NULL:
        raise ArgumentError("the variable was deleted")
    return var.handle


cdef class Engine:
    """Runs functions when the variables they name are free; `get` returns the one everybody shares.

    Two functions that write one variable run in the order they were pushed; functions that only
    read it may run together between two that write it. All methods may be called by any thread.
    """

    def __init__(self):
        raise ArgumentTypeError("make a ThreadedEngine or a NaiveEngine, or take the shared: get()")

    def __dealloc__(self):
        if self.owned and self.handle != NULL:
            drop_engine(self.handle)

    def new_variable(self):
        """A new `Variable`."""
        cdef VarHandle handle
        with nogil:
            handle = new_variable_on(self.handle)
        cdef Variable var = Variable.__new__(Variable)
        var.handle = handle
        var.engine = self
        return var

    def push_sync(self, fn, ctx=None, const_vars=(), mutable_vars=(), priority=0, name=None):
        """Run ``fn(run_ctx)`` when its variables are free; it is done when it returns.

        Parameters
        ----------
        fn : callable
            Called once with the run context, on a worker for Python functions.
        ctx : Context, optional
            Device the function is for; default ``cpu(0)``.
        const_vars, mutable_vars : sequence of Variable
            What it reads and what it writes. A variable may stand in one of them, once.
        priority : int
            Ready functions of higher priority start first.
        name : str, optional
            What an error calls the function; default its own name.

        Raises
        ------
        ArgumentError
            For a variable that appears twice, was deleted or belongs to another engine.
        ArgumentTypeError
            For an argument of the wrong type.

        Examples
        --------
        >>> e = mx.engine.get()
        >>> v, seen = e.new_variable(), []
        >>> e.push_sync(lambda run_ctx: seen.append(run_ctx.ctx), mx.cpu(), (), (v,))
        >>> e.wait_for_var(v)
        >>> seen
        [cpu(0)]
        """
        self._push(fn, ctx, const_vars, mutable_vars, priority, name, False)

    def push_async(self, fn, ctx=None, const_vars=(), mutable_vars=(), priority=0, name=None):
        """As `push_sync`, for ``fn(run_ctx, on_complete)``: done when ``on_complete()`` is called.

        Any thread may call it, once; ``on_complete(error)`` says that the work failed.
        """
        self._push(fn, ctx, const_vars, mutable_vars, priority, name, True)

    def _push(self, fn, ctx, const_vars, mutable_vars, int priority, name, bint is_async):
        cdef PythonTask task = _task(fn, name)
        cdef _Handles vars = _Handles(self, const_vars, mutable_vars)
        cdef int dev_type, dev_id
        cdef void* arg = <void*>task
        dev_type, dev_id = _device(ctx)
        Py_INCREF(task)
        try:
            with nogil:
                if is_async:
                    push_async_on(
                        self.handle, _run_async_task, arg, _drop, dev_type, dev_id, vars.const_vars,
                        vars.n_const, vars.mutable_vars, vars.n_mutable, priority, kPython, NULL)
                else:
                    push_sync_on(
                        self.handle, _run_task, arg, _drop, dev_type, dev_id, vars.const_vars,
                        vars.n_const, vars.mutable_vars, vars.n_mutable, priority, kPython, NULL)
        except BaseException:
            Py_DECREF(task)
            raise

    def new_operator(self, fn, const_vars=(), mutable_vars=(), name=None, *, bint sync=False):
        """A function with its variables, checked once, to `push` many times.

        Parameters
        ----------
        fn : callable
            Called as ``fn(run_ctx, on_complete)``, and done when ``on_complete()`` is called; with
            ``sync=True`` as ``fn(run_ctx)``, and done when it returns.
        const_vars, mutable_vars, name
            As for `push_sync`.

        Returns
        -------
        OperatorHandle

        Raises
        ------
        ArgumentError, ArgumentTypeError
            As `push_sync`.
        """
        cdef PythonTask task = _task(fn, name)
        cdef _Handles vars = _Handles(self, const_vars, mutable_vars)
        cdef OperatorHandle opr = OperatorHandle.__new__(OperatorHandle)
        cdef void* arg = <void*>task
        opr.engine = self
        opr.variables = tuple(const_vars) + tuple(mutable_vars)
        Py_INCREF(task)
        try:
            with nogil:
                if sync:
                    opr.handle = new_sync_operator_on(
                        self.handle, _run_task, arg, _drop, vars.const_vars, vars.n_const,
                        vars.mutable_vars, vars.n_mutable, kPython, NULL)
                else:
                    opr.handle = new_operator_on(
                        self.handle, _run_async_task, arg, _drop, vars.const_vars, vars.n_const,
                        vars.mutable_vars, vars.n_mutable, kPython, NULL)
        except BaseException:
            Py_DECREF(task)
            raise
        return opr

    def push(self, OperatorHandle op not None, ctx=None, int priority=0):
        """Run the operator's function once more, when its variables are free."""
        cdef int dev_type, dev_id
        dev_type, dev_id = _device(ctx)
        _check_operator(self, op)
        for each in op.variables:
            _alive(self, each)
        with nogil:
            push(op.handle, dev_type, dev_id, priority)

    def delete_operator(self, OperatorHandle op not None):
        """Let the operator go once the runs pushed so far are done."""
        _check_operator(self, op)
        cdef OprHandle handle = op.handle
        op.handle = NULL
        with nogil:
            delete_operator(handle)

    def delete_variable(self, Variable var not None, on_delete=None):
        """Let the variable go once everything pushed on it is done; then call ``on_delete()``."""
        cdef VarHandle handle = _alive(self, var)
        cdef void* arg = NULL
        cdef EngineDeleter deleter = NULL
        if on_delete is not None:
            if not callable(on_delete):
                raise ArgumentTypeError(f"on_delete must be callable, got {shown(on_delete)}")
            Py_INCREF(on_delete)
            arg = <void*>on_delete
            deleter = _call_and_drop
        var.handle = NULL
        with nogil:
            delete_variable(handle, deleter, arg)

    def wait_for_var(self, Variable var not None):
        """Wait until everything pushed so far that writes `var` is done.

        Raises
        ------
        Exception
            What a function that was to write `var`, or one it depends on, raised: an
            `OperatorError` that is also of the original's type. It is raised once; functions pushed
            later run.
        """
        cdef VarHandle handle = _alive(self, var)
        with nogil:
            wait_for_var(handle)

    def wait_for_all(self):
        """Wait until everything pushed so far is done.

        Raises
        ------
        Exception
            The first of the failures nobody has waited for yet; all of them are cleared.
        """
        with nogil:
            wait_for_all_on(self.handle)

    def census(self):
        """What is alive, for tests: a dict of ``variables``, ``operators``, ``pending`` functions,
        ``native_threads``, ``python_threads`` and ``gpu_threads``.
        """
        return census(self.handle)


cdef class ThreadedEngine(Engine):
    """An engine of its own with `workers` threads for native functions (0: one a core).

    Python functions run on further threads that come and go as they are needed.
    """

    def __init__(self, int workers=0):
        if workers < 0:
            raise ArgumentError(f"workers must not be negative, got {workers}")
        if self.handle == NULL:
            self.handle = make_engine(False, workers)
            self.owned = True


cdef class NaiveEngine(Engine):
    """An engine of its own without threads: a function runs at once on the thread that pushes it.

    Where another thread holds its variables, the thread that frees the last of them runs it.
    """

    def __init__(self):
        if self.handle == NULL:
            self.handle = make_engine(True, 0)
            self.owned = True


cdef int _check_operator(Engine engine, OperatorHandle op) except -1:
    if op.engine is not engine:
        raise ArgumentError("the operator belongs to another engine")
    if op.handle == NULL:
        raise ArgumentError("the operator was deleted")
    return 0


cdef tuple _device(ctx):
    if ctx is None:
        ctx = cpu()
    if not isinstance(ctx, Context):
        raise ArgumentTypeError(f"ctx must be a Context, got {shown(ctx)}")
    return ctx.device_typeid, ctx.device_id


cdef void _call_and_drop(void* arg) noexcept with gil:
    on_delete = <object>arg
    Py_DECREF(on_delete)
    try:
        on_delete()
    except BaseException as error:
        raised = error
    else:
        return
    _write_unraisable(raised, on_delete)


cdef Engine _wrap_default():
    kind = NaiveEngine if is_naive(default_engine()) else ThreadedEngine
    cdef Engine shared = kind.__new__(kind)
    shared.handle = default_engine()
    return shared


cdef Engine _shared = _wrap_default()


def get():
    """The engine that arrays and executors use, of the type CYNET_ENGINE_TYPE names."""
    return _shared


def set_bulk_size(size):
    """Pushes of this thread between two times that sleeping workers are woken; returns what it was.

    0 or 1 wakes them at each push. Whoever waits, in any thread, wakes them too.
    """
    size = to_index("a bulk's size", size)
    if not 0 <= size < 2**31:
        raise ArgumentError(f"size must not be negative, nor above 2**31 - 1, got {size}")
    return _set_bulk_size(size)


def stop_at_exit():
    """Let running functions finish, for 2 seconds at most; drop what has not begun; write the
    errors that nobody has waited for to stderr."""
    cdef void* failure
    cdef int count = 0
    with nogil:
        stop_engines(2.0)
    while True:
        failure = next_failure()
        if failure == NULL:
            break
        error = <object>failure
        Py_DECREF(error)
        count += 1
        if count <= MOST_REPORTED:
            line = shorten(" ".join(told(error).split()), LINE_CHARS)
            _write(f"cynet: nobody waited for this error: {line}")
    if count > MOST_REPORTED:
        _write(f"cynet: nor for {count - MOST_REPORTED} more")


cdef int _write(str line) except -1:
    if sys.stderr is not None:
        try:
            print(line, file=sys.stderr)
        except (OSError, ValueError):  # it is closed
            return 0
    return 0
