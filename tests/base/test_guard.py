"""cynet/base/guard.py: what Python raises over a wrong argument leaves as an error of cynet."""

import logging

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    BoundsError,
    CynetError,
    FormatError,
    MissingFileError,
    UndefinedError,
)
from cynet.base.guard import Guarded, describe_call, guarded

RAISED = [
    (TypeError("no"), ArgumentTypeError),
    (AttributeError("no"), ArgumentTypeError),
    (ValueError("no"), ArgumentError),
    (IndexError("no"), BoundsError),
    (NotImplementedError("no"), UndefinedError),
    (EOFError("no"), FormatError),
    (UnicodeDecodeError("utf-8", b"x", 0, 1, "no"), FormatError),
    (FileNotFoundError(2, "No such file", "x"), MissingFileError),
    (KeyError("no"), KeyError),
    (OverflowError("no"), OverflowError),
    (ZeroDivisionError("no"), ZeroDivisionError),
    (RecursionError("no"), RecursionError),
    (RuntimeError("no"), RuntimeError),
    (MemoryError("no"), MemoryError),
]


def as_own(code, **names):
    """Define functions that count as cynet's."""
    names.update(__name__="cynet.example", guarded=guarded)
    exec(code, names)
    return names


@pytest.mark.parametrize("error, kind", RAISED, ids=lambda each: getattr(each, "__name__", None))
def test_errors_of_own_code(error, kind):
    call = as_own("@guarded\ndef call(number):\n    raise error", error=error)["call"]
    with pytest.raises(kind, match=r"^call\(number=3\): |cannot use 'x'") as caught:
        call(3)
    assert isinstance(caught.value, CynetError) and caught.value.__cause__ is error
    assert not isinstance(error, OSError) or "cannot use 'x'" in str(caught.value)
    assert isinstance(error, OSError) or str(caught.value).startswith("call(number=3): ")


@pytest.mark.parametrize(
    "error", [ArgumentError("own"), StopIteration(), AssertionError("a"), UserWarning("w")]
)
def test_what_passes(error):
    call = as_own("@guarded\ndef call():\n    raise error", error=error)["call"]
    with pytest.raises(type(error), match=f"^{error}$") as caught:
        call()
    assert caught.value is error


def test_errors_of_the_user_pass():
    """A callback's KeyError is the user's business, the generator's and the class's, too."""
    error = KeyError("of the user")

    def function(*args):
        raise error

    code = """
@guarded
def call(function): return function()
@guarded
def each(function): yield function()
@guarded
class Thing:
    def call(self, function): return function()
"""
    names = as_own(code)
    calls = (names["call"], lambda f: list(names["each"](f)), names["Thing"]().call)
    for call in calls:
        with pytest.raises(KeyError, match="'of the user'") as caught:
            call(function)
        assert caught.value is error


def test_classes():
    """Public methods, those of operators and property setters; not those of subclasses."""
    code = """
@guarded(but=("fast",))
class Base:
    def __init__(self, size): self.size = len(size)
    def method(self): raise ValueError("no")
    def fast(self): raise ValueError("no")
    def _hidden(self): raise ValueError("no")
    @staticmethod
    def static(x): return x.y
    @classmethod
    def made(cls, x): return cls(x)
    @property
    def half(self): return 1
    @half.setter
    def half(self, value): self.size = value / 2
"""
    base = as_own(code)["Base"]
    thing = base("ab")
    assert base.made("abc").size == 3 and base.__init__.__name__ == "__init__"
    with pytest.raises(ArgumentTypeError, match=r"^Base\(size=3\): object of type 'int'"):
        base(3)
    with pytest.raises(ArgumentError, match=r"^Base\.method\(\): no"):
        thing.method()
    with pytest.raises(ArgumentTypeError, match=r"^static\(x=3\)"):
        base.static(3)
    with pytest.raises(ArgumentTypeError, match=r"^Base\.half\(value='x'\)"):
        thing.half = "x"
    for method in (thing.fast, thing._hidden):
        with pytest.raises(ValueError, match="^no$") as caught:
            method()
        assert not isinstance(caught.value, CynetError)


