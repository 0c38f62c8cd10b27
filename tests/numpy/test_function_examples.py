"""Every function of mx.np and mx.npx has an example, which runs and prints what it says."""

import numpy as np

import cynet as mx
from cynet.operator.numpy.function_examples import split_examples
from tests.numpy import function_examples
from tests.numpy.test_gradients import every_name


def docstring(path):
    found = mx
    for word in path.split("."):
        found = getattr(found, word)
    return found.__doc__ or ""


def test_every_function_has_an_example():
    names = every_name()
    lacking = sorted(name for name in names if ">>> " not in docstring(name))
    assert not lacking and len(names) >= 475
    own = function_examples.calls()
    assert not {*own} - names and len(own) >= 440
    assert "mx.np.sin([-1.5, 0, 2.5])" in docstring("np.sin")


def numbers(text):
    """Words of a text, those that are numbers as numbers."""
    for sign in "[](),=":
        text = text.replace(sign, f" {sign} ")
    for word in text.split():
        try:
            yield float(word)
        except ValueError:
            yield word


def test_the_examples_print_what_they_say():
    """The last digits may differ between processors."""
    said, found = (
        split_examples(each)
        for each in (function_examples.PATH.read_text(), function_examples.text())
    )
    assert {*said} == {*found} == {*function_examples.calls()}
    for name, part in said.items():
        pairs = zip(numbers(part), numbers(found[name]), strict=True)
        for wanted, got in pairs:
            if isinstance(wanted, float):
                np.testing.assert_allclose(got, wanted, 2e-5, 1e-6, err_msg=name)
            else:
                assert got == wanted, name
