"""cynet.operator.paragraphs: text that is written once stands in each docstring that needs it."""

import importlib
import inspect
import subprocess
import sys
from types import ModuleType

import pytest

from cynet.operator.paragraphs import (
    _ENTRIES,
    _iter_documented_objects,
    _parse_entries,
    share_parameters,
    with_paragraphs,
)
from tests.imports import ROOT

COMMON = sorted((ROOT / "cynet").rglob("common_parameters.py"))


def test_a_line_stands_for_its_paragraph():
    @with_paragraphs(out="out : NDArray\n    Where to write.\n\nReturns\n-------", one="None")
    def draw():
        """Draw.

        {out}
        {one}
        {other} and {one}
        """

    lines = draw.__doc__.splitlines()
    own = " " * (len(lines[-2]) - len(lines[-2].lstrip()))
    assert [line.removeprefix(own) for line in lines[2:-1]] == [
        *("out : NDArray", "    Where to write.", "", "Returns", "-------", "None"),
        "{other} and {one}",
    ]


def test_a_function_without_docstring_stays_so():
    assert with_paragraphs(out="x")(lambda: None).__doc__ is None


@pytest.fixture
def module(monkeypatch):
    """A module with a guarded function, a class and what needs no text."""
    made = ModuleType("shared_text_of_a_test")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    source = """
from cynet.base.guard import guarded

@guarded
def copy(data, *shape, out=None, **kwargs):
    '''Copy.

    Parameters
    ----------
    data : NDArray
        Own words.

        Two paragraphs.
    **kwargs
        More.

    Returns
    -------
    NDArray
        The copy.
    '''

class Copier:
    '''It copies.

    Examples
    --------
    >>> Copier(1)
    '''

    def __init__(self, out):
        pass

    @classmethod
    def of(cls, data):
        '''No sections.'''
"""
    exec(source, vars(made))
    return made


def test_parameters_that_a_docstring_leaves_out_come_in_their_order(module):
    text = "Parameters\n----------\nshape, other : int\n    Lengths.\nout : NDArray\n    Result."
    share_parameters(module.__name__, text + "\ndata : int\n    Not these words.")
    text = inspect.getdoc(module.copy)
    assert list(_parse_entries(_ENTRIES.search(text))) == [
        "data",
        "shape",
        "other",
        "out",
        "kwargs",
    ]
    assert "    Own words.\n\n    Two paragraphs.\nshape, other : int\n    Lengths.\nout :" in text
    assert text.endswith("**kwargs\n    More.\n\nReturns\n-------\nNDArray\n    The copy.")
    assert inspect.getdoc(module.copy.__wrapped__) == text  # what error messages quote
    begin = "It copies.\n\nParameters\n----------\nout : NDArray\n    Result.\n\nExamples\n"
    assert inspect.getdoc(module.Copier).startswith(begin)
    assert module.Copier.of.__doc__ == "No sections."


@pytest.mark.parametrize("path", COMMON, ids=lambda path: path.parent.name)
def test_what_is_common_is_shown_twice_at_least(path):
    package = ".".join(path.relative_to(ROOT).parent.parts)
    importlib.import_module(package)
    loaded = [each for name, each in sys.modules.items() if f"{name}.".startswith(f"{package}.")]
    shown = [
        inspect.getdoc(target) or ""
        for module in loaded
        if type(module) is ModuleType
        for target, _ in _iter_documented_objects(module)
    ]
    text = importlib.import_module(f"{package}.{path.stem}").__doc__
    for name, entry in _parse_entries(_ENTRIES.search(text)).items():
        assert sum(f"\n{entry}\n" in text for text in shown) > 1, name


def test_packages_load_without_docstrings():
    """``python -OO`` leaves them out; operators made of others' docstrings once failed there."""
    names = [".".join(path.relative_to(ROOT).parent.parts) for path in COMMON]
    code = f"import {', '.join(names)}\nassert cynet.gluon.nn.Dense.__doc__ is None"
    run = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