def test_families():
    """Public classes of cynet below Guarded are guarded, once; those of users are not."""
    code = """
class Family(Guarded):
    _unguarded = ("fast",)
    def method(self): raise ValueError("no")
    def fast(self): raise ValueError("no")
class _Private(Family):
    def method(self): raise ValueError("no")
@guarded
class Public(_Private):
    def fast(self): raise ValueError("no")
    def other(self): raise ValueError("no")
"""
    made = as_own(code, Guarded=Guarded)
    for call, named in (
        (made["Family"]().method, r"^Family\.method\(\): no$"),
        (made["Public"]().other, r"^Public\.other\(\): no$"),
        (made["Public"]().fast, r"^Public\.fast\(\): no$"),  # its own decorator leaves out nothing
    ):
        with pytest.raises(ArgumentError, match=named):
            call()
    assert not hasattr(made["Public"].other.unguarded, "unguarded")

    class Mine(made["Family"]):
        def method(self):
            raise ValueError("no")

    for call in (made["Family"]().fast, made["_Private"]().method, Mine().method):
        with pytest.raises(ValueError, match="^no$") as caught:
            call()
        assert not isinstance(caught.value, CynetError)


def test_wrong_arguments_of_python():
    call = as_own("@guarded\ndef call(number): pass")["call"]
    with pytest.raises(ArgumentTypeError, match="missing 1 required positional argument: 'number'"):
        call()
    with pytest.raises(ArgumentTypeError, match="unexpected keyword argument 'x'"):
        call(1, x=2)


def test_a_wrong_call_of_a_class_names_that_class():
    """Not the base that has the constructor, which users have not heard of."""
    for layer in (
        mx.gluon.nn.Conv2D,
        mx.gluon.nn.Conv3DTranspose,
        mx.gluon.contrib.rnn.Conv1DGRUCell,
    ):

        class OfUser(layer):
            pass

        said = rf"^{layer.__name__}\.__init__\(\) missing"
        for cls in (layer, OfUser):
            with pytest.raises(ArgumentTypeError, match=said):
                cls()


def test_a_message_says_what_is_taken_and_is_short():
    call = as_own(
        '@guarded\ndef call(a, b=1):\n    """Do.\n\n    Parameters\n    ----------\n'
        '    a, b : list of int\n    """\n    a.c'
    )["call"]
    with pytest.raises(ArgumentTypeError, match=r"\[a: list of int\]: 'str' object has no"):
        call("x")
    with pytest.raises(ArgumentTypeError, match="'str' object has no attribute 'c'") as caught:
        call("x" * 10**6, b=["y" * 10**6] * 10**3)
    assert len(str(caught.value)) <= 1000
    assert describe_call(len, ("x",), {}) == "len(obj='x')"


# Calls that leaked AttributeError, KeyError, OverflowError, ... once, and what the message names.
LEAKS = [
    (lambda: mx.metric.check_label_shapes(3, 4), "check_label_shapes"),
    (lambda: mx.metric.create("acc").update_dict([1], {}), "labels must be a dict"),
    (lambda: mx.io.DataDesc.get_batch_axis(3), "get_batch_axis"),
    (lambda: mx.io.ResizeIter(3, None), "ResizeIter"),
    (lambda: mx.mod.PythonModule(3, 4, 5), "PythonModule"),
    (
        lambda: mx.mod.Module(mx.sym.Variable("data"), label_names=None).update_metric("acc", []),
        "call bind first",
    ),
    (
        lambda: mx.mod.Module(mx.sym.Variable("data"), label_names=None).borrow_optimizer(None),
        "borrow_optimizer",
    ),
    (lambda: mx.monitor.Monitor("x"), "Monitor"),
    (lambda: mx.lr_scheduler.CosineScheduler(None, "x"), "CosineScheduler"),
    (lambda: mx.sym.Group(3), "Group"),
    (lambda: mx.nd.divide(1, 0), "divide"),
    (lambda: mx.nd.full((2,), 1, out=3), "out must be an NDArray"),
    (lambda: mx.base.py_str(3), "py_str"),
    (lambda: mx.test_utils.numeric_grad(None, {"x": 3}), "numeric_grad"),
    (lambda: mx.rtc.CudaKernel("x", 2, 3, 4), "CudaKernel"),
    (lambda: mx.optimizer.get_updater(mx.optimizer.SGD())({}, None, None), "Updater"),
    (lambda: mx.operator.Enum(3), "choices"),
    (lambda: mx.nd.to_dlpack_for_write(None), "takes an NDArray"),  # crashed
    (lambda: mx.nd.ones(2).shares_memory(None), "takes an NDArray"),  # crashed
    (lambda: mx.io.ResizeIter(mx.io.NDArrayIter(np.ones((4, 2)), None, 2), "3"), "whole number"),
    (lambda: mx.metric.np(3), "function"),
    (lambda: mx.init.Load({"a": 3}), "NDArray"),
    (lambda: mx.name.Prefix(3), "must be a str"),
    (lambda: mx.callback.do_checkpoint(3), "file names"),
    (lambda: mx.model.save_checkpoint(None, 1, None, {}, {}), "file names"),
    (lambda: mx.optimizer.SGD().set_learning_rate("x"), "must be a number"),
    (lambda: mx.optimizer.SGD().set_lr_mult({"a": "b"}), "must be a number"),
    (lambda: mx.monitor.Monitor(1, pattern="("), "Monitor"),
    (lambda: mx.nd.ones(2).astype("float32", copy=np.ones(2)), "True or False"),
    (lambda: mx.nd.random.exponential("x"), "must be positive"),
]


