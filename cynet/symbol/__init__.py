"""mx.sym: Symbol, and a function for every registered operator."""

from . import _internal, contrib, image, linalg, random, sparse
from .composed import histogram, where
from .creation import (
    arange,
    eye,
    full,
    hypot,
    linspace,
    maximum,
    minimum,
    ones,
    pow,
    power,
    split_v2,
    zeros,
)
from .reading import load, load_json
from .register import package_dir as __dir__
from .register import package_getattr as __getattr__
from .symbol import Symbol
from .variable import Group, Variable, var
from . import common_parameters  # imported last: it completes docstrings
