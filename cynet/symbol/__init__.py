"""mx.sym: Symbol, and a function for every registered operator."""

from . import _internal, contrib, image, linalg, random, sparse
from .composed import histogram
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
from .functions import __dir__, __getattr__
from .reading import load, load_json
from .symbol import Symbol
from .variable import Group, Variable, var
