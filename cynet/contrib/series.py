"""mx.contrib.series: time series as windows, scaling, and backtests of forecasts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, CynetError, ShapeError, shown
from ..base.files import write_atomically
from ..base.guard import guarded
from ..base.kinds import open_json, to_count
from ..base.reprs import SettingsRepr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import ArrayLike, FileName, NumpyArray

__all__ = ["Scaler", "backtest", "windows"]
_FORMAT = "cynet scaler 1"  # marks the files of a Scaler


def _to_series_array(where, series):
    """Return a series as an array, (steps,) or (steps, variables)."""
    array = series.asnumpy() if hasattr(series, "asnumpy") else np.asarray(series)
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        raise ShapeError(
            f"{where}: a series is numbers of shape (steps,) or (steps, variables), got"
            f" {array.dtype} of shape {array.shape}"
        )
    return array


@guarded
def windows(
    series: ArrayLike, past: int, ahead: int, stride: int = 1
) -> tuple[NumpyArray, NumpyArray]:
    """Cut a series into windows and the values after each: training data for a forecast.

    Parameters
    ----------
    series : array-like
        (steps,) or (steps, variables).
    past : int
        Steps of a piece.
    ahead : int
        Steps that follow it.
    stride : int
        Steps from one piece to the next.

    Returns
    -------
    past, future : numpy.ndarray
        (pieces, past, ...) and (pieces, ahead, ...): views of the series, which share its memory.

    Raises
    ------
    ArgumentError
        The series is shorter than one piece with what follows.

    Examples
    --------
    >>> past, future = mx.contrib.series.windows(np.arange(6), past=3, ahead=2)
    >>> past
    array([[0, 1, 2],
           [1, 2, 3]])
    >>> future
    array([[3, 4],
           [4, 5]])
    """
    array = _to_series_array("windows", series)
    sizes = {"past": past, "ahead": ahead, "stride": stride}
    past, ahead, stride = (to_count(f"windows: {n}", size) for n, size in sizes.items())
    if len(array) < past + ahead:
        raise ArgumentError(
            f"windows: {len(array)} steps are less than past={past} and ahead={ahead} together"
        )
    found = np.lib.stride_tricks.sliding_window_view(array, past + ahead, axis=0)
    found = np.moveaxis(found, -1, 1)[::stride]
    return found[:, :past], found[:, past:]


@guarded
class Scaler(SettingsRepr):
    """Scales variables of a series to mean 0 and deviation 1, and forecasts back.

    Parameters
    ----------
    by : str
        ``'std'``: mean and standard deviation; ``'minmax'``: least and largest value to 0 and 1.

    Raises
    ------
    ArgumentError
        `by` is neither.

    Examples
    --------
    >>> scaler = mx.contrib.series.Scaler().fit([10.0, 20.0, 30.0, 40.0])  # fit on training data
    >>> scaled = scaler.transform([25.0, 40.0])
    >>> scaled.round(2)
    array([0.  , 1.34], dtype=float32)
    >>> scaler.inverse(scaled)
    array([25., 40.], dtype=float32)
    >>> scaler.save("model-scale.json")
    >>> Scaler.load("model-scale.json").transform([25.0])
    array([0.], dtype=float32)
    """

    def __init__(self, by: str = "std") -> None:
        if by not in ("std", "minmax"):
            raise ArgumentError(f"Scaler: by must be 'std' or 'minmax', got {shown(by)}")
        self.by = by
        self._begin: Any = None
        self._size: Any = None

    def fit(self, series: ArrayLike) -> Scaler:
        """Learn the mean and deviation of each variable; returns the scaler itself.

        Parameters
        ----------
        series : array-like
            (steps,) or (steps, variables): what is trained on, not what is forecast.

        Raises
        ------
        ArgumentError, ShapeError
            No steps, or values that are not finite.
        """
        array = _to_series_array("Scaler", series).astype(np.float64)
        if not len(array) or not np.isfinite(array).all():
            raise ArgumentError(f"Scaler: expected finite numbers, got {shown(array)}")
        if self.by == "std":
            begin, size = array.mean(axis=0), array.std(axis=0)
        else:
            begin, size = array.min(axis=0), np.ptp(array, axis=0)
        self._begin, self._size = begin, np.where(size == 0, 1.0, size)
        return self

    def transform(self, series: ArrayLike) -> NumpyArray:
        """Scale a series; returns float32.

        Parameters
        ----------
        series : array-like
            (..., variables) as in `fit`, or of any shape where there is one variable without an
            axis.

        Raises
        ------
        CynetError, ShapeError
            Nothing was fitted, or there are other variables.
        """
        return ((self._check_fitted(series) - self._begin) / self._size).astype(np.float32)

    def inverse(self, series: ArrayLike) -> NumpyArray:
        """Convert scaled values back to the units of the series; returns float32.

        Parameters
        ----------
        series : array-like
            What `transform` gave, or a forecast of it.

        Raises
        ------
        CynetError, ShapeError
            Nothing was fitted, or there are other variables.
        """
        return (self._check_fitted(series) * self._size + self._begin).astype(np.float32)

    def _check_fitted(self, series):
        if self._begin is None:
            raise CynetError("Scaler: call fit with a series first")
        array = series.asnumpy() if hasattr(series, "asnumpy") else np.asarray(series)
        wanted = self._begin.shape
        if wanted and array.shape[-1:] != wanted:
            raise ShapeError(f"Scaler: expected (..., {wanted[0]}) variables, got {array.shape}")
        return array.astype(np.float64)

    def save(self, path: FileName) -> None:
        """Write the scaler to a file as JSON.

        Parameters
        ----------
        path : str
            The file.

        Raises
        ------
        CynetError
            Nothing was fitted.
        """
        if self._begin is None:
            raise CynetError("Scaler: call fit with a series first")
        found = {"form": _FORMAT, "by": self.by}
        found |= {"begin": self._begin.tolist(), "size": self._size.tolist()}
        write_atomically(path, [json.dumps(found).encode()])

    @classmethod
    def load(cls, path: FileName) -> Scaler:
        """Read a scaler that `save` wrote.

        Parameters
        ----------
        path : str
            The file.

        Raises
        ------
        FormatError
            It is no such file.
        """
        with open_json(path, _FORMAT, "a Scaler") as found:
            scaler = cls(found["by"])
            begin, size = (np.array(found[each], np.float64) for each in ("begin", "size"))
            if begin.shape != size.shape or begin.ndim > 1:
                raise ShapeError(f"it has the shapes {begin.shape} and {size.shape}")
        scaler._begin, scaler._size = begin, size
        return scaler


@guarded
def backtest(
    forecast: Callable[[NumpyArray, int], Any],
    series: ArrayLike,
    origins: Sequence[int],
    ahead: int,
) -> tuple[NumpyArray, dict[str, float]]:
    """Forecast from several origins, each from earlier values only, and measure the errors.

    Parameters
    ----------
    forecast : callable
        ``forecast(past, ahead)`` gives the next `ahead` values of ``past``, the series up to the
        origin. It may train anew each time.
    series : array-like
        (steps,) or (steps, variables).
    origins : sequence of int
        Steps from which on is forecast.
    ahead : int
        How many steps.

    Returns
    -------
    forecasts, figures : numpy.ndarray and dict of str to float
        (origins, ahead, ...), and over all of them ``mae``, ``rmse``, and ``relative``:
        ``mae`` in units of that of the last value before each origin; nan where that has none.

    Raises
    ------
    ArgumentError, ShapeError
        An origin has nothing before it, or less than `ahead` steps after it; forecasts have
        another shape.

    Examples
    --------
    >>> series = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    >>> drift = lambda past, ahead: past[-1] + np.arange(1, ahead + 1)
    >>> forecasts, figures = mx.contrib.series.backtest(drift, series, origins=[4, 6], ahead=2)
    >>> forecasts
    array([[5., 6.],
           [7., 8.]])
    >>> figures
    {'mae': 0.0, 'rmse': 0.0, 'relative': 0.0}
    """
    array = _to_series_array("backtest", series)
    ahead = to_count("backtest: ahead", ahead)
    positions = [to_count("backtest: an origin", each) for each in origins]
    if not positions:
        raise ArgumentError("backtest: there are no origins")
    for each in positions:
        if not 1 <= each <= len(array) - ahead:
            raise ArgumentError(
                f"backtest: origin {each} is not from 1 to {len(array) - ahead}: of {len(array)}"
                f" steps {ahead} are forecast"
            )
    found, truth, last = [], [], []
    for each in positions:
        made = forecast(array[:each].copy(), ahead)
        made = np.asarray(made.asnumpy() if hasattr(made, "asnumpy") else made, np.float64)
        wanted = array[each : each + ahead]
        if made.shape != wanted.shape:
            raise ShapeError(
                f"backtest: the forecast from origin {each} has shape {made.shape}, expected"
                f" {wanted.shape}"
            )
        found.append(made)
        truth.append(wanted)
        last.append(np.broadcast_to(array[each - 1], wanted.shape))
    forecasts, real = np.stack(found), np.stack(truth).astype(np.float64)
    error, naive = abs(forecasts - real), abs(np.stack(last) - real).mean()
    figures = {
        "mae": float(error.mean()),
        "rmse": float(np.sqrt((error**2).mean())),
        "relative": float(error.mean() / naive) if naive else float("nan"),
    }
    return forecasts, figures
