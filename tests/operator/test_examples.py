"""Every operator's docstring has an example, which prints what it says."""

import doctest

import numpy as np
import pytest

import cynet as mx
from cynet.operator import OPERATORS
from cynet.operator.signature import example_of
from tests.operator.examples import FLAGS, Checker, by_module, own

# Made by helpers, which have examples (mx.nd.contrib.foreach, mx.operator.NDArrayOp and the like).
INSIDE = {"_foreach", "_cond", "_while_loop", "_Native", "_NDArray"}
EXAMPLES = by_module()


@pytest.mark.parametrize("module", EXAMPLES, ids=lambda name: name.removeprefix("cynet.operator."))
def test_an_example_prints_what_it_says(module):
    runner = doctest.DocTestRunner(Checker(), optionflags=FLAGS)
    parser, report = doctest.DocTestParser(), []
    for name, text in EXAMPLES[module].items():
        names = {"mx": mx, "np": np, "__name__": "__main__"}
        with mx.name.NameManager():
            runner.run(parser.get_doctest(text, names, name, module, 0), out=report.append)
    assert runner.failures == 0, "".join(report)
    assert runner.tries >= len(EXAMPLES[module])


def test_every_operator_has_an_example():
    assert {*own()} - INSIDE == {name for each in EXAMPLES.values() for name in each}


def test_an_example_is_of_one_operator():
    """A class inherits that of another operator unless it has its own."""
    texts = [text for each in EXAMPLES.values() for text in each.values()]
    assert len({*texts}) == len(texts)


def test_an_example_stands_in_the_docstrings_of_both_faces():
    for name in ("Convolution", "clip", "sgd_update"):
        shown = getattr(mx.nd, name).__doc__.partition("Examples\n--------\n")[2]
        assert shown == example_of(OPERATORS.get(name))
        assert f"mx.nd.{name}(" in shown
        assert getattr(mx.sym, name).__doc__.endswith("bound to them.\n\n" + shown)
    assert mx.nd.flip.__doc__.endswith(example_of(OPERATORS.get("reverse")))
