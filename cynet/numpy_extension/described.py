"""Adds examples to the docstrings of functions of mx.np and mx.npx."""

from .. import numpy
from ..operator.numpy.function_examples import add_examples
from . import arrays, operators, random

for _space, _module in (
    ("np", numpy),
    ("np.linalg", numpy.linalg),
    ("np.random", numpy.random),
    ("npx", numpy.elementwise),
    ("npx", arrays),
    ("npx", operators),
    ("npx.random", random),
):
    add_examples(_space, vars(_module))
