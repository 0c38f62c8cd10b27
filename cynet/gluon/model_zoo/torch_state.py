"""Conversion between parameters of zoo networks and torchvision's state dicts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ... import ndarray as nd
from ...base.errors import FormatError, UndefinedError, shown
from .torch_names import torch_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...ndarray import NDArray
    from ..block import HybridBlock

_IGNORED_SUFFIXES = (".num_batches_tracked",)  # ends of names without a counterpart
_RENAMED_KEYS = (  # (name in older torchvision files, present name)
    (re.compile(r"(denselayer\d+\.(?:norm|conv))\.([12])\."), r"\1\2."),
    (re.compile(r"\.mlp\.linear_1\."), ".mlp.0."),
    (re.compile(r"\.mlp\.linear_2\."), ".mlp.3."),
)


def from_torch(network: str, state: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Convert torchvision's state dict to arrays by the zoo's structural names.

    Parameters
    ----------
    network : str
        A name of the model zoo.
    state : dict of str to NDArray

    Returns
    -------
    dict of str to NDArray
        What ``net.load_parameters`` takes from a file.

    Raises
    ------
    FormatError
        Names that are missing, or that no parameter has.
    """
    names = torch_names(network)
    state = {_present_torchvision_name(name): value for name, value in state.items()}
    wanted = set(names.values())
    missing = sorted(wanted - state.keys())
    if missing:
        raise FormatError(
            f"{network}: the state dict lacks {shown(missing[0])} ({len(missing)} in all)"
        )
    extra = sorted(
        k
        for k in state.keys() - wanted
        if not k.endswith(_IGNORED_SUFFIXES) and not k.startswith("AuxLogits.")
    )
    if extra:
        raise FormatError(f"{network}: no layer takes {shown(extra[0])} ({len(extra)} in all)")
    found = {}
    for theirs, ours in _zoo_names_by_torch_name(names).items():
        found.update(zip(ours, _split_equally(network, theirs, state[theirs], len(ours))))
    return {ours: found[ours] for ours in names}


def _present_torchvision_name(name):
    for pattern, since in _RENAMED_KEYS:
        name = pattern.sub(since, name)
    return name


def _zoo_names_by_torch_name(names):
    """Return a dict of torchvision's name of a parameter to the list of its names in the zoo."""
    found: dict[str, list[str]] = {}
    for ours, theirs in names.items():
        found.setdefault(theirs, []).append(ours)
    return found


def _split_equally(network, name, value, count):
    """Split an array into `count` equal parts along its first axis."""
    if count == 1:
        return [value]
    if not value.ndim or value.shape[0] % count:
        raise FormatError(
            f"{network}: {name} of shape {value.shape} is not {count} arrays of one length"
        )
    size = value.shape[0] // count
    return [value[i * size : (i + 1) * size] for i in range(count)]


def convert_torch_arrays(
    network: str, net: HybridBlock, arrays: dict[str, NDArray], path: str
) -> dict[str, NDArray]:
    """Return a file's arrays by the zoo's names; convert them if the file has torchvision's."""
    try:
        theirs = set(torch_names(network).values())
    except UndefinedError:  # torchvision has no such network
        return arrays
    found = {_present_torchvision_name(name) for name in arrays}
    ours = net._collect_params_with_prefix().keys()
    if len(found & theirs) <= max(len(found & ours), len(found & net.collect_params().keys())):
        return arrays
    try:
        return from_torch(network, arrays)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def to_torch(network: str, params: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Convert parameters by the zoo's structural names to torchvision's state dict.

    ``num_batches_tracked`` is left out; PyTorch begins it at 0.

    Raises
    ------
    FormatError
        A parameter that is missing.
    """
    names = torch_names(network)
    missing = [name for name in names if name not in params]
    if missing:
        raise FormatError(f"{network}: there is no parameter {shown(missing[0])}")
    return {
        theirs: params[ours[0]] if len(ours) == 1 else nd.concat(*(params[k] for k in ours), dim=0)
        for theirs, ours in _zoo_names_by_torch_name(names).items()
    }
