"""Inputs and outputs of a Predictor: names, types and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..typing import NumpyArray, Shape

_TRIAL_LENGTHS = 1, 33  # two trial lengths of axes: they show which output axes vary


class Tensor(NamedTuple):  # an input or output of a Predictor
    """An input or output; -1 in its shape is a length that may vary."""

    name: str
    dtype: Any
    shape: tuple[int, ...]


class Signature(NamedTuple):  # inputs and outputs of a Predictor
    """All inputs and all outputs of a Predictor."""

    inputs: list[Tensor]
    outputs: list[Tensor]


def make_zeros(
    shapes: Mapping[str, Shape], dtypes: Mapping[str, Any], rows: int, length: int = 1
) -> list[NumpyArray]:
    """Return zeros for all inputs; axes of varying length get `length`."""
    return [
        np.zeros((rows, *(length if n == -1 else n for n in shape)), dtypes[name])
        for name, shape in shapes.items()
    ]


def find_signature(
    shapes: Mapping[str, Shape],
    dtypes: Mapping[str, Any],
    names: Sequence[str],
    run: Callable[[list[NumpyArray]], list[NumpyArray]],
) -> Signature:
    """Find the Signature for inputs of these shapes and types; `run` computes outputs of arrays."""
    varies = any(-1 in shape for shape in shapes.values())
    found, problem = [], None
    for length in _TRIAL_LENGTHS if varies else (1,):
        try:
            found.append(run(make_zeros(shapes, dtypes, 1, length)))
        except Exception as error:  # a network may refuse some lengths
            problem = error
    if not found:
        raise problem
    outputs = []
    if len(set(names)) < len(found[0]):
        names = [f"output{i}" for i in range(len(found[0]))]
    for name, arrays in zip(names, zip(*found)):
        lengths = [set(each) for each in zip(*(array.shape[1:] for array in arrays))]
        known = not varies or len(found) > 1
        shape = (next(iter(n)) if known and len(n) == 1 else -1 for n in lengths)
        outputs.append(Tensor(name, arrays[0].dtype, (-1, *shape)))
    inputs = [Tensor(name, dtypes[name], (-1, *shape)) for name, shape in shapes.items()]
    return Signature(inputs, outputs)
