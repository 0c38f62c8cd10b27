"""Python functions that the engine runs, and their arguments."""

from cpython.ref cimport Py_DECREF
from libc.stdint cimport int64_t

from .._engine cimport complete, next_unraised_error, stop_engines
from .._typedefs cimport RunContext
from .trace cimport IMPERATIVE, now_if_traced, interned_text, note_function

import sys

from ..context import Context
from ..base.errors import (
    ArgumentTypeError, CynetError, describe_error, shorten, shown, user_frame, wrap_error,
)

cdef extern from "Python.h":
    void PyErr_WriteUnraisable(object source) noexcept

cdef int MAX_REPORTED = 10  # maximum number of errors written at exit
cdef int LINE_CHARS = 500    # maximum length of an error's line


cdef class PyRunContext:
    """The argument of a function that the engine runs: ``ctx`` (a Context; ``dev_type`` and
    ``dev_id`` are its codes), ``stream`` (address of a device's stream, 0 on the CPU) and
    ``worker`` (index of the worker; 0 is the thread that pushed).
    """

    def __init__(self):
        raise ArgumentTypeError("a run context is made by the engine, for the function it runs")

    @staticmethod
    cdef PyRunContext wrap_context(const RunContext* context):
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


cdef class PythonTask:  # a Python function that the engine runs
    """A Python function that was pushed to the engine, and the line that pushed it."""

    cdef str label(self):
        return self.name or getattr(self.fn, "__qualname__", None) or repr(self.fn)

    cdef int record_run(self, int64_t begin, const RunContext* context) except -1:
        cdef bytes label
        if begin:
            label = self.label().encode("utf-8", "replace")
            note_function(interned_text(label), False, begin, context)
        return 0

    cdef object annotate_error(self, error):
        if not isinstance(error, Exception):
            return error
        name = self.label()
        file, line = self.pushed_at
        pushed = f"function '{name}' pushed at {file}:{line}"
        return wrap_error(error, f"{pushed} failed: {describe_error(error)}")


cdef PythonTask new_task(fn, name):
    if not callable(fn):
        raise ArgumentTypeError(f"fn must be callable, got {shown(fn)}")
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"name must be a str or None, got {shown(name)}")
    cdef PythonTask task = PythonTask.__new__(PythonTask)
    task.fn = fn
    task.name = name
    task.pushed_at = user_frame()
    return task


cdef int run_task(void* arg, RunContext* context) except -1 with gil:
    cdef PythonTask task = <PythonTask>arg
    cdef int64_t begin = now_if_traced(IMPERATIVE)
    try:
        task.fn(PyRunContext.wrap_context(context))
    except BaseException as error:
        raised = task.annotate_error(error)
    else:
        return task.record_run(begin, context)
    raise raised


cdef int run_async_task(void* arg, RunContext* context, void* token) except -1 with gil:
    cdef PythonTask task = <PythonTask>arg
    cdef OnComplete on_complete = OnComplete.__new__(OnComplete)
    on_complete.task = task
    on_complete.token = token
    cdef int64_t begin = now_if_traced(IMPERATIVE)
    try:
        task.fn(PyRunContext.wrap_context(context), on_complete)
    except BaseException as error:
        raised = task.annotate_error(error)
    else:
        return task.record_run(begin, context)
    if on_complete.token != NULL:
        on_complete.token = NULL
        raise raised
    write_unraisable(raised, task.fn)  # the task had called on_complete before it raised
    return 0


cdef void drop_task(void* arg) noexcept with gil:
    Py_DECREF(<object>arg)


cdef int _raise_error(error) except -1:
    raise error


ctypedef int (*QuietRaise)(object error) noexcept


cdef void write_unraisable(error, source) noexcept:
    """Report an error that no caller can receive to sys.unraisablehook."""
    (<QuietRaise>_raise_error)(error)
    PyErr_WriteUnraisable(source)


cdef void call_on_delete(void* arg) noexcept with gil:
    on_delete = <object>arg
    Py_DECREF(on_delete)
    try:
        on_delete()
    except BaseException as error:
        raised = error
    else:
        return
    write_unraisable(raised, on_delete)


cdef class OnComplete:  # callback that ends an asynchronous function
    """The callback of an asynchronous function, called once at its end:
    ``on_complete(error=None)``."""

    def __init__(self):
        raise ArgumentTypeError("on_complete is made by the engine, for the function it runs")

    def __dealloc__(self):
        if self.token != NULL:
            self.complete_task(CynetError("on_complete was dropped without being called"))

    def __call__(self, error=None):
        if error is not None and not isinstance(error, BaseException):
            raise ArgumentTypeError(f"error must be an exception or None, got {shown(error)}")
        if self.token == NULL:
            raise CynetError("on_complete was called already; a function is done once")
        self.complete_task(error)

    cdef int complete_task(self, error) except -1:
        cdef void* token = self.token
        cdef void* raised = NULL
        self.token = NULL
        if error is not None:
            if self.task is not None:  # the garbage collector may have cleared the task
                error = self.task.annotate_error(error)
            raised = <void*>error
        with nogil:
            complete(token, raised)
        return 0


def stop_at_exit():
    """Let running functions finish, for 2 seconds at most; drop functions that have not begun;
    write errors that no wait has raised to stderr."""
    cdef void* failure
    cdef int count = 0
    with nogil:
        stop_engines(2.0)
    while True:
        failure = next_unraised_error()
        if failure == NULL:
            break
        error = <object>failure
        Py_DECREF(error)
        count += 1
        if count <= MAX_REPORTED:
            line = shorten(" ".join(describe_error(error).split()), LINE_CHARS)
            _write_to_stderr(f"cynet: nobody waited for this error: {line}")
    if count > MAX_REPORTED:
        _write_to_stderr(f"cynet: nor for {count - MAX_REPORTED} more")


cdef int _write_to_stderr(str line) except -1:
    if sys.stderr is not None:
        try:
            print(line, file=sys.stderr)
        except (OSError, ValueError):  # stderr is closed
            return 0
    return 0
