"""A bound network for one handle of the predict API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ndarray as nd
from ...base.errors import ArgumentError, NotFoundError, ShapeError, listed, shown
from ...context import Context
from ...executor.bind import simple_bind
from ...module.labels import label_inputs
from ...symbol import Group, load_json
from ..networks import split_params

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ...executor import Executor

_DEVICES = {1: "cpu", 2: "gpu"}  # device codes of the C API


class Network:  # executor behind a C handle
    """An executor, and its outputs by their indices.

    Parameters
    ----------
    executor : Executor
    inputs : list of str
        Names that the caller gave shapes of.
    labels : collection of str
        Names of inputs that only losses read.
    """

    def __init__(self, executor: Executor, inputs: Sequence[str], labels: Collection[str]) -> None:
        self._executor, self._inputs, self._labels = executor, list(inputs), labels

    @classmethod
    def create(
        cls,
        text: str,
        params: bytes,
        device: tuple[int, int],
        shapes: Mapping[str, tuple[int, ...]],
        outputs: Sequence[str],
    ) -> Network:
        """Bind a network.

        Parameters
        ----------
        text : str
            Its JSON.
        params : bytes
            A ``.params`` file's content; empty for none.
        device : (int, int)
            1 for the CPU or 2 for GPUs, and a number.
        shapes : dict of str to tuple
            Of the inputs.
        outputs : list of str
            Layers in the middle to give out instead of the network's outputs.
        """
        kind, number = device
        if kind not in _DEVICES:
            raise ArgumentError(f"MXPredCreate: dev_type must be 1 (CPU) or 2 (GPU), got {kind}")
        symbol = load_json(text)
        if outputs:
            symbol = _select_outputs(symbol, outputs)
        found: Any = nd.load_frombuffer(params) if params else {}
        if not isinstance(found, dict):
            raise ArgumentError("MXPredCreate: the arrays of the parameters have no names")
        args, auxs = split_params(found)
        names, labels = symbol.list_arguments(), label_inputs(symbol)
        for name in shapes:
            if name not in names:
                raise NotFoundError(f"MXPredCreate: no input is called {shown(name)}{_hint(names)}")
        for name in names:
            if name not in args and name not in shapes and name not in labels:
                raise NotFoundError(
                    f"MXPredCreate: {shown(name)} is neither a parameter of the file nor an input"
                )
        context = Context(_DEVICES[kind], number)
        executor = simple_bind(symbol, context, dict(shapes), "null")
        executor.copy_params_from(args, auxs, allow_extra_params=True)
        return cls(executor, list(shapes), labels)

    def reshape(self, shapes: Mapping[str, tuple[int, ...]]) -> Network:
        """Create the network for inputs of other shapes, with the same parameters."""
        for name in shapes:
            self._require_input("MXPredReshape", name)
        executor = self._executor.reshape_free(dict(shapes), {*self._inputs, *self._labels})
        return Network(executor, self._inputs, self._labels)

    def set_input(self, name: str, values: memoryview) -> None:
        """Write float32 numbers into an input."""
        self._require_input("MXPredSetInput", name)
        array = self._executor.arg_dict[name]
        numbers = np.frombuffer(values, np.float32)
        if numbers.size != array.size:
            raise ShapeError(
                f"MXPredSetInput: {shown(name)} has shape {array.shape}, which is {array.size}"
                f" numbers, got {numbers.size}"
            )
        array[:] = nd.array(numbers.reshape(array.shape), dtype=array.dtype)
        array.wait_to_read()  # wait: the caller may change the memory afterwards

    def forward(self) -> None:
        """Compute the outputs."""
        for each in self._executor.forward(is_train=False):
            each.wait_to_read()

    def shape(self, index: int) -> tuple[int, ...]:
        """Return the shape of an output, which is known before `forward`."""
        return self._require_output("MXPredGetOutputShape", index).shape

    def get_output(self, index: int, target: memoryview) -> None:
        """Write an output as float32 into memory of the caller."""
        output = self._require_output("MXPredGetOutput", index)
        numbers = np.frombuffer(target, np.float32)
        if numbers.size != output.size:
            raise ShapeError(
                f"MXPredGetOutput: output {index} has shape {output.shape}, which is {output.size}"
                f" numbers, got room for {numbers.size}"
            )
        numbers[:] = output.asnumpy().reshape(-1)

    def _require_output(self, where, index):
        outputs = self._executor.outputs
        if index >= len(outputs):
            raise ArgumentError(f"{where}: there is no output {index}, there are {len(outputs)}")
        return outputs[index]

    def _require_input(self, where, name):
        if name not in self._inputs:
            raise NotFoundError(f"{where}: no input is called {shown(name)}{_hint(self._inputs)}")


def _select_outputs(symbol, outputs):
    inner = symbol.get_internals()
    names = inner.list_outputs()
    for name in outputs:
        if name not in names and f"{name}_output" not in names:
            raise NotFoundError(f"MXPredCreatePartialOut: there is no layer {shown(name)}")
    return Group([inner[name if name in names else f"{name}_output"] for name in outputs])


def _hint(names):  # end of an error message
    return f"; there are {listed(names)}"
