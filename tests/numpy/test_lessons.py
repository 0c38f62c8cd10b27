"""Programs of courses, eager and hybridized, beside what MXNet 1.9.1 gives for them."""

import types
import warnings

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import nn

from . import courses, lessons, networks
from .lessons import leaves

PROGRAMS = {
    **dict.fromkeys(lessons.NAMES, (lessons.Lessons, lessons.VALUES)),
    **dict.fromkeys(courses.NAMES, (courses.Courses, courses.VALUES)),
    **dict.fromkeys(networks.NAMES, (networks.Networks, networks.VALUES)),
}


@pytest.fixture(autouse=True)
def semantics():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


@pytest.fixture(scope="module")
def expected():
    files = [np.load(each.VALUES) for each in (courses, lessons, networks)]
    return {key: value for found in files for key, value in found.items()}


def _hybridizing(kind):
    """A Block of that kind that is a graph from its initialization on."""

    class Block(kind):
        def initialize(self, *args, **kwargs):
            kind.initialize(self, *args, **kwargs)
            self.hybridize()

    Block.__name__ = Block.__qualname__ = kind.__name__
    return Block


def _hybrid_layers():
    kinds = {name: getattr(nn, name) for name in dir(nn) if not name.startswith("_")}
    made = {
        name: _hybridizing(kind)
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, nn.HybridBlock)
    }
    return types.SimpleNamespace(
        **kinds | made | {"Block": made["HybridBlock"], "Sequential": made["HybridSequential"]}
    )


@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybrid"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_lesson_gives_what_mxnet_gives(name, hybrid, expected):
    programs = PROGRAMS[name][0](mx, _hybrid_layers() if hybrid else None)
    with warnings.catch_warnings():
        if hybrid:  # some run operator by operator, and say so
            warnings.simplefilter("ignore", UserWarning)
        found = leaves(getattr(programs, name)())
    count = sum(key.startswith(f"{name}.") for key in expected)
    assert len(found) == count > 0
    for i, leaf in enumerate(found):
        wanted = expected[f"{name}.{i}"]
        assert leaf.shape == wanted.shape and leaf.dtype == wanted.dtype
        np.testing.assert_allclose(
            leaf.astype("float64"), wanted.astype("float64"), rtol=2e-4, atol=2e-5
        )
