"""Errors that went through the engine: of their own class and text, of sensible size."""

import copy
import dataclasses
import pickle
import subprocess
import sys
import traceback

import pytest

import cynet as mx
from cynet.base.errors import CynetError, OperatorError, describe_error, shorten, wrap_error


class Slots(ValueError):
    __slots__ = ("code",)


class Picky(Exception):
    def __init__(self, code, *, reason):
        super().__init__(code, reason)
        self.code, self.reason = code, reason


class PickyNew(Exception):
    def __new__(cls, code, reason):
        return super().__new__(cls, code)


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class Final(KeyError):
    def __init_subclass__(cls):
        raise TypeError("no subclasses")


class Meta(type):
    pass


class WithMeta(Exception, metaclass=Meta):
    pass


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    code: int


def errors():
    slots = Slots("text")
    slots.code = 7
    yield from (
        MemoryError("no memory"),
        RecursionError("deep"),
        OSError("disk"),
        FileNotFoundError(2, "no such file", "a.bin"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        SyntaxError("bad", ("f.py", 3, 1, "x = ")),
        StopIteration(3),
        ImportError("gone", name="package", path="/p"),
        AttributeError("none"),
        TimeoutError(),
        slots,
        Picky(7, reason="r"),
        PickyNew(7, "r"),
        Silent(),
        Final("key"),
        WithMeta("m"),
        Frozen(3),
        mx.errors.ArgumentError("value"),
        mx.errors.NotFoundError("name"),
        mx.errors.OutOfMemoryError("no memory"),
        mx.errors.NestingError("deep"),
        mx.errors.BoundsError("out"),
        mx.errors.HostMemoryError("gpu"),
        mx.errors.UndefinedError("none"),
    )
    if sys.version_info >= (3, 11):
        yield ExceptionGroup("several", [ValueError(1), KeyError("k")])  # noqa: F821


ERRORS = list(errors())
NAMES = [type(each).__name__ for each in ERRORS]


@pytest.mark.parametrize("error", ERRORS, ids=NAMES)
def test_a_annotated_error_is_of_both_classes(error):
    out = wrap_error(error, "the text")
    assert isinstance(out, type(error)) and isinstance(out, OperatorError)
    assert str(out) == "the text" and out.args == ("the text",)
    assert type(out).__name__ == type(error).__name__
    assert out.__cause__ is error
    assert type(wrap_error(out, "more")) is type(out)  # no class of a class
    with pytest.raises(mx.base.MXNetError, match="the text"):
        raise out


@pytest.mark.parametrize("error", ERRORS, ids=NAMES)
def test_an_error_of_the_engine_keeps_its_class(error):
    def fail(ctx):
        raise error

    engine = mx.engine.NaiveEngine()
    variable = engine.new_variable()
    engine.push_sync(fail, None, (), (variable,), name="fail")
    with pytest.raises(type(error), match="function 'fail' pushed at") as caught:
        engine.wait_for_var(variable)
    assert isinstance(caught.value, mx.base.MXNetError)
    assert "'fail'" in str(caught.value) and type(error).__name__ in str(caught.value)


def test_what_an_error_holds_is_there():
    out = wrap_error(FileNotFoundError(2, "no such file", "a.bin"), "text")
    assert (out.errno, out.strerror, out.filename) == (2, "no such file", "a.bin")
    out = wrap_error(Picky(7, reason="r"), "text")
    assert (out.code, out.reason) == (7, "r")
    slots = Slots("text")
    slots.code = 7
    assert wrap_error(slots, "text").code == 7
    assert wrap_error(Frozen(3), "text").code == 3


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups of exceptions came with Python 3.11")
def test_a_group_keeps_its_errors():
    group = ExceptionGroup("several", [ValueError(1), KeyError("k")])  # noqa: F821
    out = wrap_error(group, "text")
    assert out.exceptions == group.exceptions
    assert [type(e) for e in out.split(KeyError)[0].exceptions] == [KeyError]


def test_what_is_no_exception_comes_as_it_is():
    for error in (KeyboardInterrupt("stop"), SystemExit(3), GeneratorExit()):
        assert wrap_error(error, "text") is error


def test_a_class_that_counts_its_subclasses_does_not_see_the_annotated_one():
    seen = []

    class Counts(Exception):
        def __init_subclass__(cls):
            seen.append(cls)

    assert isinstance(wrap_error(Counts("c"), "text"), Counts)
    assert seen == []


def test_an_error_without_a_text():
    assert describe_error(Silent()) == "Silent: (no text: its __str__ raised RuntimeError)"


def test_copies_and_pickles():
    error = wrap_error(FileNotFoundError(2, "no such file", "a.bin"), "text")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert isinstance(again, FileNotFoundError) and isinstance(again, OperatorError)
        assert str(again) == "text" and again.errno == 2


def test_an_error_that_went_through_many_functions_is_of_sensible_size():
    error = ZeroDivisionError("the first of all")
    for level in range(300):
        try:
            raise error
        except Exception as caught:
            error = wrap_error(caught, f"level {level}: {describe_error(caught)}")
    assert isinstance(error, ZeroDivisionError)
    assert str(error).startswith("level 299: ")
    assert str(error).endswith("the first of all") and len(str(error)) <= 4000
    assert len("".join(traceback.format_exception(error))) < 40000
    causes = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    assert len(causes) < 10 and type(causes[-1]) is ZeroDivisionError


def test_shorten_keeps_both_ends():
    assert shorten("short") == "short"
    text = shorten("a" * 5000 + "b" * 5000, 100)
    assert len(text) == 100 and text[0] == "a" and text[-1] == "b"


def test_cynet_errors_are_those_of_python_too():
    for kind, of_python in (
        (mx.errors.ArgumentError, ValueError),
        (mx.errors.ArgumentTypeError, TypeError),
        (mx.errors.BoundsError, IndexError),
        (mx.errors.OutOfMemoryError, MemoryError),
        (mx.errors.NestingError, RecursionError),
        (mx.errors.UndefinedError, NotImplementedError),
        (mx.errors.HostMemoryError, BufferError),
        (mx.errors.NotFoundError, AttributeError),
    ):
        assert issubclass(kind, CynetError) and issubclass(kind, of_python)
        assert str(kind("text")) == "text" and repr(kind("text")) == f"{kind.__name__}('text')"


@pytest.mark.parametrize(
    "call, telling",
    [
        (lambda: mx.nd.zeros(2, dtype="uint16"), "uint16"),
        (lambda: mx.nd.ones(2, dtype="complex64"), "complex64"),
        (lambda: mx.nd.empty(2, dtype="uint16"), "uint16"),
        (lambda: mx.nd.full(2, 1, dtype="int16"), "int16"),
        (lambda: mx.nd.array([1], dtype="int16"), "int16"),
        (lambda: mx.nd.arange(3, dtype="int16"), "int16"),
        (lambda: mx.nd.random.uniform(shape=2, dtype="int16"), "_random_uniform"),
        (lambda: mx.nd.zeros(2).astype("int16"), "int16"),
        (lambda: mx.nd.cast(mx.nd.zeros(2), dtype="int16"), "operator Cast"),
        (lambda: mx.sym.Variable("x", dtype="int16"), "int16"),
        (lambda: mx.sym.zeros((2,), dtype="no such type"), r"node _zeros\d+"),
        (lambda: mx.sym.cast(mx.sym.Variable("x"), dtype="int16"), r"node cast\d+"),
        (lambda: mx.nd.ones((2,))[5], "index 5 is out"),
        (lambda: mx.nd.empty((2**40, 2**40)), "more than any memory"),
        (lambda: mx.nd.empty((2**45,)), "has no 140737488355328 bytes"),
        (lambda: mx.nd.no_such_operator(1), "no attribute 'no_such_operator'"),
        (lambda: mx.sym.Variable("x")["no_output"], "no output is named 'no_output'"),
        (lambda: mx.sym.Variable("x")[7], "no output 7"),
        (lambda: mx.Context({}), "got {}"),
        (lambda: mx.Context("tpu"), "'tpu' is not one"),
        (lambda: mx.sym.relu(mx.sym.Variable("x"), attr=[1]), "attr must be a dict"),
        (lambda: mx.nd.random.uniform(0, 1, out="here"), "out must be an NDArray"),
        (lambda: mx.optimizer.create("sgd").set_lr_mult(2.0), "set_lr_mult takes a dict"),
        (lambda: mx.engine.Engine(), "a ThreadedEngine or"),
        (lambda: mx.nd.NDArray(), "made by mx.nd.array"),
        (lambda: len(mx.nd.array(3).reshape(())), "an array without axes"),
        (
            lambda: mx.initializer.Initializer()("fc_weight", mx.nd.ones((2,))),
            "Initializer defines no _init_weight",
        ),
        (
            lambda: mx.optimizer.Optimizer().update(0, None, None, None),
            "Optimizer defines no update",
        ),
    ],
    ids=range(28),
)
def test_what_a_public_call_raises_is_an_mxnet_error(call, telling):
    with pytest.raises(mx.base.MXNetError, match=telling):
        call()


def test_errors_and_settings_have_their_public_names():
    """`import cynet.errors` works in a fresh process; tracebacks and pickles say it."""
    code = (
        "import cynet.errors, cynet.config, pickle; from cynet.errors import ShapeError; "
        "from cynet.config import settings; assert cynet.config.settings is settings; "
        "print(pickle.loads(pickle.dumps(ShapeError('a'))).__class__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "<class 'cynet.errors.ShapeError'>", done.stderr
    assert mx.errors is sys.modules["cynet.errors"] and mx.base.MXNetError is mx.errors.MXNetError


def test_it_is_a_runtime_error_as_in_mxnet():
    for call in (lambda: mx.nd.ones((2, 3)) + mx.nd.ones((4, 5)), lambda: mx.nd.load("/no/file")):
        with pytest.raises(
            RuntimeError, match="cannot read '/no/file': no|operator broadcast_add on"
        ) as caught:
            call()
        assert isinstance(caught.value, mx.base.MXNetError)


def test_a_refused_call_has_one_traceback():
    """Of our own operators the first error says nothing that the last one does not."""
    with pytest.raises(mx.errors.ShapeError, match="sums over lengths 3 and 2") as caught:
        mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
