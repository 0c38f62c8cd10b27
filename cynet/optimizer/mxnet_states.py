"""Reads MXNet's optimizer states, which are pickles, without running their code.

Of a pickle's classes nothing is imported: arrays, optimizers and schedules become records of what
is said of them, and any other name is refused. Lengths that a file claims take no memory that the
file has not.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import TYPE_CHECKING, Any

from .. import lr_scheduler
from .. import ndarray as nd
from ..base.errors import ArgumentError, CynetError, FormatError, describe_error, shown
from ..base.files import read_file, write_atomically
from ..base.kinds import settings_of
from .base import OPTIMIZERS
from .state_file import pack_states, restore_optimizer

if TYPE_CHECKING:
    from collections.abc import Sequence

_ARRAY_CLASS_NAMES = ("NDArray", "ndarray", "RowSparseNDArray", "CSRNDArray")  # MXNet's
_PARAMS_HEADER = struct.pack("<QQQ", 0x112, 0, 1)  # header of a .params file with one array
_MAX_DEPTH = 8  # levels of nested states
_EXTRA_STATES = {"LBSGD": "lbmult", "DCASGD": "weight_previous"}  # attributes with values


class _PickledObject:  # recorded, not constructed
    """An object of a pickle, recorded but not constructed."""

    def __init__(self, *args):
        self.args = args


class _PickledArray(_PickledObject):
    """A pickled array; its ``handle`` has the array in .params format."""


class _RestrictedUnpickler(pickle._Unpickler):
    """A restricted unpickler, by Python's implementation: the C one allocates any size that a file
    claims."""

    # BYTEARRAY8 allocates any claimed size; MXNet's older pickle protocol does not have it
    dispatch = {k: v for k, v in pickle._Unpickler.dispatch.items() if k != pickle.BYTEARRAY8[0]}

    def find_class(self, module, name):
        if (module, name) in (("builtins", "bytearray"), ("__builtin__", "bytearray")):
            return _bytearray_content
        if module.startswith("mxnet.") and name in _ARRAY_CLASS_NAMES:
            return type(name, (_PickledArray,), {})
        if module.startswith("mxnet.optimizer") and name in OPTIMIZERS:
            return type(name, (_PickledObject,), {"kind": "optimizer"})
        if module == "mxnet.lr_scheduler" and hasattr(lr_scheduler, name):
            return type(name, (_PickledObject,), {"kind": "schedule"})
        raise FormatError(f"the pickle asks for {shown(f'{module}.{name}')}, which no state needs")


def _bytearray_content(value=b"", encoding=None):
    """Replaces ``bytearray`` in pickles: accepts bytes, not a length."""
    if isinstance(value, str) and encoding in ("latin-1", "latin1"):
        value = value.encode("latin-1")
    if not isinstance(value, bytes):
        raise FormatError(f"expected the bytes of an array, got {shown(value)}")
    return value


def read_states(content: bytes, names: Sequence[str] | None = None) -> tuple[dict[Any, Any], Any]:
    """Read states, and the optimizer if it is included, from the bytes of MXNet's ``.states`` file.

    Parameters
    ----------
    content : bytes
        The file.
    names : list of str, optional
        Names of the parameters in the order of MXNet's numbers, which keys become.

    Returns
    -------
    (dict, Optimizer or None)
        States by number, or by name.

    Raises
    ------
    FormatError
        No such pickle, or one that asks for anything but arrays, optimizers and schedules.
    ArgumentError
        There are not as many names as states.
    """
    try:
        found = _RestrictedUnpickler(io.BytesIO(content)).load()
        states, optimizer = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
        left = [len(content)]
        states = {
            _state_key(key): _read_state(state, _MAX_DEPTH, left) for key, state in states.items()
        }
        if names is not None and (len(set(names)) < len(names) or len(names) != len(states)):
            raise ArgumentError(f"there are states of {len(states)} parameters, got {shown(names)}")
        known = dict(enumerate(names)) if names is not None else {key: key for key in states}
        states = {known[key]: state for key, state in states.items()}
        return states, None if optimizer is None else _optimizer_from_record(optimizer, known)
    except CynetError:
        raise
    except Exception as error:  # a malformed pickle may raise anything
        raise FormatError(f"a damaged pickle: {describe_error(error)}") from None


def convert(source: str, target: str, names: Sequence[str] | None = None) -> int:
    """Convert MXNet's ``.states`` file to cynet's; return the number of parameters with states.

    Parameters
    ----------
    source, target : str
        Files.
    names : list of str, optional
        Names of parameters, see `read_states`.
    """
    try:
        states, optimizer = read_states(read_file(source), names)
    except FormatError as error:
        raise FormatError(f"{source}: {error}") from None
    write_atomically(target, pack_states(states, optimizer))
    return len(states)


def _state_key(key):  # checked key of a state
    if isinstance(key, bool) or not isinstance(key, (int, str)):
        raise FormatError(f"states are of parameters by number or name, got {shown(key)}")
    return key


def _read_state(state, depth, left):
    """Check and convert a state: None, an array or nested tuples, of at most `left` nodes."""
    left[0] -= 1
    if left[0] < 0 or not depth:
        raise FormatError("states are nested too deep, or repeated")
    if state is None:
        return None
    if isinstance(state, (tuple, list)):
        return tuple(_read_state(each, depth - 1, left) for each in state)
    if not isinstance(state, _PickledArray):
        raise FormatError(f"a state has arrays, tuples and None, got {shown(state)}")
    handle = vars(state).get("handle")
    if not isinstance(handle, bytes):
        raise FormatError("an array without its bytes")
    left[0] -= len(handle)
    (array,) = nd.load_frombuffer(_PARAMS_HEADER + handle + bytes(8))
    return array


def _optimizer_from_record(record, known):
    name = type(record).__name__
    if getattr(record, "kind", None) != "optimizer":
        raise FormatError(f"expected an optimizer beside the states, got {shown(record)}")
    attributes, klass = vars(record), OPTIMIZERS.get(name)
    if attributes.get(_EXTRA_STATES.get(name)):
        raise FormatError(
            f"{name} of MXNet keeps {_EXTRA_STATES[name]} beside its states; train on"
            " from the parameters alone"
        )
    settings = {key: attributes.get(key, value) for key, value in settings_of(klass()).items()}
    counts = attributes["_all_index_update_counts"]
    schedule = attributes.get("lr_scheduler")
    if schedule is not None:
        if getattr(schedule, "kind", None) != "schedule":
            raise FormatError(f"expected a schedule, got {shown(schedule)}")
        schedule_settings = {key: value for key, value in vars(schedule).items() if key != "args"}
        schedule = {"name": type(schedule).__name__, "settings": schedule_settings}
    return restore_optimizer(
        {
            "name": name,
            "settings": settings,
            "counts": [
                [device, [[known[key], count] for key, count in of_it.items()]]
                for device, of_it in counts.items()
            ],
            "idx2name": list(map(list, attributes["idx2name"].items())),
            "lr_mult": list(map(list, attributes["lr_mult"].items())),
            "wd_mult": list(map(list, attributes["wd_mult"].items())),
            "lr_scheduler": schedule,
        }
    )
