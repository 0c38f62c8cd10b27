"""Calls of everything public that is no operator, with wrong values and in the wrong order.

    python -m tests.fuzz.public --cases 100000 --seed 7

A case makes one of the things below (a module, an iterator, a metric, ...) and calls up to four of
its methods, or calls a function of a public module, each argument a good one or a wrong one. It is
right when every call gives a result or raises an error of cynet, of sensible length. A crash, a
hang, any other exception is a fault; ``--show N`` repeats a case in this process.
"""

import functools
import inspect
import operator
import os
import re
import sys
import tempfile

import numpy as np

from tests.fuzz import gluon_things
from tests.fuzz.worker import Fault, command_line

MODULES = [
    *gluon_things.MODULES,
    "nd",
    "random",
    "sym",
    "nd.sparse",
    "sym.sparse",
    "nd.random",
    "sym.random",
    "context",
    "random",
    "rtc",
    "metric",
    "optimizer",
    "lr_scheduler",
    "initializer",
    "io",
    "callback",
    "model",
    "module",
    "kvstore",
    "monitor",
    "visualization",
    "test_utils",
    "attribute",
    "name",
    "engine",
    "base",
    "executor_manager",
    "misc",
    "registry",
    "rnn",
    "runtime",
    "operator",
]
# What users do not call: ways of cynet's own between its modules.
INTERNAL = re.compile(
    r"sym\.Symbol|context\.(install_.*|load_.*|missing_.*)|attribute\.[a-z].*|.*\.joined_update"
    r"|NDArray.*\.view|test_utils\.download"
    r"|operator\.(register_operator|compile_pyx|extension|OpReq|ResourceRequest|get_operator)"
    + gluon_things.INTERNAL
)
KEYWORDS = ["data", "fc_weight", "softmax_label", "name", "shape", "ctx", "dtype", "num", "unknown"]
OPTIMIZERS = [
    "sgd",
    "nag",
    "adam",
    "adamw",
    "lamb",
    "lars",
    "lbsgd",
    "adagrad",
    "adadelta",
    "rmsprop",
    "ftrl",
    "ftml",
    "nadam",
    "adamax",
    "signum",
    "lion",
    "adafactor",
    "test",
]


class Files:
    """Paths of files of every kind, in a folder of their own."""

    def __init__(self, mx, folder):
        self.folder, self.written = folder, {}
        net = network(mx)
        values = {"arg:fc_weight": mx.nd.ones((3, 4)), "arg:fc_bias": mx.nd.ones(3)}
        self._write("net-symbol.json", net.tojson().encode())
        self._write("net-0001.params", mx.nd.save_tobuffer(values))
        self._write("table.csv", b"1,2,3,4\n" * 8)
        self._write("garbled", bytes(range(256)) * 3)
        self._write("garbled-symbol.json", b'{"nodes": [{"op": 3}], "heads": 7}')
        self._write("garbled-0001.params", bytes(range(255, -1, -1)))
        self._write("empty", b"")
        self._write("text.json", '{"a": "\u00e9"}'.encode("latin-1"))
        self.bad = [
            "missing",
            "garbled",
            "empty",
            "text.json",
            "table.csv",
            "net-0001.params",
            "",
            "a/b/c",
            "x" * 300,
        ]
        self.bad = [self.at(each) for each in self.bad] + [
            "/dev/null",
            "/proc/self/mem",
            "\0",
            "\udcff",
        ]

    def restore(self):
        """Write again what a case has overwritten."""
        for name, (data, seen) in self.written.items():
            try:
                unchanged = os.stat(self.at(name)).st_mtime_ns == seen
            except OSError:
                unchanged = False
            if not unchanged:
                self._write(name, data)

    def at(self, name):
        return os.path.join(self.folder, name)

    def _write(self, name, data):
        with open(self.at(name), "wb") as file:
            file.write(data)
        self.written[name] = data, os.stat(self.at(name)).st_mtime_ns


def network(mx):
    data = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(data, name="softmax")


