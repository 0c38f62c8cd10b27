"""Running means of weights, the base of EMA and SWA of Gluon and of ``fit``."""

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, ShapeError, shown
from .settings import check_real

_MAX_WEIGHTS_PER_CALL = 64  # limit of the operator multi_sgd_update


class RunningAverages:
    """Running means of arrays by name, float32 (float64 of float64), on the arrays' devices.

    who (str): For messages.
    decay (float, optional): The share that the mean keeps at each update; None: all that was seen
        counts the same.
    """

    def __init__(self, who, decay=None):
        if decay is not None:
            check_real(f"{who}: decay", decay)
            if not 0 <= decay < 1:
                raise ArgumentError(f"{who}: decay must be in [0, 1), got {shown(decay)}")
        self.who, self.decay = who, decay
        self.count, self.values = 0, {}

    def update(self, arrays):
        """Update all means by the arrays; the first call copies the arrays."""
        if self.count == 0:
            self.values = {name: _to_mean_dtype(each).copy() for name, each in arrays.items()}
            self.count = 1
            return
        self.check_arrays(arrays)
        share = 1 / (self.count + 1) if self.decay is None else 1 - self.decay
        groups = {}
        for name, mean in self.values.items():
            if np.dtype(arrays[name].dtype).kind in "iub":
                mean[:] = arrays[name]  # integers are copied
                continue
            # one operator call takes weights of one device and dtype
            groups.setdefault((mean.dtype, str(mean.context)), []).append(name)
        for names in groups.values():
            for start in range(0, len(names), _MAX_WEIGHTS_PER_CALL):
                _update_moving_averages(
                    [self.values[each] for each in names[start : start + _MAX_WEIGHTS_PER_CALL]],
                    [
                        _to_mean_dtype(arrays[each])
                        for each in names[start : start + _MAX_WEIGHTS_PER_CALL]
                    ],
                    share,
                )
        self.count += 1

    def check_arrays(self, arrays):
        """Raise an error if names or shapes of arrays differ from those of the means."""
        missing = self.values.keys() ^ arrays.keys()
        if missing:
            raise ArgumentError(
                f"{self.who}: its means are of other weights; {shown(min(missing))} is on one side"
                " only"
            )
        for name, mean in self.values.items():
            if mean.shape != arrays[name].shape:
                raise ShapeError(
                    f"{self.who}: the mean of {shown(name)} has shape {mean.shape}, the weight"
                    f" {arrays[name].shape}"
                )

    def require_values(self):
        """Raise an error if there was no update yet."""
        if not self.count:
            raise ArgumentError(f"{self.who}: no weights were averaged yet")

    def restore(self, values, count):
        """Set the means to saved means."""
        self.values, self.count = dict(values), int(count)


def _to_mean_dtype(array):
    kind = np.dtype(array.dtype)
    return array if kind in (np.float64, np.float32) else array.astype("float32")


def _update_moving_averages(means, arrays, share):
    """Compute ``mean += share * (array - mean)`` for each mean, as an SGD update with gradient
    ``-array`` and decay ``mean``."""
    pairs = [each for pair in zip(means, arrays) for each in pair]
    n = len(means)
    nd.multi_sgd_update(
        *pairs, lrs=(share,) * n, wds=(1.0,) * n, rescale_grad=-1.0, num_weights=n, out=means
    )
