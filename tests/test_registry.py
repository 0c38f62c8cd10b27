"""mx.registry's functions, and the schedules of mx.misc: as MXNet 1.9.1 answers."""

import json
from pathlib import Path

import pytest

import cynet as mx

WANTED = json.loads((Path(__file__).parent / "fixtures" / "compat.json").read_text())


def test_registry():
    class Shape:
        def __init__(self, size=1):
            self.size = size

    register = mx.registry.get_register_func(Shape, "shape")
    create = mx.registry.get_create_func(Shape, "shape")
    made = mx.registry.get_alias_func(Shape, "shape")("circle", "ring")(type("Round", (Shape,), {}))
    assert register(made) is made
    assert sorted(mx.registry.get_registry(Shape)) == WANTED["registry"]["names"]
    for asked, settings, size in WANTED["registry"]["made"]:
        assert create(asked, **settings).size == size
    own = made(7)
    assert create(own) is own and create(shape="ring", size=8).size == 8


@pytest.mark.parametrize(
    "ask, words",
    [
        (lambda f: f("rond"), "no shape is named 'rond'; did you mean 'round'"),
        (lambda f: f('["round"'), "expected JSON"),
        (lambda f: f("[3]"), "neither .name, settings. nor a dict"),
        (lambda f: f(), "give the name of a shape"),
    ],
)
def test_refused(ask, words):
    class Shape:
        pass

    mx.registry.get_register_func(Shape, "shape")(type("Round", (Shape,), {}))
    with pytest.raises(mx.MXNetError, match=words):
        ask(mx.registry.get_create_func(Shape, "shape"))
    with pytest.raises(mx.MXNetError, match="subclass of Shape"):
        mx.registry.get_register_func(Shape, "shape")(int)


def test_schedule_of_misc():
    schedule = mx.misc.FactorScheduler(10, 0.5)
    assert [schedule(i) for i in range(0, 50, 3)] == pytest.approx(WANTED["schedule"])
    with pytest.raises(mx.MXNetError, match="step"):
        mx.misc.FactorScheduler(0)
