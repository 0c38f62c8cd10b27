"""The form of optimizer states as bytes: a JSON header and the arrays in the .params format.

Layout: 8 bytes of mark, the header's length as 8 bytes (little-endian), the header, a .params
block. The header has ``states``, pairs [key, tree], where a tree is null, a number (the array's
position) or a list of trees, and ``optimizer``, null or its name, settings and update counts.
"""

import json
import struct

from .. import lr_scheduler
from .. import ndarray as nd
from ..errors import ArgumentTypeError, FormatError
from .base import OPTIMIZERS

_MARK = b"CYNSTAT1"
_DEEPEST = 8
_PLAIN = (bool, int, float, str, type(None))


def pack(states, optimizer=None):
    """Bytes of the states (dict of key to None, NDArray or nested tuples) and the optimizer."""
    arrays = []

    def tree(state):
        if state is None:
            return None
        if isinstance(state, (tuple, list)):
            return [tree(each) for each in state]
        if not isinstance(state, nd.NDArray):
            raise ArgumentTypeError(
                "an optimizer state consists of NDArrays, tuples and None,"
                f" found {type(state).__name__}"
            )
        arrays.append(state)
        return len(arrays) - 1

    header = {
        "states": [[key, tree(state)] for key, state in states.items()],
        "optimizer": None if optimizer is None else _describe(optimizer),
    }
    text = json.dumps(header).encode()
    return _MARK + struct.pack("<Q", len(text)) + text + nd.save_tobuffer(arrays)


def unpack(content):
    """(states, optimizer or None) from the bytes of :func:`pack`.

    Raises
    ------
    FormatError
        When anything in the bytes does not fit together.
    """
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"optimizer states are bytes, got {type(content).__name__}")
    content = bytes(content)
    if content[:1] == b"\x80":
        raise FormatError(
            "optimizer states: this is a pickle, as MXNet writes them; a pickle can"
            " run any code and is not loaded. Train on from the parameters alone"
        )
    if content[:8] != _MARK:
        raise FormatError(f"optimizer states begin with {_MARK!r}, found {content[:8]!r}")
    if len(content) < 16:
        raise FormatError(f"optimizer states are truncated: {len(content)} bytes")
    (length,) = struct.unpack("<Q", content[8:16])
    if length > len(content) - 16:
        raise FormatError(f"optimizer states: header of {length} bytes, {len(content) - 16} left")
    try:
        header = json.loads(content[16 : 16 + length])
        entries, optimizer = header["states"], header["optimizer"]
        pairs = [(key, state) for key, state in entries]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(f"optimizer states: the header is damaged: {error!r}") from None
    arrays = nd.load_frombuffer(content[16 + length :])
    if isinstance(arrays, dict):
        raise FormatError("optimizer states: arrays must have no names")
    states = {}
    for key, state in pairs:
        if not isinstance(key, (int, str)) or key in states:
            raise FormatError(f"optimizer states: {key!r} is no key, or comes twice")
        states[key] = _untree(state, arrays, _DEEPEST)
    return states, None if optimizer is None else _restore(optimizer)


def _untree(tree, arrays, depth):
    if tree is None:
        return None
    if isinstance(tree, list) and depth:
        return tuple(_untree(each, arrays, depth - 1) for each in tree)
    if isinstance(tree, int) and not isinstance(tree, bool) and 0 <= tree < len(arrays):
        return arrays[tree]
    raise FormatError(f"optimizer states: {tree!r} does not name one of {len(arrays)} arrays")


def _settings(instance):
    """The instance's plain attributes, by name."""
    return {
        name: value
        for name, value in vars(instance).items()
        if isinstance(value, _PLAIN)
        or (isinstance(value, list) and all(isinstance(each, _PLAIN) for each in value))
    }


def _describe(optimizer):
    scheduler = optimizer.lr_scheduler
    return {
        "name": type(optimizer).__name__,
        "settings": _settings(optimizer),
        "counts": [
            [device, list(counts.items())]
            for device, counts in optimizer._all_index_update_counts.items()
        ],
        "idx2name": list(optimizer.idx2name.items()),
        "lr_mult": list(optimizer.lr_mult.items()),
        "wd_mult": list(optimizer.wd_mult.items()),
        "lr_scheduler": None
        if scheduler is None
        else {"name": type(scheduler).__name__, "settings": _settings(scheduler)},
    }


def _restore(described):
    try:
        klass = OPTIMIZERS.get(described["name"])
        optimizer = klass.__new__(klass)
        vars(optimizer).update(_checked(described["settings"]))
        optimizer._all_index_update_counts = {
            device: {key: int(count) for key, count in counts}
            for device, counts in described["counts"]
        }
        optimizer._set_current_context(0)
        for name in ("idx2name", "lr_mult", "wd_mult"):
            setattr(optimizer, name, dict(described[name]))
        optimizer.param_dict = {}
        optimizer.sym_info = ()
        optimizer.lr_scheduler = None
        if described["lr_scheduler"] is not None:
            optimizer.lr_scheduler = _scheduler(described["lr_scheduler"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"optimizer states: the optimizer's part is damaged: {error}") from None
    return optimizer


def _scheduler(described):
    klass = getattr(lr_scheduler, described["name"])
    if not (isinstance(klass, type) and issubclass(klass, lr_scheduler.LRScheduler)):
        raise ValueError(f"{described['name']} is no schedule")
    scheduler = klass.__new__(klass)
    vars(scheduler).update(_checked(described["settings"]))
    return scheduler


def _checked(settings):
    for name in settings:
        if not name.isidentifier() or name.startswith("__"):
            raise ValueError(f"{name!r} is no setting")
    return settings
