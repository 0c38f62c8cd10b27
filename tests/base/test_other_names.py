"""Names of PyTorch, Keras and NumPy: the errors say what they are called here, and that is true."""

import re

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
    assert "numpy" not in dir(x) and "shape" in dir(x) and "as_np_ndarray" not in dir(x)
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
