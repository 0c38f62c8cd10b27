"""The kind of arrays (mx.nd or mx.np) that optimizers get."""

from .._core.face import legacy_face


def as_legacy(array):
    """An array of mx.np as an array of mx.nd, in whose functions optimizers are written."""
    own = getattr(array, "_face", legacy_face)
    return array if own is legacy_face else array.as_nd_ndarray()
