"""Names of PyTorch, Keras and NumPy: the errors say what they are called here, and that is true."""

import inspect
import re

import numpy as np
import pytest

import cynet as mx
from cynet import gluon
from cynet.base.other_names import OTHER_NAMES

SPACE = {"mx": mx, "gluon": gluon, "nn": gluon.nn, "autograd": mx.autograd}
x, y = mx.nd.ones((2, 2)), mx.nd.ones((2, 2))
net = gluon.nn.Dense(2, in_units=2)
net.initialize()
OBJECTS = {"x": x, "net": net, "trainer": gluon.Trainer(net.collect_params(), "sgd")}


def owner(path):
    found = mx
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("path", OTHER_NAMES)
def test_each_is_said(path):
    for name in OTHER_NAMES[path]:
        with pytest.raises(AttributeError, match=f"what other packages call {re.escape(name)}: "):
            getattr(owner(path), name)
        assert not hasattr(owner(path), name)


@pytest.mark.parametrize("path", OTHER_NAMES)
def test_what_they_say_is_there(path):
    """Every dotted name in a hint exists: of modules, and of arrays, Blocks and Trainers."""
    for name, there in OTHER_NAMES[path].items():
        for chain in re.findall(r"\b(?:mx|gluon|nn|autograd|x|net|trainer)(?:\.\w+)+", there):
            first, *parts = chain.split(".")
            found = SPACE.get(first, OBJECTS.get(first))
            for part in parts:
                assert hasattr(found, part), f"{path}.{name}: {chain} is not there"
                found = getattr(found, part)


def test_of_objects():
    class Net(gluon.HybridBlock):
        pass

    with pytest.raises(AttributeError, match=r"'Net' object has no attribute 'eval'; what other"):
        Net().eval()
    with pytest.raises(AttributeError, match=r"call numel: x.size"):
        x.numel  # noqa: B018
    assert "numpy" not in dir(x) and "shape" in dir(x) and "as_np_ndarray" in dir(x)
    assert "eval" not in dir(Net()) and "hybridize" in dir(Net())


def test_a_subclass_may_have_the_names():
    class Net(gluon.Block):
        def train(self):
            return "mine"

        @property
        def eval(self):
            raise ValueError("of the property")

    net = Net()
    net.fit = 5
    assert net.train() == "mine" and net.fit == 5 and "train" in dir(net) and "fit" in dir(net)
    with pytest.raises(ValueError, match="of the property"):
        net.eval  # noqa: B018


# --- what the hints say, run ----------------------------------------------------------------------
PROSE = {  # parts of hints that are no code
    "which is half of it",
    "where grad_req is 'add'",
    "every NDArray is contiguous",
    "x.copy() is a copy",
    "outside of autograd.record() a network predicts",
    "autograd.predict_mode() inside of it",
    "a metric of mx.metric over a loop",
    "for Symbols",
    "the text 'float32'",
    "warmup_steps=... of every schedule",
    "in fit mx.callback.EMA",
    "in fit mx.callback.SWA",
    "a loop",
    "bound to an NDArray",
    "mx.nd.broadcast_to of two reshaped arrays",
    "mx.sym.broadcast_to of two reshaped arrays",
}


class Anything:
    """Names that stand for a value of the reader's: a file, a function, a shape."""

    def __init__(self, path):
        matrix = mx.nd.array([[1.0, 2.0], [3.0, 4.0]])
        block = gluon.nn.Dense(2, in_units=2)
        block.initialize()
        another = gluon.nn.Dense(1, in_units=2)
        another.initialize()
        dataset = gluon.data.ArrayDataset(matrix, matrix)
        module = mx.mod.Module(
            mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), label_names=None
        )
        module.bind([("data", (2, 2))], for_training=False)
        module.init_params()
        trainer = gluon.Trainer(block.collect_params(), "adam")
        labelled = mx.mod.Module(
            mx.sym.SoftmaxOutput(
                mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax"
            )
        )
        labelled.bind([("data", (2, 2))], [("softmax_label", (2,))])
        labelled.init_params()
        block(matrix)
        block.save_parameters(str(path / "file"))
        trainer.save_states(str(path / "states"))
        module.save_params(str(path / "params"))
        self.names = {
            "mx": mx,
            "gluon": gluon,
            "nn": gluon.nn,
            "autograd": mx.autograd,
            "numpy": np,
            "x": matrix.copy(),
            "y": matrix.copy(),
            "net": block,
            "trainer": trainer,
            "module": module,
            "dataset": dataset,
            "file": str(path / "file"),
            "low": 0,
            "high": 1,
            "index": mx.nd.zeros(2),
            "axis": 1,
            "axes": (1, 0),
            "context": mx.cpu(),
            "dtype": "float32",
            "value": matrix * 2,
            "mask": matrix > 2,
            "rate": 0.1,
            "shape": (2, 2),
            "n": 3,
            "num_outputs": 2,
            "block": another,
            "hook": print,
            "function": print,
            "loss": gluon.loss.L2Loss(),
            "sampler": gluon.data.SequentialSampler(2),
            "count": 1,
            "shapes": {"data": (2, 2)},
            "random_split": gluon.data.random_split,
        }
        self.labelled = mx.io.NDArrayIter(matrix, mx.nd.zeros(2), 2)
        self.of_labels = labelled
        self.path = path

    def run(self, code, owner):
        names = dict(self.names, x=self.names["x"].copy())
        if "batch_dot(" in code:
            names |= dict.fromkeys(("x", "y"), mx.nd.ones((2, 2, 2)))
        if owner == "mx.symbol":
            names |= {each: mx.sym.var(each) for each in ("x", "y")}
        if owner == "mx.gluon.Trainer":
            names["file"] = str(self.path / "states")
        if owner == "mx.module.BaseModule":
            names["file"] = str(self.path / "params")
        if code.startswith(("fit(", "score(", "predict(", "load_params(", "save_params(")):
            code = f"module.{code}"
        if code.startswith(("module.score(", "module.predict(")):
            names |= {"module": self.of_labels, "eval_data": self.labelled, "eval_metric": "acc"}
        if code.startswith("module.fit("):
            assert {"optimizer", "eval_metric"} <= set(
                inspect.signature(mx.mod.Module.fit).parameters
            )
            return
        exec(code.replace("mx.gpu()", "mx.cpu()"), names)  # there may be none


def parts_of(hint):
    """The alternatives of a hint: between ";", ",", "or" and "and" outside of brackets."""
    depth, part, found = 0, "", []
    words = re.split(r"(; in fit |; |, or |, |: | or | and )", hint)
    for word in words:
        if depth == 0 and re.fullmatch(r"; in fit |; |, or |, |: | or | and ", word):
            found.append(part)
            part = "in fit " if "in fit" in word else ""
            continue
        part += word
        depth += sum(word.count(c) for c in "([{") - sum(word.count(c) for c in ")]}")
    return [each.strip() for each in (*found, part) if each.strip()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", OTHER_NAMES)
def test_what_they_say_runs(path, tmp_path):
    """Every part of a hint that is code is run, with an array for x, a network for net, ..."""
    for name, hint in OTHER_NAMES[path].items():
        anything = Anything(tmp_path)  # a hint may change them
        for part in parts_of(hint):
            if part in PROSE:
                continue
            code = re.sub(r"^in fit | of every schedule$| for Symbols$", "", part)
            try:
                anything.run(code, path)
            except Exception as error:
                raise AssertionError(f"{path}.{name}: {code}: {error}") from error
