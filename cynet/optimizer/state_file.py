"""The file format of optimizer states: a JSON header, then the arrays in .params format.

Layout: 8 bytes of mark, the header's length as 8 bytes (little-endian), the header, a .params
block, and a checksum of all that (base/files.py), which older files have not. The header has
``states``, pairs [key, tree], where a tree is null, a number (the array's position) or a list of
trees; ``optimizer``, null or its name, settings and update counts; and ``pair``, of states that
were written with parameters: ``params``, the digest of that file, and ``saved``, when it was, in
nanoseconds. Up to mark 2, states of SGD, NAG and LARS had the float32 copy of a narrow weight in
front.
"""

import io
import itertools
import json
import os
import struct

from .. import lr_scheduler
from .. import ndarray as nd
from ..base.errors import ArgumentTypeError, CynetError, FormatError, shown
from ..base.files import append_checksum, content_size, open_checked, open_for_reading
from ..base.kinds import checked_settings, count, number, read_json, settings_of
from ..base.overrides import is_internal
from ..ndarray.serialization import BytesFile, load_arrays_from, params_chunks
from .base import OPTIMIZERS

# First bytes of files: present; older, with the float32 copy first; older, without checksum.
_MAGIC_NUMBER, _MAGIC_COPY_FIRST, _MAGIC_NO_CHECKSUM = b"CYNSTAT3", b"CYNSTAT2", b"CYNSTAT1"
_MAX_NESTING_DEPTH = 8  # maximum levels of nested states
_COUNT_KIND, _NUMBER_KIND = count(), number()  # checks of values in a file
_TABLE_CHECKS = {  # table of an optimizer -> check of a value
    "idx2name": lambda value: isinstance(value, str),
    "lr_mult": _NUMBER_KIND.fits,
    "wd_mult": _NUMBER_KIND.fits,
}
_GROUP_TABLES = ("_group_rates", "_group_decays")  # settings of Trainers with groups


def pack_states(states, optimizer=None, pair=None):
    """Return a states file as byte chunks; states: dict of key to None, NDArray, nested tuples.

    states: dict
    optimizer (Optimizer, optional): Whose settings and counts are written, too.
    pair (dict, optional): ``params`` and ``saved`` of the header.
    """
    arrays = []

    def describe_state(state):
        if state is None:
            return None
        if isinstance(state, (tuple, list)):
            return [describe_state(each) for each in state]
        if not isinstance(state, nd.NDArray):
            raise ArgumentTypeError(
                "an optimizer state consists of NDArrays, tuples and None,"
                f" found {type(state).__name__}"
            )
        arrays.append(state)
        return len(arrays) - 1

    header = {
        "states": [[key, describe_state(state)] for key, state in states.items()],
        "optimizer": None if optimizer is None else _describe_optimizer(optimizer),
    }
    if pair is not None:
        header["pair"] = pair
    text = json.dumps(header).encode()
    head = _MAGIC_NUMBER + struct.pack("<Q", len(text)) + text
    yield from append_checksum(itertools.chain([head], params_chunks(arrays)))


def unpack_states(content, user=None):
    """Return (states, optimizer or None) from the bytes of :func:`pack_states`.

    content: bytes
    user (Optimizer, optional): Whose states they become where the bytes hold no optimizer.

    Raises FormatError when anything in the bytes does not fit together.
    """
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"optimizer states are bytes, got {type(content).__name__}")
    source = memoryview(content)
    if not source.c_contiguous:
        raise ArgumentTypeError("optimizer states are contiguous bytes")
    source = source.cast("B")
    size = content_size(io.BytesIO(source), source.nbytes, "optimizer states")
    header, end = _read_header(BytesFile(source), size, "optimizer states", size < source.nbytes)
    return _build_states(header, nd.load_frombuffer(source[end:size]), "optimizer states", user)


def read_state_file(path, user=None):
    """Return (states, optimizer or None) from a file, without a copy of its bytes."""
    with open_checked(path) as (file, size, whole):
        header, end = _read_header(file, size, path, whole)
        return _build_states(header, load_arrays_from(file, f"{path}", end, size), path, user)