@pytest.mark.parametrize("call, named", LEAKS, ids=range(len(LEAKS)))
def test_public_calls(call, named):
    with pytest.raises(CynetError, match=named):
        call()


def test_set_learning_rate_beside_a_schedule():
    """MXNet's is a UserWarning; it is an MXNetError here, too."""
    schedule = mx.lr_scheduler.FactorScheduler(2)
    optimizer = mx.optimizer.SGD(lr_scheduler=schedule)
    for kind in (UserWarning, mx.MXNetError):
        with pytest.raises(kind, match=r"set_learning_rate\(0.5\)"):
            optimizer.set_learning_rate(0.5)


def test_an_error_of_a_callback_leaves_fit_as_it_is():
    data = mx.io.NDArrayIter(np.ones((4, 2), "f"), np.zeros(4), batch_size=2)
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2), name="softmax"
    )
    error = LookupError("mine")

    def callback(param):
        raise error

    logging.getLogger().setLevel(logging.WARNING)
    with pytest.raises(LookupError, match="^mine$") as caught:
        mx.mod.Module(net).fit(data, num_epoch=1, batch_end_callback=callback)
    assert caught.value is error


def test_a_width_that_was_not_bound():
    """What is wrong is the data: found, bound, what the parameter would have to be, what to do."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (16, 10))], for_training=False)
    module.init_params()
    with pytest.raises(
        mx.errors.ShapeError, match="bind a module of the new one with parameters of its own"
    ) as caught:
        module.forward(mx.io.DataBatch([mx.nd.ones((16, 9))]))
    for words in (
        "'data' has shape (16, 9), bound was (16, 10)",
        "'fc_weight' of shape (3, 10)",
        "would have to be (3, 9)",
        "Give data of the bound shape",
    ):
        assert words in str(caught.value)


def test_the_weight_of_another_kernel():
    with pytest.raises(mx.errors.ShapeError, match=r"\(4, 3, 3, 3\), expected \(4, 3, 5, 5\)$"):
        mx.nd.Convolution(
            mx.nd.ones((1, 3, 8, 8)),
            mx.nd.ones((4, 3, 3, 3)),
            mx.nd.ones(4),
            kernel=(5, 5),
            num_filter=4,
        )


def test_keywords_are_those_of_mxnet():
    assert mx.AttrScope(__a__="b").get(attr={"__a__": "d"}) == {"__a__": "d"}
    assert mx.nd.power(base=mx.nd.array([3]), exp=2).asnumpy().tolist() == [9]
    with pytest.raises(CynetError, match="attr_dict"):
        mx.sym.Variable("a").list_attr(recursive=True)
    both = mx.metric.CompositeEvalMetric(["acc"])
    both.update_dict(labels={"l": mx.nd.array([1])}, preds={"p": mx.nd.array([[0.1, 0.9]])})
    assert both.get()[1] == [1.0]
