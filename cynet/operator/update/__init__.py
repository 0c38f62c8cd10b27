"""Update operators of the optimizers."""

from . import update