def check_state_file(path):
    """Raise an error if a file is damaged."""
    with open_checked(path) as (file, size, whole):
        _read_header(file, size, path, whole)


def read_digest_and_time(path):
    """Return the ``pair`` of a file's header: (digest, time), or None if it has none."""
    with open_for_reading(path) as file:
        header, _ = _read_header(file, os.fstat(file.fileno()).st_size, path, True)
    pair = header.get("pair")
    if pair is None:
        return None
    if not (isinstance(pair, dict) and isinstance(pair.get("params"), str)):
        raise FormatError(f"{path}: {shown(pair)} names no parameters")
    if not _COUNT_KIND.fits(pair.get("saved")):
        raise FormatError(f"{path}: expected a time, got {shown(pair.get('saved'))}")
    return pair["params"], pair["saved"]


def _read_header(file, size, name, whole):
    """Read an open file's header; return it and its end. `whole`: the file has a checksum."""
    mark = bytes(file.read(16))
    if mark[:1] == b"\x80":
        raise FormatError(
            f"{name}: this is a pickle, as MXNet writes them; a pickle can"
            " run any code and is not loaded. python -m cynet.tools.convert --unpickle reads"
            " what states are in it, and writes a file of them"
        )
    if mark[:8] not in (_MAGIC_NUMBER, _MAGIC_COPY_FIRST, _MAGIC_NO_CHECKSUM):
        raise FormatError(
            f"{name}: optimizer states begin with {shown(_MAGIC_NUMBER)}, found {shown(mark[:8])}"
        )
    if len(mark) < 16 or (mark[:8] != _MAGIC_NO_CHECKSUM and not whole):
        raise FormatError(f"{name}: truncated or damaged: no checksum behind {size} bytes")
    (length,) = struct.unpack("<Q", mark[8:])
    if length > size - 16:
        raise FormatError(f"{name}: header of {length} bytes, {size - 16} left")
    text = bytes(file.read(length))
    try:
        header = read_json(text)
        if not isinstance(header, dict):
            raise ValueError("expected a dict")
        if not {"states", "optimizer"} <= header.keys():
            raise ValueError("'states' or 'optimizer' is missing")
    except ValueError as error:
        raise FormatError(f"{name}: the header is damaged: {error}") from None
    header["copies are first"] = mark[:8] != _MAGIC_NUMBER
    return header, 16 + length


def _build_states(header, arrays, name, user):
    if isinstance(arrays, dict):
        raise FormatError(f"{name}: arrays must have no names")
    try:
        states = {
            key: _rebuild_state_tree(tree, arrays, _MAX_NESTING_DEPTH)
            for key, tree in _pairs_to_dict("states", header["states"], lambda _: True).items()
        }
        optimizer = None if header["optimizer"] is None else restore_optimizer(header["optimizer"])
        if header["copies are first"]:
            states = _move_float32_copies_last(states, optimizer or user)
    except CynetError as error:
        raise FormatError(f"{name}: {error}") from None
    return states, optimizer


def _move_float32_copies_last(states, optimizer):
    """Convert an older file's states to the present order of state and float32 copy, which only the
    file's version tells apart."""
    if not (getattr(optimizer, "_copy_is_last", False) and optimizer.multi_precision):
        return states
    pairs = {key for key, state in states.items() if isinstance(state, tuple)}
    for method in ("create_state", "create_state_multi_precision"):
        if pairs and not is_internal(getattr(optimizer, method)):
            raise FormatError(
                "an older version wrote the states, and put the float32 copy of a weight first;"
                f" {type(optimizer).__name__}.{method} is not cynet's, so the order is not known"
            )
    return {key: state[::-1] if key in pairs else state for key, state in states.items()}


def _rebuild_state_tree(tree, arrays, depth):
    if tree is None:
        return None
    if isinstance(tree, list) and depth:
        return tuple(_rebuild_state_tree(each, arrays, depth - 1) for each in tree)
    if isinstance(tree, int) and not isinstance(tree, bool) and 0 <= tree < len(arrays):
        return arrays[tree]
    raise FormatError(f"{shown(tree)} does not name one of {len(arrays)} arrays")


