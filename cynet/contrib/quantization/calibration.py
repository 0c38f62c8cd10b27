"""Calibration collectors: they record layer outputs and find the limits to quantize between."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ndarray as nd
from ...base.errors import ArgumentError, ArgumentTypeError, UndefinedError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import NDArray

__all__ = ["CalibrationCollector", "LayerHistogramCollector", "LayerOutputMinMaxCollector"]
__all__ += ["combine_histogram"]

NUM_BINS = 8001  # bins of the histogram of an output


class CalibrationCollector:
    """Base of collectors: `collect` takes a layer's output, `post_collect` returns the limits.

    Parameters
    ----------
    include_layer : list of str, optional
        Names of the outputs to look at; all by default.
    logger : logging.Logger, optional
        Receives messages.

    Examples
    --------
    >>> collector = mx.contrib.quantization.LayerOutputMinMaxCollector("int8")
    >>> collector.collect("fc_output", mx.nd.array([-1, 3]))
    >>> collector.post_collect()
    {'fc_output': (-1.0, 3.0)}
    """

    def __init__(
        self, include_layer: Sequence[str] | None = None, logger: logging.Logger | None = None
    ) -> None:
        self.include_layer = include_layer
        self.logger = logger

    def collect(self, name: str, arr: NDArray) -> None:
        """Include the values of output `name`; the method can be a monitor's callback.

        Parameters
        ----------
        name : str
            Name of an output; one that is not in `include_layer` is ignored.
        arr : NDArray
            Its values for a batch.

        Raises
        ------
        UndefinedError
            The subclass does not define it.
        ArgumentTypeError
            `arr` is not an NDArray.
        ArgumentError
            Values are NaN or infinite.
        """
        raise UndefinedError(f"{type(self).__name__} must define collect(name, arr)")

    def post_collect(self) -> dict[str, tuple[float, float]]:
        """Return a dict of output name to (lowest, highest) value to represent.

        Raises
        ------
        UndefinedError
            The subclass does not define it.
        """
        raise UndefinedError(f"{type(self).__name__} must define post_collect()")

    def _recorded_values(self, name, arr):
        """Return the values of an output as a NumPy array, or None if it is not to be recorded."""
        if self.include_layer is not None and name not in self.include_layer:
            return None
        if not isinstance(arr, nd.NDArray):
            raise ArgumentTypeError(f"collect takes an NDArray, got {shown(arr)} for {name}")
        if self.logger is not None:
            self.logger.debug("calibration: %s %s", name, arr.shape)
        values = arr.asnumpy()
        if not np.isfinite(values).all():
            raise ArgumentError(
                f"calibration: {name} has values that are NaN or infinite, which have no limits"
            )
        return values


class LayerOutputMinMaxCollector(CalibrationCollector):
    """Records the lowest and the highest value of each output: calibration 'naive'.

    Parameters
    ----------
    quantized_dtype : str
        Type that outputs are quantized to: ``'int8'``, ``'uint8'`` or ``'auto'``.
    include_layer, logger
        See `CalibrationCollector`.

    Examples
    --------
    >>> collector = mx.contrib.quantization.LayerOutputMinMaxCollector("int8")
    >>> collector.collect("fc_output", mx.nd.array([-1, 3]))
    >>> collector.collect("fc_output", mx.nd.array([2, 7]))
    >>> collector.post_collect()
    {'fc_output': (-1.0, 7.0)}
    """

    def __init__(
        self,
        quantized_dtype: str,
        include_layer: Sequence[str] | None = None,
        logger: logging.Logger | None = None,
    ) -> None:
        super().__init__(include_layer, logger)
        self.min_max_dict: dict[str, tuple[float, float]] = {}
        self.quantized_dtype = quantized_dtype

    def collect(self, name: str, arr: NDArray) -> None:
        values = self._recorded_values(name, arr)
        if values is None:
            return
        low, high = float(values.min()), float(values.max())
        known = self.min_max_dict.get(name, (low, high))
        self.min_max_dict[name] = min(low, known[0]), max(high, known[1])

    def post_collect(self) -> dict[str, tuple[float, float]]:
        return self.min_max_dict


class LayerHistogramCollector(CalibrationCollector):
    """Records histograms of outputs to find limits of least entropy loss: calibration 'entropy'.

    Parameters
    ----------
    num_bins : int
        Number of bins of a histogram; odd.
    include_layer, logger
        See `CalibrationCollector`.
    quantized_dtype : str
        Type that outputs are quantized to: ``'int8'``, ``'uint8'`` or ``'auto'``.

    Examples
    --------
    >>> collector = mx.contrib.quantization.LayerHistogramCollector(quantized_dtype="int8")
    >>> collector.collect("fc_output", mx.nd.array([-1, -0.5, 0, 0.5, 1]))
    >>> low, high = collector.post_collect()["fc_output"]
    >>> 0 < high <= 1, low == -high
    (True, True)
    """

    def __init__(
        self,
        num_bins: int = NUM_BINS,
        include_layer: Sequence[str] | None = None,
        logger: logging.Logger | None = None,
        quantized_dtype: str = "auto",
    ) -> None:
        super().__init__(include_layer, logger)
        self.hist_dict: dict[str, tuple[Any, ...]] = {}
        self.num_bins = num_bins
        self.quantized_dtype = quantized_dtype

    def collect(self, name: str, arr: NDArray) -> None:
        values = self._recorded_values(name, arr)
        if values is None:
            return
        low, high = float(values.min()), float(values.max())
        maximum = max(abs(low), abs(high)) or 1.0
        if name in self.hist_dict:
            found = combine_histogram(self.hist_dict[name], values, low, high, maximum)
        else:
            found = (*np.histogram(values, self.num_bins, (-maximum, maximum)), low, high, maximum)
        self.hist_dict[name] = found

    def post_collect(self) -> dict[str, tuple[float, float]]:
        return {name: self._clipping_limits(*found) for name, found in self.hist_dict.items()}

    def _clipping_limits(self, hist, edges, low, high, maximum):
        unsigned = low >= 0 and self.quantized_dtype in ("auto", "uint8")
        # a one-sided (unsigned) histogram uses all 255 steps, a two-sided one half for each sign
        num_bins = min(2 * 255 + 1 if unsigned else 255, len(hist))
        threshold, _ = nd.contrib.calibrate_entropy(
            nd.array(hist), nd.array(edges), num_quantized_bins=num_bins
        )
        limit = float(threshold.asscalar())
        return (0.0, limit) if low >= 0 else (-limit, limit)


def combine_histogram(
    old_hist: tuple[Any, ...], arr: Any, new_min: float, new_max: float, new_th: float
) -> tuple[Any, ...]:
    """Add values to a histogram around 0, and widen it where they need more range.

    Parameters
    ----------
    old_hist : tuple
        The histogram: (counts, edges, smallest value, largest value, threshold).
    arr : numpy.ndarray
        The new values.
    new_min, new_max, new_th : float
        Smallest and largest value of `arr`, and the larger of their absolute values.

    Returns
    -------
    tuple
        The same five of all values.

    Examples
    --------
    >>> old = (*np.histogram([0.5], 3, (-1, 1)), 0.5, 0.5, 1.0)
    >>> counts, edges, *_ = combine_histogram(old, np.array([1.5]), 1.5, 1.5, 1.5)
    >>> counts
    array([0, 0, 0, 1, 1])
    """
    counts, edges, low, high, maximum = old_hist
    step = 2 * maximum / len(counts)
    more = int(np.ceil(max(new_th - maximum, 0) / step))
    wide = maximum + more * step
    added, edges = np.histogram(arr, len(counts) + 2 * more, (-wide, wide))
    added[more : len(added) - more] += counts
    return added, edges, min(low, new_min), max(high, new_max), wide