def iterator(mx, rows=8):
    data = np.arange(rows * 4, dtype="float32").reshape(rows, 4)
    return mx.io.NDArrayIter(data, np.arange(rows) % 3, batch_size=2)


def module(mx, stage):
    """A module that went the first `stage` steps to training."""
    made = mx.mod.Module(network(mx))
    batches = iterator(mx)
    if stage > 0:
        made.bind(batches.provide_data, batches.provide_label)
    if stage > 1:
        made.init_params()
    if stage > 2:
        made.init_optimizer()
    if stage > 3:
        made.forward_backward(next(batches))
    return made


def bucketing(mx, stage):
    def bucket(key):
        return network(mx), ["data"], ["softmax_label"]

    made = mx.mod.BucketingModule(bucket, default_bucket_key=4)
    batches = iterator(mx)
    if stage > 0:
        made.bind(batches.provide_data, batches.provide_label)
    if stage > 1:
        made.init_params()
        made.init_optimizer()
    return made


def sequential(mx, stage):
    made = mx.mod.SequentialModule()
    if stage > 0:
        first = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="first")
        made.add(mx.mod.Module(first, label_names=None))
        made.add(mx.mod.Module(network(mx)), take_labels=True, auto_wiring=True)
    if stage > 1:
        batches = iterator(mx)
        made.bind(batches.provide_data, batches.provide_label)
        made.init_params()
        made.init_optimizer()
    return made


def subjects(mx, files):
    """name -> what makes the thing whose methods are called."""
    found = {
        "NDArray": lambda: mx.nd.array([[1, 2, 3], [4, 5, 6]]),
        "NDArray()": lambda: mx.nd.array([1], dtype="int64"),
        "CSRNDArray": lambda: mx.nd.array([[0, 1, 2], [0, 0, 3]]).tostype("csr"),
        "CSRNDArray malformed": lambda: mx.nd.sparse.csr_matrix(
            ([1, 2, 3], [5, 0, 0], [0, 2, 1]), shape=(2, 3)
        ),
        "RowSparseNDArray": lambda: mx.nd.array([[0, 0], [1, 2]]).tostype("row_sparse"),
        "RowSparseNDArray malformed": lambda: mx.nd.sparse.row_sparse_array(
            (np.ones((2, 3)), [7, -1]), shape=(4, 3)
        ),
        "NDArray(0, 3)": lambda: mx.nd.zeros((0, 3)),
        "Symbol": lambda: network(mx),
        "Group": lambda: mx.sym.Group([network(mx), mx.sym.Variable("a")]),
        "Executor": lambda: network(mx).simple_bind(mx.cpu(), data=(2, 4)),
        "FeedForward": lambda: mx.model.FeedForward(network(mx), num_epoch=1),
        "FeedForward trained": lambda: mx.model.FeedForward.create(
            network(mx), np.ones((8, 4)), np.ones(8), num_epoch=1, learning_rate=0.1
        ),
        "NDArrayIter": lambda: iterator(mx),
        "CSVIter": lambda: mx.io.CSVIter(files.at("table.csv"), (4,), batch_size=2),
        "ResizeIter": lambda: mx.io.ResizeIter(iterator(mx), 3),
        "PrefetchingIter": lambda: mx.io.PrefetchingIter(iterator(mx)),
        "DataIter": lambda: mx.io.DataIter(2),
        "DataBatch": lambda: mx.io.DataBatch([mx.nd.ones((2, 4))], [mx.nd.ones(2)]),
        "DataDesc": lambda: mx.io.DataDesc("data", (2, 4)),
        "KVStore": lambda: mx.kv.create("local"),
        "Monitor": lambda: mx.mon.Monitor(1),
        "Context": lambda: mx.cpu(),
        "AttrScope": lambda: mx.AttrScope(__a__="b"),
        "NameManager": lambda: mx.name.NameManager(),
        "Prefix": lambda: mx.name.Prefix("p"),
        "Updater": lambda: mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9)),
        "PythonLossModule": lambda: mx.mod.PythonLossModule(),
        "PythonModule": lambda: mx.mod.PythonModule(["data"], ["softmax_label"], ["o"]),
        "BaseModule": lambda: mx.mod.BaseModule(),
        "Speedometer": lambda: mx.callback.Speedometer(2, 1),
        "ProgressBar": lambda: mx.callback.ProgressBar(2),
        "LogValidation": lambda: mx.callback.LogValidationMetricsCallback(),
        "Composite": lambda: mx.metric.CompositeEvalMetric(["acc", "mse"]),
        "CustomMetric": lambda: mx.metric.np(lambda a, b: 1.0),
        "InitDesc": lambda: mx.init.InitDesc("fc_weight"),
    }
    for stage in range(5):
        found[f"Module {stage}"] = lambda stage=stage: module(mx, stage)
    for stage in range(3):
        found[f"BucketingModule {stage}"] = lambda stage=stage: bucketing(mx, stage)
        found[f"SequentialModule {stage}"] = lambda stage=stage: sequential(mx, stage)
    for name in ["acc", "f1", "mcc", "mae", "mse", "rmse", "ce", "pearsonr", "pcc", "loss"]:
        found[f"metric {name}"] = lambda name=name: mx.metric.create(name)
    found["metric topk"] = lambda: mx.metric.TopKAccuracy(2)
    found["metric perplexity"] = lambda: mx.metric.Perplexity(None)
    for name in OPTIMIZERS:
        found[f"optimizer {name}"] = lambda name=name: mx.optimizer.create(name)
    found["scheduler factor"] = lambda: mx.lr_scheduler.FactorScheduler(2)
    found["scheduler multi"] = lambda: mx.lr_scheduler.MultiFactorScheduler([2, 4])
    found["scheduler poly"] = lambda: mx.lr_scheduler.PolyScheduler(9)
    found["scheduler cosine"] = lambda: mx.lr_scheduler.CosineScheduler(9)
    for name in ("xavier", "normal", "uniform", "orthogonal", "bilinear", "lstmbias", "one"):
        found[f"init {name}"] = lambda name=name: mx.init.create(name)
    found["init mixed"] = lambda: mx.init.Mixed([".*"], [mx.init.One()])
    found["init load"] = lambda: mx.init.Load({"fc_weight": mx.nd.ones((3, 4))})
    return found | gluon_things.subjects(mx, files)


