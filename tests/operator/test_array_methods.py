"""Every registered operator is a function of mx.nd and mx.sym with a signature and a docstring."""

import inspect
import itertools

import cynet as mx
from tests.walks import each


@each(itertools.product((mx.nd, mx.sym), sorted(mx.operator.OPERATORS)))
def test_signature_and_docstring(pair):
    face, name = pair
    function = getattr(face._internal if name.startswith("_") else face, name)
    parameters = inspect.signature(function).parameters
    fields = mx.operator.OPERATORS.get(name).prop.fields
    counter = mx.operator.OPERATORS.get(name).prop.key_var_num_args
    assert set(fields) - {counter} <= set(parameters)
    assert len(function.__doc__.split("\n\n")[0].strip()) > 10
