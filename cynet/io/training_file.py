"""The file for resuming training: arrays, JSON values, and all random states."""

import io
import json
import random

import numpy as np

from .. import ndarray as nd
from .. import random as mx_random
from ..base.errors import ArgumentTypeError, FormatError, shown
from ..base.files import append_checksum, open_checked, write_atomically
from ..base.kinds import read_json
from ..base.numpy_state import numpy_state, set_numpy_state
from ..ndarray.serialization import load_arrays_from, params_chunks

_META_KEY = "meta"  # name of the array with all content but arrays, as JSON


def bytes_array(content):
    """Make a uint8 NDArray of bytes."""
    return nd.array(np.frombuffer(content, np.uint8), dtype="uint8")


def write_training(path, form, meta, arrays, caller):
    """Write a dict, named arrays and the present random states to a file, atomically.

    path: str
    form (str): What the file calls itself.
    meta (dict): What JSON can hold.
    arrays: dict of str to NDArray
    caller (str): The public function, for messages.
    """
    write_atomically(
        path, append_checksum(_file_chunks({"form": form, "sealed": True, **meta}, arrays, caller))
    )


def training_bytes(meta, arrays, caller):
    """Return a training file's content without form and checksum, as a part of another file."""
    return b"".join(_file_chunks(meta, arrays, caller))


def _file_chunks(meta, arrays, caller):
    version, internal, gauss = random.getstate()
    states = {
        "random": mx_random.get_state(),
        "numpy": numpy_state(),
        "python": [version, list(internal), gauss],
    }
    try:
        text = json.dumps({**states, **meta})
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"{caller}: this must be what JSON can hold: {error}") from None
    return params_chunks({_META_KEY: bytes_array(text.encode()), **arrays})


def read_training(path, form):
    """Read (meta, arrays) of a file of `write_training`; `restore_random_states` takes meta.

    Raises FormatError: that is no such file, or it is damaged.
    """
    with open_checked(path) as (file, size, whole):
        arrays = load_arrays_from(file, f"{path}", 0, size)
    if not isinstance(arrays, dict) or _META_KEY not in arrays:
        raise FormatError(f"{path}: expected a file of a training, with '{_META_KEY}'")
    try:
        meta = read_json(arrays.pop(_META_KEY).asnumpy().tobytes())
        found, *_ = (meta[name] for name in ("form", "random", "numpy", "python"))
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: '{_META_KEY}' is damaged: {error}") from None
    if meta.pop("sealed", False) and not whole:
        raise FormatError(f"{path}: truncated or damaged: its checksum is missing")
    if found != form:
        raise FormatError(f"{path}: its form is {shown(found)}, {form!r} is known")
    return meta, arrays


def read_training_part(array, path):
    """Read (meta, arrays) from an NDArray of bytes from `training_bytes`."""
    content = array.asnumpy().tobytes()
    arrays = load_arrays_from(io.BytesIO(content), path, 0, len(content))
    try:
        return read_json(arrays.pop(_META_KEY).asnumpy().tobytes()), arrays
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"{path}: the part of a rank is damaged: {error}") from None


def restore_random_states(meta):
    """Restore the states of cynet's, NumPy's and Python's random generators from a file."""
    mx_random.set_state(meta["random"])
    set_numpy_state(meta["numpy"])
    version, internal, gauss = meta["python"]
    random.setstate((version, tuple(internal), gauss))