def examples(mx, files):
    """name of a parameter -> what makes a good value of it, where one is known."""
    one = lambda: mx.nd.ones((2, 3))  # noqa: E731
    return gluon_things.examples(mx, files) | {
        "shape": lambda: (2, 3),
        "data": one,
        "arr": one,
        "weight": one,
        "grad": one,
        "source_array": lambda: [[1.0, 2.0]],
        "ndarray": lambda: np.ones((2, 3)),
        "val": lambda: 2,
        "fname": lambda: files.at("out"),
        "prefix": lambda: files.at("net"),
        "epoch": lambda: 1,
        "file": lambda: files.at("out"),
        "path": lambda: files.at("table.csv"),
        "symbol": lambda: network(mx),
        "sym": lambda: network(mx),
        "name": lambda: "fc_weight",
        "desc": lambda: mx.init.InitDesc("fc_weight"),
        "index": lambda: 0,
        "state": lambda: None,
        "labels": lambda: [mx.nd.array([0, 1])],
        "label": lambda: mx.nd.array([0, 1]),
        "preds": lambda: [mx.nd.array([[0.3, 0.7], [0.6, 0.4]])],
        "pred": lambda: mx.nd.array([[0.3, 0.7], [0.6, 0.4]]),
        "eval_metric": lambda: "acc",
        "metric": lambda: "acc",
        "num_update": lambda: 3,
        "train_data": lambda: iterator(mx),
        "eval_data": lambda: iterator(mx),
        "data_iter": lambda: iterator(mx),
        "iters": lambda: iterator(mx),
        "data_batch": lambda: mx.io.DataBatch([mx.nd.ones((2, 4))], [mx.nd.zeros(2)]),
        "data_shapes": lambda: [("data", (2, 4))],
        "label_shapes": lambda: [("softmax_label", (2,))],
        "arg_params": lambda: {"fc_weight": mx.nd.ones((3, 4)), "fc_bias": mx.nd.ones(3)},
        "aux_params": dict,
        "ctx": mx.cpu,
        "context": mx.cpu,
        "batch_size": lambda: 2,
        "num_epoch": lambda: 1,
        "dtype": lambda: "float32",
        "optimizer": lambda: "sgd",
        "key": lambda: 3,
        "value": one,
        "out": one,
        "X": lambda: np.ones((8, 4), "float32"),
        "y": lambda: np.zeros(8),
        "kvstore": lambda: "local",
        "initializer": lambda: "xavier",
        "klass": lambda: "x",
        "N": lambda: 3,
        "num": lambda: 3,
        "start": lambda: 0,
        "stop": lambda: 5,
        "args": dict,
        "location": lambda: {
            "data": np.ones((2, 4)),
            "fc_weight": np.ones((3, 4)),
            "fc_bias": np.ones(3),
            "softmax_label": np.zeros(2),
        },
        "rhs": one,
        "lhs": one,
        "other": one,
        "a": one,
        "b": one,
        "axis": lambda: 0,
        "begin": lambda: 0,
        "end": lambda: 1,
        "step": lambda: 2,
        "interval": lambda: 1,
        "frequent": lambda: 1,
        "period": lambda: 1,
        "sym_gen": lambda: lambda key: network(mx),
        "data_csv": lambda: files.at("table.csv"),
        "data_shape": lambda: (4,),
    }


