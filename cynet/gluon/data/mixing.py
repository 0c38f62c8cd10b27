"""MixUp and CutMix: batches of mixed samples with soft labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ndarray as nd
from ...base.errors import ArgumentError, ArgumentTypeError, ShapeError, UndefinedError, shown
from ...base.guard import guarded
from ...base.kinds import to_count
from ...ndarray import NDArray
from ...optimizer.settings import check_real
from .batchify import host_array, numpy_batchify
from .seeding import sample_generator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...typing import NumpyArray


@guarded(but=("__call__",))
class _BatchMixer:  # base of MixUp and CutMix
    """Base of MixUp and CutMix: mixes pairs of samples of a batch, and their labels."""

    def __init__(
        self,
        classes: int,
        alpha: float,
        prob: float,
        batchify_fn: Callable[[list[Any]], Any] | None,
    ) -> None:
        who = type(self).__name__
        self.classes = to_count(f"{who}: classes", classes)
        check_real(f"{who}: alpha", alpha)
        check_real(f"{who}: prob", prob)
        if not 0 < alpha < np.inf:
            raise ArgumentError(f"{who}: alpha must be above 0 and finite, got {shown(alpha)}")
        if batchify_fn is not None and not callable(batchify_fn):
            raise ArgumentTypeError(
                f"{who}: batchify_fn must be a function, got {shown(batchify_fn)}"
            )
        if not 0 <= prob <= 1:
            raise ArgumentError(f"{who}: prob must be from 0 to 1, got {shown(prob)}")
        self.alpha, self.prob = alpha, prob
        self._batchify = numpy_batchify if batchify_fn is None else batchify_fn

    def __call__(self, samples: Sequence[Any]) -> list[NDArray]:
        """Make a mixed batch ``[data, label]`` of samples ``(data, label)``."""
        batch = self._batchify(list(samples))
        if not isinstance(batch, (list, tuple)) or len(batch) != 2:
            raise ArgumentError(
                f"{type(self).__name__}: samples must be pairs (data, label), got"
                f" {shown(samples[0])}"
            )
        mixed = self.mix(*batch)
        return [each if isinstance(each, NDArray) else host_array(each) for each in mixed]

    def mix(self, data: Any, label: Any) -> tuple[Any, Any]:
        """Mix the samples of a batch.

        Parameters
        ----------
        data : NDArray or numpy.ndarray
            (N, ...); integers become float32.
        label : NDArray or numpy.ndarray
            Classes, (N,), or distributions, (N, classes).

        Returns
        -------
        data, label : arrays of the kind of `data`
            The mixed data, and distributions, float32, (N, classes).

        Raises
        ------
        ArgumentError
            A label is not a class.
        ShapeError
            Shapes do not fit.

        Examples
        --------
        >>> data, label = MixUp(classes=3).mix(nd.ones((2, 4)), nd.array([0, 2]))
        >>> data.shape, label.sum(axis=1).asnumpy().round(4).tolist()
        ((2, 4), [1.0, 1.0])
        """
        data = data if isinstance(data, (NDArray, np.ndarray)) else np.asarray(data)
        soft = self._label_distributions(label)
        if len(soft) != data.shape[0]:
            raise ShapeError(
                f"{type(self).__name__}: {len(soft)} labels for {data.shape[0]} rows of data"
            )
        self._check_data(data)
        if np.dtype(data.dtype).kind in "iub":
            data = data.astype("float32")
        random = sample_generator()
        if random.uniform() < self.prob and len(soft):
            share, others = random.beta(self.alpha, self.alpha), random.permutation(len(soft))
            data, share = self._mix_batch(data, share, others, random)
            soft = np.float32(share) * soft + np.float32(1 - share) * soft[others]
        if isinstance(data, NDArray):
            soft = nd.array(soft, ctx=data.context, dtype="float32")
        return data, soft

    def _label_distributions(self, label) -> NumpyArray:
        label = label.asnumpy() if isinstance(label, NDArray) else np.asarray(label)
        who = type(self).__name__
        if label.ndim == 2 and label.shape[1] == self.classes and self.classes > 1:
            return label.astype(np.float32)
        if label.ndim == 2 and label.shape[1] == 1:
            label = label[:, 0]
        if label.ndim != 1:
            raise ShapeError(
                f"{who}: labels must have shape (N,) or (N, {self.classes}), got {label.shape}"
            )
        whole = label.astype(np.int64)
        bad = (whole != label) | (whole < 0) | (whole >= self.classes)
        if bad.any():
            raise ArgumentError(
                f"{who}: expected labels from 0 to {self.classes - 1}, got {label[bad][0]}"
            )
        return np.eye(self.classes, dtype=np.float32)[whole]

    def _check_data(self, data):
        """Raise an error for shapes that cannot be mixed."""

    def _mix_batch(self, data, share, others, random):
        """Return the mixed data, and the weight of each row's own label."""
        raise UndefinedError(f"{type(self).__name__} defines no _mix_batch")


