"""Arrays for optimizers, which are written in mx.nd."""

from .._core.face import legacy_face


def as_nd_array(array):
    """Convert an array of mx.np to an array of mx.nd, whose functions optimizers use."""
    own = getattr(array, "_face", legacy_face)
    return array if own is legacy_face else array.as_nd_ndarray()