def wrong_values(mx, files):
    """Makers of values of which most fit nothing."""
    deep = []
    for _ in range(3000):
        deep = [deep]
    plain = [
        None,
        True,
        -1,
        0,
        1,
        7,
        2**31,
        2**63,
        10**30,
        -(10**30),
        10**400,
        0.5,
        -0.5,
        1e300,
        float("nan"),
        float("inf"),
        "",
        "x",
        "data",
        "x" * 300,
        "acc",
        "sgd",
        "1",
        "nan",
        "(2, 3)",
        "write",
        b"x",
        (),
        (1, 2, 3),
        (-1,),
        (2**40, 2**40),
        ("a",),
        (None, None),
        ((1, 2), 3),
        (0.5, 2),
        object(),
        int,
        np.float32,
        len,
        ...,
        slice(None),
        slice("a", "b"),
        1j,
        np.int64(3),
        np.float32(2.5),
        np.bool_(True),
        deep,
        range(3),
    ]
    made = [lambda v=v: v for v in plain]
    made += [
        list,
        dict,
        set,
        lambda: [None],
        lambda: ["data"],
        lambda: [1, 2],
        lambda: [[1], [2, 3]],
        lambda: {"data": 1},
        lambda: {1: 2},
        lambda: {"data": (2, 4)},
        lambda: {"fc_weight": None},
        lambda: {"fc_weight": mx.nd.ones(7)},
        lambda: [("data", (2, 4))],
        lambda: [("data",)],
        lambda: [("data", "x")],
        lambda: {"learning_rate": "x"},
        lambda: {"learning_rate": -1},
        lambda: np.ones((2, 3)),
        lambda: np.array(["a", "b"]),
        lambda: np.array([None, {}]),
        lambda: np.array(1),
        lambda: np.zeros((0, 3)),
        lambda: np.ones(2, "complex64"),
        lambda: np.array([2**64 - 1], "uint64"),
        lambda: np.array(["2020-01-01"], "datetime64[D]"),
        lambda: mx.nd.ones((2, 3)),
        lambda: mx.nd.ones((4, 1)),
        lambda: mx.nd.zeros((0,)),
        lambda: mx.nd.array([3], dtype="int32"),
        lambda: mx.nd.array([np.nan, -1, 1e20]),
        lambda: [mx.nd.ones((2, 3))],
        lambda: [mx.nd.ones((2, 3)), None],
        lambda: mx.sym.Variable("data"),
        lambda: network(mx),
        lambda: [mx.sym.Variable("a")],
        lambda: mx.sym.Group([network(mx), mx.sym.Variable("a")]),
        mx.cpu,
        lambda: mx.gpu(0),
        lambda: mx.gpu(7),
        lambda: [mx.cpu(0), mx.cpu(1)],
        lambda: iterator(mx),
        lambda: mx.optimizer.SGD(),
        lambda: mx.metric.Accuracy(),
        lambda: mx.init.Xavier(),
        lambda: mx.lr_scheduler.FactorScheduler(2),
        lambda: mx.io.DataBatch(None, None),
        lambda: mx.io.DataBatch([mx.nd.ones((3, 5))], [mx.nd.ones(9)]),
        lambda: mx.io.DataBatch([], []),
        lambda: module(mx, 0),
        lambda: iter([1]),
        lambda: lambda *args, **kwargs: None,
    ]
    made += [lambda p=p: p for p in files.bad]
    return made


