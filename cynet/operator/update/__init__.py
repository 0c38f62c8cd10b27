"""Update operators of the optimizers."""

from . import update
from . import adafactor, adamw, group_adagrad, lamb, multi_update, whole_arrays
