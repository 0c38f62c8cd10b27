"""The engine for Python: Variable, operators, ThreadedEngine, NaiveEngine (exported by api.py)."""

from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdlib cimport free, malloc

from .._engine cimport (
    EngineDeleter, OprHandle, VarHandle, count_engine_work, default_engine, delete_operator,
    delete_variable, drop_engine, is_naive, make_engine, new_operator_on, new_sync_operator_on,
    new_variable_on, push, push_async_on, push_sync_on, wait_for_all_on,
    wait_for_var, kPython
)
from .python_tasks cimport PythonTask, call_on_delete, drop_task, run_async_task, run_task, new_task

from ..context import Context, cpu
from ..base.errors import ArgumentError, ArgumentTypeError, OutOfMemoryError, shown


cdef class Variable:
    """A resource that functions read or write; made by `Engine.new_variable`.

    It goes when the last reference does, after everything pushed on it.

    Examples
    --------
    Functions that write one variable run in the order in which they were pushed:

    >>> e = mx.engine.get()
    >>> account, balance = e.new_variable(), [100]
    >>> def half(run_ctx):
    ...     balance[0] /= 2
    >>> def add(run_ctx):
    ...     balance[0] += 10
    >>> for each in half, add, half:
    ...     e.push_sync(each, mutable_vars=[account])
    >>> e.wait_for_var(account)
    >>> balance
    [30.0]
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
    """A function with its variables, to be pushed many times; made by `Engine.new_operator`."""

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


cdef class _VariableHandles:  # C arrays of the variables of a function
    """The handles of const_vars and mutable_vars as C arrays."""

    cdef VarHandle* const_vars
    cdef VarHandle* mutable_vars
    cdef int n_const
    cdef int n_mutable

    def __cinit__(self, Engine engine, const_vars, mutable_vars):
        cdef tuple reads = _check_variables("const_vars", const_vars)
        cdef tuple writes = _check_variables("mutable_vars", mutable_vars)
        self.n_const, self.n_mutable = len(reads), len(writes)
        cdef size_t n = len(reads) + len(writes)
        self.const_vars = <VarHandle*>malloc((n + 1) * sizeof(VarHandle))
        if self.const_vars == NULL:
            raise OutOfMemoryError("no memory for the variables of a function")
        self.mutable_vars = self.const_vars + self.n_const
        for i, each in enumerate(reads + writes):
            self.const_vars[i] = _checked_var_handle(engine, each)

    def __dealloc__(self):
        free(self.const_vars)


cdef tuple _check_variables(str name, values):
    if isinstance(values, Variable) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(f"{name} must be a sequence of variables, got {shown(values)}")
    return tuple(values)


cdef VarHandle _checked_var_handle(Engine engine, each) except NULL:
    if not isinstance(each, Variable):
        raise ArgumentTypeError(f"expected a variable of the engine, got {shown(each)}")
    cdef Variable var = <Variable>each
    if var.engine is not engine:
        raise ArgumentError("the variable belongs to another engine")
    if var.handle == NULL:
        raise ArgumentError("the variable was deleted")
    return var.handle


cdef class Engine:
    """Runs functions when their variables are free; `get` returns the default engine.

    Two functions that write one variable run in the order they were pushed; functions that only
    read it may run together between two that write it. All methods may be called by any thread.

    Examples
    --------
    A task graph without arrays: two loaders that may run together, then what needs both.

    >>> e = mx.engine.ThreadedEngine()
    >>> left, right, both = e.new_variable(), e.new_variable(), e.new_variable()
    >>> found = {}
    >>> def load(name):
    ...     return lambda run_ctx: found.update({name: len(name)})
    >>> e.push_sync(load("apple"), mutable_vars=[left])
    >>> e.push_sync(load("fig"), mutable_vars=[right])
    >>> e.push_sync(lambda run_ctx: found.update(sum=found["apple"] + found["fig"]),
    ...             const_vars=[left, right], mutable_vars=[both])
    >>> e.wait_for_all()
    >>> found["sum"]
    8

    A failure comes out where somebody waits for what was to be written:

    >>> def divide(run_ctx):
    ...     1 / 0
    >>> e.push_sync(divide, mutable_vars=[both], name="divide")
    >>> try:
    ...     e.wait_for_var(both)
    ... except ZeroDivisionError as error:
    ...     print(type(error).__name__, "divide" in str(error))
    ZeroDivisionError True
    """

    def __init__(self):
        raise ArgumentTypeError("make a ThreadedEngine or a NaiveEngine, or take the shared: get()")

    def __dealloc__(self):
        if self.owned and self.handle != NULL:
            drop_engine(self.handle)

    def new_variable(self):
        """Make a variable of this engine.

        Returns
        -------
        Variable
        """
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
            Device that the function is for; ``cpu(0)`` by default.
        const_vars, mutable_vars : sequence of Variable
            Variables that it reads, and that it writes. A variable may stand in one of them, once.
        priority : int
            Ready functions of higher priority start first.
        name : str, optional
            Name of the function in errors; by default its own.

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
        """Run a function when its variables are free; it is done when ``on_complete()`` is called.

        Parameters
        ----------
        fn : callable
            Called once as ``fn(run_ctx, on_complete)``. Any thread may call ``on_complete()``,
            once; ``on_complete(error)`` says that the work failed.
        ctx, const_vars, mutable_vars, priority, name
            See `push_sync`.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            As for `push_sync`.

        Examples
        --------
        >>> import threading
        >>> e = mx.engine.get()
        >>> reply, seen = e.new_variable(), []
        >>> def ask(run_ctx, on_complete):
        ...     def answer():
        ...         seen.append("answered")
        ...         on_complete()
        ...     threading.Timer(0.01, answer).start()
        >>> e.push_async(ask, mutable_vars=[reply])
        >>> e.wait_for_var(reply)
        >>> seen
        ['answered']
        """
        self._push(fn, ctx, const_vars, mutable_vars, priority, name, True)

    def _push(self, fn, ctx, const_vars, mutable_vars, int priority, name, bint is_async):
        cdef PythonTask task = new_task(fn, name)
        cdef _VariableHandles vars = _VariableHandles(self, const_vars, mutable_vars)
        cdef int dev_type, dev_id
        cdef void* arg = <void*>task
        dev_type, dev_id = _device_codes(ctx)
        Py_INCREF(task)
        try:
            with nogil:
                if is_async:
                    push_async_on(
                        self.handle, run_async_task, arg, drop_task, dev_type, dev_id,
                        vars.const_vars, vars.n_const, vars.mutable_vars, vars.n_mutable,
                        priority, kPython, NULL)
                else:
                    push_sync_on(
                        self.handle, run_task, arg, drop_task, dev_type, dev_id, vars.const_vars,
                        vars.n_const, vars.mutable_vars, vars.n_mutable, priority, kPython, NULL)
        except BaseException:
            Py_DECREF(task)
            raise

    def new_operator(self, fn, const_vars=(), mutable_vars=(), name=None, *, bint sync=False):
        """Make a function with its variables, checked once, to `push` many times.

        Parameters
        ----------
        fn : callable
            Called as ``fn(run_ctx, on_complete)``, and done when ``on_complete()`` is called; with
            ``sync=True`` as ``fn(run_ctx)``, and done when it returns.
        const_vars, mutable_vars, name
            See `push_sync`.
        sync : bool
            Which of the two forms `fn` has.

        Returns
        -------
        OperatorHandle

        Raises
        ------
        ArgumentError, ArgumentTypeError
            As for `push_sync`.

        Examples
        --------
        >>> e = mx.engine.get()
        >>> total, count = e.new_variable(), [0]
        >>> def add(run_ctx):
        ...     count[0] += 1
        >>> op = e.new_operator(add, mutable_vars=[total], sync=True)
        >>> for _ in range(5):
        ...     e.push(op)
        >>> e.wait_for_var(total)
        >>> count
        [5]
        >>> e.delete_operator(op)
        """
        cdef PythonTask task = new_task(fn, name)
        cdef _VariableHandles vars = _VariableHandles(self, const_vars, mutable_vars)
        cdef OperatorHandle opr = OperatorHandle.__new__(OperatorHandle)
        cdef void* arg = <void*>task
        opr.engine = self
        opr.variables = tuple(const_vars) + tuple(mutable_vars)
        Py_INCREF(task)
        try:
            with nogil:
                if sync:
                    opr.handle = new_sync_operator_on(
                        self.handle, run_task, arg, drop_task, vars.const_vars, vars.n_const,
                        vars.mutable_vars, vars.n_mutable, kPython, NULL)
                else:
                    opr.handle = new_operator_on(
                        self.handle, run_async_task, arg, drop_task, vars.const_vars, vars.n_const,
                        vars.mutable_vars, vars.n_mutable, kPython, NULL)
        except BaseException:
            Py_DECREF(task)
            raise
        return opr

    def push(self, OperatorHandle op not None, ctx=None, int priority=0):
        """Run an operator's function once more, when its variables are free.

        Parameters
        ----------
        op : OperatorHandle
            An operator of `new_operator`.
        ctx : Context, optional
            Device that the function is for; ``cpu(0)`` by default.
        priority : int
            Ready functions of higher priority start first.

        Raises
        ------
        ArgumentError
            If the operator or one of its variables was deleted, or the operator is another
            engine's.

        Examples
        --------
        >>> e = mx.engine.get()
        >>> op = e.new_operator(lambda run_ctx: None, sync=True)
        >>> e.push(op, mx.cpu(), priority=1)
        >>> e.delete_operator(op)
        >>> e.push(op)
        Traceback (most recent call last):
            ...
        cynet.errors.ArgumentError: the operator was deleted
        """
        cdef int dev_type, dev_id
        dev_type, dev_id = _device_codes(ctx)
        _check_operator(self, op)
        for each in op.variables:
            _checked_var_handle(self, each)
        with nogil:
            push(op.handle, dev_type, dev_id, priority)

    def delete_operator(self, OperatorHandle op not None):
        """Delete an operator once the runs pushed so far are done.

        Parameters
        ----------
        op : OperatorHandle
            An operator of `new_operator`.

        Raises
        ------
        ArgumentError
            If it was deleted before, or is another engine's.

        Examples
        --------
        >>> e = mx.engine.get()
        >>> e.delete_operator(e.new_operator(lambda run_ctx: None, sync=True))
        """
        _check_operator(self, op)
        cdef OprHandle handle = op.handle
        op.handle = NULL
        with nogil:
            delete_operator(handle)

    def delete_variable(self, Variable var not None, on_delete=None):
        """Delete a variable once all functions pushed on it are done.

        Parameters
        ----------
        var : Variable
            Tag that nothing will be pushed on any more.
        on_delete : callable, optional
            Called without arguments when it is deleted.

        Raises
        ------
        ArgumentError
            If it was deleted before, or is another engine's.
        ArgumentTypeError
            If `on_delete` is not callable.

        Examples
        --------
        >>> e = mx.engine.ThreadedEngine(1)
        >>> file, seen = e.new_variable(), []
        >>> e.push_sync(lambda run_ctx: seen.append("written"), mutable_vars=[file])
        >>> e.delete_variable(file, lambda: seen.append("closed"))
        >>> e.wait_for_all()
        >>> seen
        ['written', 'closed']
        """
        cdef VarHandle handle = _checked_var_handle(self, var)
        cdef void* arg = NULL
        cdef EngineDeleter deleter = NULL
        if on_delete is not None:
            if not callable(on_delete):
                raise ArgumentTypeError(f"on_delete must be callable, got {shown(on_delete)}")
            Py_INCREF(on_delete)
            arg = <void*>on_delete
            deleter = call_on_delete
        var.handle = NULL
        with nogil:
            delete_variable(handle, deleter, arg)

    def wait_for_var(self, Variable var not None):
        """Wait until everything pushed so far that writes a variable is done.

        Parameters
        ----------
        var : Variable
            Tag of what has to be done.

        Raises
        ------
        Exception
            What a function that was to write `var`, or one it depends on, raised: an
            `OperatorError`, also of the original's type. It is raised once; later functions run.
        """
        cdef VarHandle handle = _checked_var_handle(self, var)
        with nogil:
            wait_for_var(handle)

    def wait_for_all(self):
        """Wait until everything pushed so far is done.

        Raises
        ------
        Exception
            The first of the failures nobody has waited for yet; all of them are cleared.

        Examples
        --------
        >>> e = mx.engine.ThreadedEngine(1)
        >>> seen = []
        >>> e.push_sync(lambda run_ctx: seen.append("done"))
        >>> e.wait_for_all()
        >>> seen
        ['done']
        """
        with nogil:
            wait_for_all_on(self.handle)

    def census(self):
        """Count live variables, operators and threads, for tests.

        Returns
        -------
        dict of str to int
            ``variables``, ``operators``, ``pending`` functions, ``native_threads``,
            ``python_threads`` and ``gpu_threads``.

        Examples
        --------
        >>> e = mx.engine.NaiveEngine()
        >>> v = e.new_variable()
        >>> e.census()["variables"], e.census()["pending"]
        (1, 0)
        """
        return count_engine_work(self.handle)


cdef class ThreadedEngine(Engine):
    """A new engine with threads for native functions.

    Python functions run on further threads that come and go as they are needed.

    Parameters
    ----------
    workers : int
        Number of threads for native functions; 0 means one for each core.

    Raises
    ------
    ArgumentError
        If it is negative.

    Examples
    --------
    >>> import threading
    >>> e = mx.engine.ThreadedEngine(workers=2)
    >>> v, seen = e.new_variable(), []
    >>> e.push_sync(lambda run_ctx: seen.append(threading.current_thread()), mutable_vars=[v])
    >>> e.wait_for_var(v)
    >>> seen[0] is threading.current_thread()
    False
    """

    def __init__(self, int workers=0):
        if workers < 0:
            raise ArgumentError(f"workers must not be negative, got {workers}")
        if self.handle == NULL:
            self.handle = make_engine(False, workers)
            self.owned = True


cdef class NaiveEngine(Engine):
    """A new engine without threads: a function runs at once on the thread that pushes it.

    Where another thread holds its variables, the thread that frees the last of them runs it.

    Examples
    --------
    >>> import threading
    >>> e = mx.engine.NaiveEngine()
    >>> seen = []
    >>> e.push_sync(lambda run_ctx: seen.append(threading.current_thread()))
    >>> seen[0] is threading.current_thread()
    True
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


cdef tuple _device_codes(ctx):
    if ctx is None:
        ctx = cpu()
    if not isinstance(ctx, Context):
        raise ArgumentTypeError(f"ctx must be a Context, got {shown(ctx)}")
    return ctx.device_typeid, ctx.device_id


cdef Engine _wrap_default_engine():
    kind = NaiveEngine if is_naive(default_engine()) else ThreadedEngine
    cdef Engine shared = kind.__new__(kind)
    shared.handle = default_engine()
    return shared


cdef Engine _shared_engine = _wrap_default_engine()


def get():
    """Return the default engine, which arrays and executors use, of type CYNET_ENGINE_TYPE.

    Returns
    -------
    Engine
        The same at each call.

    Examples
    --------
    >>> mx.engine.get() is mx.engine.get()
    True
    """
    return _shared_engine