def _describe_optimizer(optimizer):
    scheduler = optimizer.lr_scheduler
    return {
        "name": type(optimizer).__name__,
        "settings": settings_of(optimizer),
        "counts": [
            [device, list(counts.items())]
            for device, counts in optimizer._all_index_update_counts.items()
        ],
        **{name: list(getattr(optimizer, name).items()) for name in _TABLE_CHECKS},
        **_list_group_tables(optimizer),
        "lr_scheduler": None
        if scheduler is None
        else {"name": type(scheduler).__name__, "settings": settings_of(scheduler)},
    }


def _list_group_tables(optimizer):  # rates and decays of parameter groups
    found = {}
    for table in _GROUP_TABLES:
        pairs = [[k, v] for k, v in getattr(optimizer, table).items() if isinstance(k, str)]
        if pairs:
            found[table.lstrip("_")] = pairs
    return found


def _pairs_to_dict(what, pairs, fits):
    """Convert [[key, value], ...] to a dict; check that keys are ints or strs and values fit."""
    table = {}
    for pair in pairs if isinstance(pairs, list) else [pairs]:
        if not (isinstance(pair, list) and len(pair) == 2):
            raise FormatError(f"'{what}' must be a list of pairs, found {shown(pair)}")
        key, value = pair
        if isinstance(key, bool) or not isinstance(key, (int, str)) or key in table:
            raise FormatError(f"'{what}': expected keys, each once, got {shown(key)}")
        if not fits(value):
            raise FormatError(f"'{what}' has {shown(value)} for {shown(key)}")
        table[key] = value
    return table


def _required_setting(described, name):
    if not isinstance(described, dict) or name not in described:
        raise FormatError(f"{shown(described)} has no '{name}'")
    return described[name]


def restore_optimizer(described):
    """Create the optimizer of a header; raise an error for settings of a wrong type."""
    name = _required_setting(described, "name")
    if not isinstance(name, str) or name not in OPTIMIZERS:
        raise FormatError(f"no optimizer is named {shown(name)}")
    klass = OPTIMIZERS.get(name)
    settings = _required_setting(described, "settings")
    if isinstance(settings, dict) and settings.get("lr_scheduler", 0) is None:
        # older files have the scheduler among the settings
        settings = {k: v for k, v in settings.items() if k != "lr_scheduler"}
    optimizer = klass.__new__(klass)
    vars(optimizer).update(checked_settings(klass, settings))
    optimizer._all_index_update_counts = {
        device: _pairs_to_dict("counts", counts, _COUNT_KIND.fits)
        for device, counts in _pairs_to_dict(
            "counts", _required_setting(described, "counts"), lambda value: isinstance(value, list)
        ).items()
    }
    optimizer._set_current_context(0)
    for table, fits in _TABLE_CHECKS.items():
        setattr(optimizer, table, _pairs_to_dict(table, _required_setting(described, table), fits))
    for table in _GROUP_TABLES:
        pairs = described.get(table.lstrip("_"))
        if pairs is not None:
            setattr(optimizer, table, _pairs_to_dict(table.lstrip("_"), pairs, _NUMBER_KIND.fits))
    optimizer.param_dict = {}
    optimizer.sym_info = ()
    scheduler = _required_setting(described, "lr_scheduler")
    optimizer.lr_scheduler = None if scheduler is None else _read_scheduler(scheduler)
    return optimizer


def _read_scheduler(described):
    name = _required_setting(described, "name")
    klass = getattr(lr_scheduler, name, None) if isinstance(name, str) else None
    if not (isinstance(klass, type) and issubclass(klass, lr_scheduler.LRScheduler)):
        raise FormatError(f"no schedule is named {shown(name)}")
    scheduler = klass.__new__(klass)
    vars(scheduler).update(checked_settings(klass, _required_setting(described, "settings")))
    scheduler._check_restored()
    return scheduler
