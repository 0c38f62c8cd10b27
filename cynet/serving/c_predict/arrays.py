"""Arrays of a ``.params`` file for MXNDListCreate."""

from __future__ import annotations

import numpy as np

from ... import ndarray as nd


def read_arrays(content: bytes) -> list[tuple[str, bytes, tuple[int, ...]]]:
    """Return name, float32 numbers and shape of each array of a file.

    Parameters
    ----------
    content : bytes
        What a ``.params`` file has. Arrays without names are called by the empty text.
    """
    found = nd.load_frombuffer(content)
    named = found.items() if isinstance(found, dict) else [("", each) for each in found]
    return [(name, each.asnumpy().astype(np.float32).tobytes(), each.shape) for name, each in named]
