"""Every operator's docstring has an example, which prints what it says."""

import doctest

import numpy as np
import pytest

import cynet as mx
from cynet.operator import OPERATORS
from cynet.operator.examples import example_of
from tests.operator.examples import FILES, FLAGS, Checker, sections

# Made by helpers, which have examples (mx.nd.contrib.foreach, mx.operator.NDArrayOp and the like).
INSIDE = {"_foreach", "_cond", "_while_loop", "_Native", "_NDArray"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(path):
    runner = doctest.DocTestRunner(Checker(), optionflags=FLAGS)
    parser, report = doctest.DocTestParser(), []
    for name, text in sections(path).items():
        names = {"mx": mx, "np": np, "__name__": "__main__"}
        with mx.name.NameManager():
            runner.run(parser.get_doctest(text, names, name, path.name, 0), out=report.append)
    assert runner.failures == 0, "".join(report)
    assert runner.tries >= len(sections(path))


def own():
    """Entries of the registry that cynet brings, each under its first name."""
    entries = {id(e): e for e in map(OPERATORS.get, OPERATORS) if not e.prop.users}
    return {e.name: e for e in entries.values() if e.prop.__module__.startswith("cynet.operator.")}


def test_every_operator_has_an_example():
    operators, examples = own(), {n for path in FILES for n in sections(path)}
    assert {*operators} - INSIDE == examples


def test_an_example_stands_in_the_docstrings_of_both_faces():
    for name in ("Convolution", "clip", "sgd_update"):
        shown = getattr(mx.nd, name).__doc__.partition("Examples\n--------\n")[2]
        assert shown == example_of(OPERATORS.get(name))
        assert f"mx.nd.{name}(" in shown
        assert getattr(mx.sym, name).__doc__.endswith("bound to them.\n\n" + shown)
    assert mx.nd.flip.__doc__.endswith(example_of(OPERATORS.get("reverse")))
