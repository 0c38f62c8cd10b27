"""Families of operators that are imported when one of them is first asked for."""

import subprocess
import sys
import threading
from importlib import import_module

import pytest
from cynet.errors import ArgumentError, NotFoundError

import cynet as mx
from cynet.operator import OPERATORS
from cynet.operator.families import FAMILIES
from cynet.registry import Registry


@pytest.mark.parametrize("family", FAMILIES)
def test_the_table_has_the_names_of_the_family(family):
    """`FAMILIES` in operator/families.py lists what the modules of the folder register."""
    import_module(f"cynet.operator.{family}")
    inside = f"cynet.operator.{family}."
    found = sorted(n for n, e in OPERATORS.items() if f"{e.prop.__module__}.".startswith(inside))
    assert sorted(FAMILIES[family]) == found


def test_none_is_imported_before_it_is_asked_for():
    code = """
import sys
import cynet as mx
from cynet.operator.families import FAMILIES

def loaded():
    return [f for f in FAMILIES if f"cynet.operator.{f}" in sys.modules]

names = {name for names in FAMILIES.values() for name in names}
assert names <= set(mx.operator.OPERATORS) and "_contrib_box_nms" in mx.operator.OPERATORS
assert {"box_nms", "quantize", "fft"} <= set(dir(mx.nd.contrib)) & set(dir(mx.sym.contrib))
assert "ROIPooling" in dir(mx.nd) and hasattr(mx.operator, "register") and loaded() == []
assert mx.sym.contrib.box_nms(mx.sym.var("x")).list_arguments() == ["x"]
assert loaded() == ["detection"]
text = mx.sym.ROIPooling.__doc__
assert "rois" in text and loaded() == ["detection", "vision"]
assert mx.operator.get_all_registered_operators() and loaded() == ["detection", "vision"]
assert mx.operator.image.__name__ == "cynet.operator.image"
assert len(dict(mx.operator.OPERATORS.items())) == len([*mx.operator.OPERATORS])
assert loaded() == [*FAMILIES]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_user_cannot_take_the_name_of_one_not_yet_imported():
    code = """
import cynet as mx
class Mine(mx.operator.OperatorProperty):
    pass
try:
    mx.operator.register_operator("ROIPooling", Mine)
except mx.errors.ArgumentError as error:
    assert "already taken by <operator ROIPooling>" in str(error), error
else:
    raise SystemExit("it was taken")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


MODULE = """
import time
from {here} import REGISTRIES
time.sleep(0.05)
REGISTRIES[0].register("square", "a square", ("box",))
"""
REGISTRIES = []


def test_register_later(tmp_path, monkeypatch):
    (tmp_path / "cynet_test_shapes.py").write_text(MODULE.format(here=__name__))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cynet_test_shapes", raising=False)
    shapes = Registry("shape")
    REGISTRIES[:] = [shapes]
    shapes.register("circle", "a circle")
    shapes.register_later("cynet_test_shapes", ("square", "box"))
    assert sorted(shapes) == ["box", "circle", "square"] and "box" in shapes
    assert dict(shapes.loaded_items()) == {"circle": "a circle"}
    with pytest.raises(NotFoundError, match="did you mean 'square'"):
        shapes.get("squar")
    assert "cynet_test_shapes" not in sys.modules
    found = []
    threads = [threading.Thread(target=lambda: found.append(shapes.get("box"))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == ["a square"] * 4
    assert shapes.table == {"circle": "a circle", "square": "a square", "box": "a square"}
    with pytest.raises(ArgumentError, match="is already taken by 'a square'"):
        shapes.register("square", "another")


def test_calls_of_both_faces_import():
    data = mx.nd.array([[1.0, 2.0], [3.0, 4.0]])
    assert mx.nd.contrib.index_array(data).shape == (2, 2, 2)
    assert mx.sym.contrib.quadratic(mx.sym.var("x"), a=1.0).infer_shape(x=(2,))[1] == [(2,)]