class World:
    """What can be called, and with what."""

    def __init__(self, mx, folder):
        self.mx, self.files = mx, Files(mx, folder)
        self.subjects = subjects(mx, self.files)
        self.examples = examples(mx, self.files)
        self.wrong = wrong_values(mx, self.files)
        self.functions = self._functions()

    def _functions(self):
        """(name, function or class) of every public module."""
        from cynet.operator import OPERATORS

        found = {}
        for module_name in MODULES:
            space = operator.attrgetter(module_name)(self.mx)
            names = getattr(space, "__all__", None) or [n for n in vars(space) if n[0] != "_"]
            for name in sorted(names):
                each = getattr(space, name)
                owner = getattr(each, "__module__", None) or ""
                if name.startswith("_"):  # of old scripts, which give them what they gave
                    continue
                if not callable(each) or name in OPERATORS or not owner.startswith(space.__name__):
                    continue
                if inspect.isclass(each) and issubclass(each, BaseException):
                    continue
                if not is_of_cynet(each):
                    continue
                found.setdefault(id(each), (f"{module_name}.{name}", each))
        return [pair for pair in found.values() if not INTERNAL.fullmatch(pair[0])]

    def draw(self, rng):
        """A list of (text, function that makes the call) to be done in turn."""
        if rng.random() < 0.4:
            name, function = self.functions[rng.integers(len(self.functions))]
            return [self._call(rng, name, function)]
        name = list(self.subjects)[rng.integers(len(self.subjects))]
        subject = self.subjects[name]()
        methods = [n for n in dir(type(subject)) if n[0] != "_"] + SPECIAL
        calls = []
        for _ in range(rng.integers(1, 5)):
            method = methods[rng.integers(len(methods))]
            kind = inspect.getattr_static(type(subject), method, None)
            text = f"{name}.{method}"
            if isinstance(kind, property):
                calls.append(self._property(rng, text, subject, method, kind))
            elif INTERNAL.fullmatch(text):
                continue
            elif method == "__enter__" and kind is not None:
                calls.append((text, functools.partial(enter, subject)))
            elif callable(getattr(kind, "__func__", kind)) and is_of_cynet(kind):
                calls.append(self._call(rng, text, getattr(subject, method)))
        return calls

    def _property(self, rng, text, subject, method, kind):
        if kind.fset is None or rng.random() < 0.5:
            return text, lambda: getattr(subject, method)
        value = self._wrong(rng)
        return f"{text} = {short(value)}", lambda: setattr(subject, method, value)

    def _wrong(self, rng):
        return self.wrong[rng.integers(len(self.wrong))]()

    def _call(self, rng, text, function):
        parameters = list(inspect.signature(function).parameters.values())
        args, kwargs, wrong = [], {}, 1 + (rng.random() < 0.3)
        plan = {}
        for each in parameters:
            if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                continue
            known = self.examples.get(each.name)
            if known is not None and (each.default is each.empty or rng.random() < 0.3):
                plan[each.name] = known()
            elif each.default is each.empty:
                plan[each.name] = self._wrong(rng)
        if parameters and rng.random() < 0.9:
            for _ in range(wrong):
                each = parameters[rng.integers(len(parameters))]
                if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                    plan[each.name] = self._wrong(rng)
        for each in parameters:
            if each.kind is each.VAR_POSITIONAL:
                args += [self._wrong(rng) for _ in range(rng.integers(3))]
            elif each.kind is each.VAR_KEYWORD:
                for name in rng.choice(KEYWORDS, rng.integers(3), replace=False):
                    if name not in plan:
                        kwargs[str(name)] = self._wrong(rng)
            elif each.name not in plan:
                continue
            elif each.kind is each.POSITIONAL_ONLY:
                args.append(plan.pop(each.name))
            elif (
                not kwargs
                and each.kind is each.POSITIONAL_OR_KEYWORD
                and (each is parameters[0] or len(args) == parameters.index(each))
            ):
                args.append(plan[each.name])
            else:
                kwargs[each.name] = plan[each.name]
        shown = [short(a) for a in args]
        shown += [f"{k}={short(v)}" for k, v in kwargs.items()]
        return f"{text}({', '.join(shown)})", lambda: function(*args, **kwargs)


