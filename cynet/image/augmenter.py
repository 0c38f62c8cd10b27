"""Augmenter, the base class of image augmenters, and sequences of augmenters."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import UndefinedError
from ..base.guard import Guarded
from ..ndarray import NDArray
from .geometry import make_image, pixel_array

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Augmenter", "RandomOrderAug", "SequentialAug"]


def to_json_value(value):
    """Convert a parameter to a value that JSON can hold."""
    if isinstance(value, NDArray):
        value = value.asnumpy()
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def cast_to_dtype_of(array, source):
    """Cast computed pixels to the dtype of the image that they come from."""
    if source.dtype.kind == "f":
        return array.astype(source.dtype, copy=False)
    limits = np.iinfo(source.dtype)
    return array.clip(limits.min, limits.max).astype(source.dtype)


class Augmenter(Guarded):
    """A function of an image (H, W, C); a subclass implements ``__call__``.

    Those of this package define ``apply``, which takes and gives a NumPy array, instead.

    Parameters
    ----------
    **kwargs
        Parameters of the augmenter, which ``dumps`` writes.

    Examples
    --------
    >>> class Negative(mx.image.Augmenter):
    ...     def __call__(self, src):
    ...         return 255 - src
    >>> image = mx.nd.array([[[0, 100, 255]]], dtype="uint8")
    >>> Negative()(image).asnumpy()
    array([[[255, 155,   0]]], dtype=uint8)
    >>> mx.image.SequentialAug([Negative(), mx.image.CastAug()])(image).asnumpy()
    array([[[255., 155.,   0.]]], dtype=float32)
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {name: to_json_value(value) for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """Return name and parameters as JSON.

        Returns
        -------
        str

        Examples
        --------
        >>> mx.image.CastAug().dumps()
        '["castaug", {"type": "float32"}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray) -> NDArray:
        return make_image(self.apply(pixel_array(src)))

    def apply(self, array: Any) -> Any:
        """Change the pixels of an image.

        Returns
        -------
        numpy.ndarray
            Shape (H', W', C), in an array of its own or a view of `array`.

        Raises
        ------
        UndefinedError
            If the class defines neither ``apply`` nor ``__call__``.

        Examples
        --------
        >>> mx.image.HorizontalFlipAug(1).apply(np.array([[[1], [2], [3]]])).tolist()
        [[[3], [2], [1]]]
        """
        raise UndefinedError(f"{type(self).__name__} defines neither __call__ nor apply")


def apply_augmenter(augmenter, array):
    """Apply an augmenter to a NumPy image, even if it is a user's class that takes NDArrays."""
    if isinstance(augmenter, Augmenter) and type(augmenter).__call__ is Augmenter.__call__:
        return augmenter.apply(array)
    return pixel_array(augmenter(make_image(array)))


class SequentialAug(Augmenter):
    """Applies augmenters one after the other.

    Parameters
    ----------
    ts : list of Augmenter
        Applied in this order.

    Examples
    --------
    >>> augment = mx.image.SequentialAug([mx.image.ForceResizeAug((4, 6)), mx.image.CastAug()])
    >>> augment(mx.nd.zeros((8, 10, 3), dtype="uint8")).shape
    (6, 4, 3)
    """

    def __init__(self, ts: Sequence[Any]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        """Return the name and the state of each augmenter."""
        return [type(self).__name__.lower(), [each.dumps() for each in self.ts]]

    def apply(self, array: Any) -> Any:
        for each in self.ts:
            array = apply_augmenter(each, array)
        return array


class RandomOrderAug(SequentialAug):
    """Applies augmenters in a new random order for each image.

    Parameters
    ----------
    ts : list of Augmenter
        Applied in an order that is drawn for each image.

    Examples
    --------
    >>> steps = [mx.image.BrightnessJitterAug(0.2), mx.image.ContrastJitterAug(0.2)]
    >>> mx.image.RandomOrderAug(steps)(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """

    def apply(self, array: Any) -> Any:
        order = list(self.ts)
        random.shuffle(order)
        self.ts = order  # as in MXNet, the next shuffle starts from this order
        for each in order:
            array = apply_augmenter(each, array)
        return array
