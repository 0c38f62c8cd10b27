"""Two-bit gradients: a threshold, its negative or 0; the remainder is added to the next push."""

from .. import ndarray as nd
from ..base.errors import ArgumentError, shown


class TwoBitQuantizer:
    """Quantizes gradients to two bits an entry. Entry plus remainder becomes `threshold` if at
    least that, ``-threshold`` if at most that, else 0; the rest is the next push's remainder.

    threshold (float): Greater than 0.
    """

    def __init__(self, threshold):
        self.threshold = threshold
        self._left = {}  # (key, index of the device) -> remainder that was not pushed yet

    def __call__(self, key, arrays):
        """Return the quantized arrays, to be pushed instead of the `arrays` of `key`."""
        return [self._quantize_gradient((key, i), array) for i, array in enumerate(arrays)]

    def _quantize_gradient(self, place, array):
        left = self._left.get(place)
        if left is None or left.shape != array.shape:
            left = nd.zeros(array.shape, ctx=array.context, dtype=array.dtype)
        left = left + array
        sent = ((left >= self.threshold) - (left <= -self.threshold)) * self.threshold
        self._left[place] = left - sent
        return sent


def make_compression(params, kind):
    """Create the quantizer for ``set_gradient_compression(params)`` of a store of this type."""
    if kind.startswith("local"):
        raise ArgumentError(
            f"kvstore '{kind}' does not compress gradients, got {shown(params)}; 'device' does"
        )
    if not isinstance(params, dict) or params.get("type") != "2bit":
        raise ArgumentError(
            "kvstore set_gradient_compression: expected {'type': '2bit', 'threshold': a number},"
            f" got {shown(params)}"
        )
    extra = params.keys() - {"type", "threshold"}
    threshold = params.get("threshold", 0.5)
    if extra:
        raise ArgumentError(f"kvstore set_gradient_compression: unknown {', '.join(sorted(extra))}")
    try:
        threshold = float(threshold)
    except (TypeError, ValueError):
        threshold = 0.0
    if not 0 < threshold < float("inf"):
        raise ArgumentError(
            "kvstore set_gradient_compression: threshold must be a number greater than 0, got"
            f" {shown(params['threshold'])}"
        )
    return TwoBitQuantizer(threshold)