SIGNATURE = re.compile(r"forward\(\) (missing|got|takes)|len\(\) takes")  # len: a hook
CALLS = re.compile(r"\.(__call__|forward)\(")
SPECIAL = ["__getitem__", "__setitem__", "__call__", "__len__", "__iter__", "__eq__", "__add__"]
SPECIAL += ["__radd__", "__iadd__", "__bool__", "__enter__", "__repr__", "__pow__", "__contains__"]


def enter(subject):
    """A scope, left again: the next case begins outside."""
    with subject:
        pass


def is_of_cynet(function):
    """Whether it is cynet's own and says what it takes."""
    function = getattr(function, "__func__", function)
    owner = getattr(function, "__module__", None) or ""
    try:
        inspect.signature(function)
    except (TypeError, ValueError):
        return False
    return owner.startswith("cynet")


def short(value):
    from cynet.base.errors import shown

    text = shown(value)
    return f"{type(value).__name__} {text}"[:60] if text.startswith("<") else text[:60]


def perform(calls):
    """Do the calls in turn; what cynet refuses is right. The first that goes wrong is a Fault."""
    from cynet.base.errors import CynetError

    for text, call in calls:
        try:
            result = call()
            if hasattr(result, "asnumpy"):
                result.asnumpy()
        except CynetError as error:
            if len(str(error)) > 3000:
                raise Fault(f"{text}: {len(str(error))} characters of message") from error
        except (MemoryError, StopIteration, AssertionError):
            pass
        except TypeError as error:  # Python's own, of a forward that users write, too
            if not SIGNATURE.search(str(error)) or not CALLS.search(text):
                raise Fault(f"{text}: TypeError: {error}"[:500]) from error
        except Exception as error:
            raise Fault(f"{text}: {type(error).__name__}: {error}"[:500]) from error


def prepare(seed):
    """What a worker does first; gives the function that runs case number `n`."""
    import logging
    import warnings

    import cynet as mx

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    folder = tempfile.TemporaryDirectory(prefix="cynet-fuzz-")
    os.chdir(folder.name)
    world = World(mx, folder.name)

    def run(number):
        rng = np.random.default_rng([seed, number])
        mx.random.seed(1)
        mx.autograd.set_recording(False)
        mx.autograd.set_training(False)
        mx.util.set_np_shape(False)
        mx.profiler.set_state("stop")
        world.files.restore()
        perform(world.draw(rng))

    run.folder = folder
    return run


if __name__ == "__main__":
    sys.exit(command_line("tests.fuzz.public", __doc__, lambda seed, n: prepare(seed)(n)))