def _take_rows(data, rows):
    if isinstance(data, NDArray):
        return nd.take(data, nd.array(rows, ctx=data.context, dtype="int32"))
    return data[rows]


class MixUp(_BatchMixer):
    """Replaces each sample x and its label by ``share * x + (1 - share) * y``, y of the same batch.

    `share` is drawn anew for each batch, from ``Beta(alpha, alpha)``. Zhang et al.,
    https://arxiv.org/abs/1710.09412. It is a `batchify_fn` of a DataLoader; ``mx.io.MixIter`` puts
    it into ``Module.fit``. The labels are distributions: the losses are
    ``gluon.loss.SoftmaxCELoss(sparse_label=False)``, ``KLDivLoss``, and ``mx.sym.SoftmaxOutput``.

    Parameters
    ----------
    classes : int
        Number of classes.
    alpha : float
        Above 0: small values leave most samples nearly as they are.
    batchify_fn : callable, optional
        Makes the pair (data, label) from a list of samples; by default both are stacked.

    Raises
    ------
    ArgumentError
        `classes` is not an int of 1 or more, `alpha` not above 0, or `prob` not from 0 to 1.

    Examples
    --------
    >>> dataset = mx.gluon.data.ArrayDataset(np.ones((8, 3), "float32"), np.arange(8) % 2)
    >>> loader = mx.gluon.data.DataLoader(dataset, 4, batchify_fn=MixUp(classes=2))
    >>> loss = mx.gluon.loss.SoftmaxCELoss(sparse_label=False)
    >>> [loss(data[:, :2], label).shape for data, label in loader]
    [(4,), (4,)]
    """

    def __init__(
        self,
        classes: int,
        alpha: float = 0.2,
        prob: float = 1.0,
        batchify_fn: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        super().__init__(classes, alpha, prob, batchify_fn)

    def _mix_batch(self, data, share, others, random):
        if isinstance(data, NDArray):
            return data * share + _take_rows(data, others) * (1 - share), share
        # before NumPy 2, a Python float would promote the product to float64
        own, other = data.dtype.type(share), data.dtype.type(1 - share)
        return own * data + other * data[others], share


class CutMix(_BatchMixer):
    """Pastes a rectangle of another image of the batch into each image; labels mix in proportion to
    the areas.

    The rectangle is the same for the whole batch: its area is ``1 - share`` of the image's, `share`
    from ``Beta(alpha, alpha)``, its centre is anywhere, and what lies outside of the image is
    cut off. Yun et al., https://arxiv.org/abs/1905.04899. Loaders, ``fit`` and losses: see `MixUp`.

    Parameters
    ----------
    classes : int
        Number of classes.
    alpha : float
        Above 0; 1 draws the share uniformly.
    batchify_fn : callable, optional
        Makes the pair (data, label) from a list of samples; by default both are stacked.
    layout : str
        ``'NCHW'`` or ``'NHWC'``: the axes of the images.

    Raises
    ------
    ArgumentError
        `classes` is not an int of 1 or more, `alpha` not above 0, `prob` not from 0 to 1, or
        `layout` neither 'NCHW' nor 'NHWC'.

    Examples
    --------
    >>> data, label = CutMix(classes=2).mix(nd.ones((4, 3, 8, 8)), nd.array([0, 1, 0, 1]))
    >>> data.shape, label.sum(axis=1).asnumpy().round(4).tolist()
    ((4, 3, 8, 8), [1.0, 1.0, 1.0, 1.0])
    """

    def __init__(
        self,
        classes: int,
        alpha: float = 1.0,
        prob: float = 1.0,
        batchify_fn: Callable[[list[Any]], Any] | None = None,
        layout: str = "NCHW",
    ) -> None:
        super().__init__(classes, alpha, prob, batchify_fn)
        if not isinstance(layout, str) or layout not in ("NCHW", "NHWC"):
            raise ArgumentError(f"CutMix: layout must be 'NCHW' or 'NHWC', got {shown(layout)}")
        self.layout = layout

    def _check_data(self, data):
        if len(data.shape) != 4:
            raise ShapeError(f"CutMix: images must have 4 axes, {self.layout}, got {data.shape}")

    def _mix_batch(self, data, share, others, random):
        first = self.layout.index("H")
        place, cut = [slice(None)] * 4, 1
        for axis in (first, first + 1):
            size = data.shape[axis]
            half = int(size * (1 - share) ** 0.5) // 2
            centre = int(random.integers(size)) if size else 0
            begin, end = max(centre - half, 0), min(centre + half, size)
            place[axis] = slice(begin, end)
            cut *= end - begin
        place = tuple(place)
        if cut:
            data = data.copy()
            data[place] = _take_rows(data[place], others)
        return data, 1 - cut / max(data.shape[first] * data.shape[first + 1], 1)
