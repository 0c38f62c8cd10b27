"""Every registered operator is a function of mx.nd and mx.sym with a signature and a docstring."""

import inspect

import pytest

import cynet as mx


@pytest.mark.parametrize("face", [mx.nd, mx.sym], ids=["nd", "sym"])
@pytest.mark.parametrize("name", sorted(mx.operator.OPERATORS))
def test_signature_and_docstring(face, name):
    function = getattr(face._internal if name.startswith("_") else face, name)
    parameters = inspect.signature(function).parameters
    fields = mx.operator.OPERATORS.get(name).prop.fields
    counter = mx.operator.OPERATORS.get(name).prop.key_var_num_args
    assert set(fields) - {counter} <= set(parameters)
    assert len(function.__doc__.split("\n\n")[0].strip()) > 10
