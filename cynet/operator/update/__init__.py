"""Update operators of the optimizers."""

from . import update
from . import adamw, group_adagrad, lamb, multi_update, whole_arrays
