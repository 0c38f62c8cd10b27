"""Augmenters of images with boxes; label rows are (class, xmin, ymin, xmax, ymax, ...)."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, UndefinedError, shown
from ..base.guard import Guarded
from ..base.opencv import cv
from .augment import ForceResizeAug, ResizeAug, checked_shape
from .augmenter import Augmenter, apply_augmenter, to_json_value
from .boxes import box_areas, intersection_areas, mirror_boxes, move_boxes, to_float_boxes
from .color_augment import CastAug, color_augmenters
from .geometry import crop, make_image, pixel_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ndarray import NDArray
    from ..typing import NumpyArray

__all__ = ["CreateDetAugmenter", "CreateMultiRandCropAugmenter", "DetAugmenter", "DetBorrowAug"]
__all__ += ["DetHorizontalFlipAug", "DetRandomCropAug", "DetRandomPadAug", "DetRandomSelectAug"]

_MIN_PIXELS = 2  # minimum size of a crop, object or border on each axis


class DetAugmenter(Guarded):
    """A function of an image (H, W, C) and its boxes; a subclass implements ``__call__``.

    A label's rows are (class, xmin, ymin, xmax, ymax, ...), with places from 0 to 1. The augmenters
    of this module define ``apply``, which takes and gives a NumPy array as the image.

    Parameters
    ----------
    **kwargs
        Parameters of the augmenter, which ``dumps`` writes.

    Examples
    --------
    >>> class OnlyClass(mx.image.DetAugmenter):
    ...     '''Leaves out the boxes of other classes.'''
    ...     def __init__(self, number):
    ...         super().__init__(number=number)
    ...         self.number = number
    ...     def __call__(self, src, label):
    ...         return src, label[label[:, 0] == self.number]
    >>> boxes = np.array([[0, 0.1, 0.1, 0.5, 0.5], [1, 0.2, 0.2, 0.9, 0.9]])
    >>> image, left = OnlyClass(1)(mx.nd.zeros((8, 8, 3)), boxes)
    >>> left, OnlyClass(1).dumps()
    (array([[1. , 0.2, 0.2, 0.9, 0.9]]), '["onlyclass", {"number": 1}]')
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
        >>> mx.image.DetHorizontalFlipAug(0.5).dumps()
        '["dethorizontalflipaug", {"p": 0.5}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray, label: NumpyArray) -> tuple[NDArray, NumpyArray]:
        array, label = self.apply(pixel_array(src), label)
        return make_image(array), label

    def apply(self, array: Any, label: NumpyArray) -> tuple[Any, NumpyArray]:
        """Change the pixels of an image and its boxes.

        Parameters
        ----------
        label : numpy.ndarray
            Shape (N, 5) or wider: a box a row. It stays as it is.

        Returns
        -------
        (array, label) : numpy.ndarray

        Raises
        ------
        UndefinedError
            If the class defines neither ``apply`` nor ``__call__``.

        Examples
        --------
        >>> boxes = np.array([[0, 0.1, 0.25, 0.5, 0.75]])
        >>> mx.image.DetHorizontalFlipAug(1).apply(np.zeros((4, 4, 3)), boxes)[1]
        array([[0.  , 0.5 , 0.25, 0.9 , 0.75]])
        """
        raise UndefinedError(f"{type(self).__name__} defines neither __call__ nor apply")


def apply_with_boxes(augmenter, array, label):
    """Apply a detection augmenter to a NumPy image, even if it is a user's class for NDArrays."""
    if isinstance(augmenter, DetAugmenter) and type(augmenter).__call__ is DetAugmenter.__call__:
        return augmenter.apply(array, label)
    out, label = augmenter(make_image(array), label)
    return pixel_array(out), label


class DetBorrowAug(DetAugmenter):
    """Applies an image augmenter that does not move boxes.

    Parameters
    ----------
    augmenter : Augmenter
        Changes the image only.

    Raises
    ------
    ArgumentTypeError
        `augmenter` is not an Augmenter.

    Examples
    --------
    >>> grey = mx.image.DetBorrowAug(mx.image.RandomGrayAug(1))
    >>> boxes = np.array([[0, 0.1, 0.25, 0.5, 0.75]])
    >>> image, label = grey(mx.nd.array([[[100, 0, 0]]]), boxes)
    >>> image.asnumpy(), label is boxes
    (array([[[21., 21., 21.]]], dtype=float32), True)
    """

    def __init__(self, augmenter: Any) -> None:
        if not isinstance(augmenter, Augmenter):
            raise ArgumentTypeError(f"DetBorrowAug takes an Augmenter, got {shown(augmenter)}")
        super().__init__()
        self.augmenter = augmenter

    def dumps(self) -> Any:
        """Return the name and the augmenter's state."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def apply(self, array: Any, label: NumpyArray) -> tuple[Any, NumpyArray]:
        return apply_augmenter(self.augmenter, array), label


class DetRandomSelectAug(DetAugmenter):
    """Applies one of several augmenters, chosen at random, or none.

    Parameters
    ----------
    aug_list : list of DetAugmenter
        Augmenters, one of which is chosen for each image.
    skip_prob : float
        Probability that an image is left as it is.

    Raises
    ------
    ArgumentTypeError
        An entry of `aug_list` is not a DetAugmenter.

    Examples
    --------
    >>> crops = [mx.image.DetRandomCropAug(covered) for covered in (0.1, 0.5, 0.9)]
    >>> one = mx.image.DetRandomSelectAug(crops, skip_prob=0.25)
    >>> image, boxes = one(mx.nd.zeros((20, 20, 3)), np.array([[0, 0.1, 0.1, 0.9, 0.9]]))
    >>> image.ndim, boxes.shape
    (3, (1, 5))
    """

    def __init__(self, aug_list: Any, skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        self.aug_list = list(aug_list) if isinstance(aug_list, (list, tuple)) else [aug_list]
        for each in self.aug_list:
            if not isinstance(each, DetAugmenter):
                raise ArgumentTypeError(f"aug_list has DetAugmenters, got {shown(each)}")
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self) -> Any:
        """Return the name and the state of each augmenter."""
        return [type(self).__name__.lower(), [each.dumps() for each in self.aug_list]]

    def apply(self, array: Any, label: NumpyArray) -> tuple[Any, NumpyArray]:
        if random.random() < self.skip_prob:
            return array, label
        order = list(self.aug_list)
        random.shuffle(order)
        self.aug_list = order  # as in MXNet, the next shuffle starts from this order
        return apply_with_boxes(order[0], array, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Mirrors image and boxes with probability `p`.

    Parameters
    ----------
    p : float
        Probability that an image is mirrored.

    Examples
    --------
    >>> boxes = np.array([[0, 0.1, 0.25, 0.5, 0.75]])
    >>> mx.image.DetHorizontalFlipAug(1)(mx.nd.zeros((4, 4, 3)), boxes)[1]
    array([[0.  , 0.5 , 0.25, 0.9 , 0.75]])
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def apply(self, array: Any, label: NumpyArray) -> tuple[Any, NumpyArray]:
        label = to_float_boxes(label)
        if random.random() >= self.p:
            return array, label
        return array[:, ::-1], mirror_boxes(label)


def _can_draw_from(aspect_ratio_range, area_range):
    """Return whether both ranges contain a value that can be drawn."""
    return area_range[1] > 0 and area_range[0] <= area_range[1] and aspect_ratio_range[0] > 0


def _check_number_pair(what, given):
    if not isinstance(given, (tuple, list)):
        given = (given, given)
    if len(given) != 2:
        raise ArgumentError(f"{what} is a number or a pair of them, got {shown(given)}")
    return tuple(given)


class DetRandomCropAug(DetAugmenter):
    """Crops so that enough of the objects stays visible; boxes of other objects are dropped.

    Parameters
    ----------
    min_object_covered : float
        Smallest share of each object that the crop touches which it has to cover.
    aspect_ratio_range : (float, float)
        Smallest and largest ratio of width to height of the crop.
    area_range : (float, float)
        Smallest and largest area of the crop, as a share of the image's area.
    min_eject_coverage : float
        Objects of which a smaller share remains lose their boxes.
    max_attempts : int
        Number of crops to try before the image is left as it is.

    Examples
    --------
    >>> crop = mx.image.DetRandomCropAug(min_object_covered=0.5, area_range=(0.3, 1))
    >>> image, boxes = crop(mx.nd.zeros((40, 40, 3)), np.array([[2, 0.4, 0.4, 0.6, 0.6]]))
    >>> image.shape[0] <= 40, boxes.shape, bool((boxes[:, 1:] >= 0).all())
    (True, (1, 5), True)
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        aspect_ratio_range = _check_number_pair("aspect_ratio_range", aspect_ratio_range)
        area_range = _check_number_pair("area_range", area_range)
        super().__init__(
            min_object_covered=min_object_covered,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        self.min_object_covered = min_object_covered
        self.aspect_ratio_range, self.area_range = aspect_ratio_range, area_range
        self.min_eject_coverage = min_eject_coverage
        self.max_attempts = max_attempts
        self.enabled = _can_draw_from(aspect_ratio_range, area_range)

    def apply(self, array: Any, label: NumpyArray) -> tuple[Any, NumpyArray]:
        label = to_float_boxes(label)
        found = self._draw_region(label, *array.shape[:2]) if self.enabled else None
        if found is None:
            return array, label
        box, label = found
        return crop(array, *box), label

    def _draw_region(self, label, height, width):
        """Draw a crop: ((x, y, width, height), boxes), or None if no attempt fits."""
        least, maximum = (part * height * width for part in self.area_range)
        for _ in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            h, max_h = round((least / ratio) ** 0.5), round((maximum / ratio) ** 0.5)
            if round(max_h * ratio) > width:
                max_h = int((width + 0.4999999) / ratio)
            max_h = min(max_h, height)
            h = min(h, max_h)
            if h < max_h:
                h = random.randint(h, max_h)
            w = round(h * ratio)
            if w * h < least:  # lost by rounding
                h += 1
                w = round(h * ratio)
            if w * h > maximum:
                h -= 1
                w = round(h * ratio)
            if not (least <= w * h <= maximum and 0 < w <= width and 0 < h <= height):
                continue
            y, x = random.randint(0, height - h), random.randint(0, width - w)
            if self._covers_objects(label, (x, y, x + w, y + h), height, width):
                boxes = self._boxes_in_crop(label, (x, y, w, h), height, width)
                if boxes is not None:
                    return (x, y, w, h), boxes
        return None

    def _covers_objects(self, label, corners, height, width):
        """Return whether a crop covers enough of the objects that it touches."""
        if (corners[2] - corners[0]) * (corners[3] - corners[1]) < _MIN_PIXELS:
            return False
        sizes = box_areas(label[:, 1:5])
        seen = sizes * width * height > _MIN_PIXELS
        if not seen.any():
            return False
        within = (corners[0] / width, corners[1] / height, corners[2] / width, corners[3] / height)
        parts = intersection_areas(label[seen, 1:5], within) / sizes[seen]
        parts = parts[parts > 0]
        return parts.size > 0 and parts.min() > self.min_object_covered

    def _boxes_in_crop(self, label, box, height, width):
        """Return the boxes of objects that are visible enough in a crop; None if there are none."""
        x, y, w, h = box[0] / width, box[1] / height, box[2] / width, box[3] / height
        out = move_boxes(label, x, y, w, h)
        out[:, 1:5] = out[:, 1:5].clip(0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):  # boxes without area are dropped
            part = box_areas(out[:, 1:5]) * w * h / box_areas(label[:, 1:5])
        whole = (out[:, 3] > out[:, 1]) & (out[:, 4] > out[:, 2])
        stays = whole & (part > self.min_eject_coverage)
        return out[stays] if stays.any() else None


class DetRandomPadAug(DetAugmenter):
    """Puts a one-colored border around the image, which makes objects smaller.

    Parameters
    ----------
    aspect_ratio_range : (float, float)
        Smallest and largest ratio of width to height of the result.
    area_range : (float, float)
        Smallest and largest area of the result, as a multiple of the image's area.
    max_attempts : int
        Number of sizes to try before the image is left as it is.

    Examples
    --------
    >>> pad = mx.image.DetRandomPadAug(area_range=(2, 4))
    >>> image, boxes = pad(mx.nd.zeros((40, 40, 3)), np.array([[2, 0, 0, 1, 1]]))
    >>> width = boxes[0, 3] - boxes[0, 1]
    >>> image.shape[0] > 40, bool(width < 1)
    (True, True)
    """

    def __init__(
        self,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Sequence[float] = (128, 128, 128),
    ) -> None:
        aspect_ratio_range = _check_number_pair("aspect_ratio_range", aspect_ratio_range)
        area_range = _check_number_pair("area_range", area_range)
        if not isinstance(pad_val, (tuple, list)):
            pad_val = (pad_val,)
        super().__init__(
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            max_attempts=max_attempts,
            pad_val=pad_val,
        )
        self.pad_val = pad_val
        self.aspect_ratio_range, self.area_range = aspect_ratio_range, area_range
        self.max_attempts = max_attempts
        self.enabled = _can_draw_from(aspect_ratio_range, area_range) and area_range[1] > 1.0

    def apply(self, array: Any, label: NumpyArray) -> tuple[Any, NumpyArray]:
        label = to_float_boxes(label)
        height, width, channels = array.shape
        found = self._draw_region(height, width) if self.enabled else None
        if found is None:
            return array, label
        x, y, w, h = found
        color = [float(v) for v in self.pad_val]
        if len(color) == 1:
            color *= channels
        out = cv().copyMakeBorder(
            np.ascontiguousarray(array), y, h - y - height, x, w - x - width, 0, None, color
        )
        boxes = label.copy()
        boxes[:, (1, 3)] = (label[:, (1, 3)] * width + x) / w
        boxes[:, (2, 4)] = (label[:, (2, 4)] * height + y) / h
        return out.reshape(h, w, channels), boxes

    def _draw_region(self, height, width):
        """Draw (x, y, width, height): the image's offset in the result, and its size; or None."""
        least, maximum = (part * height * width for part in self.area_range)
        for _ in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            h, max_h = round((least / ratio) ** 0.5), round((maximum / ratio) ** 0.5)
            if round(h * ratio) < width:
                h = int((width + 0.499999) / ratio)
            h = min(max(h, height), max_h)
            if h < max_h:
                h = random.randint(h, max_h)
            w = round(h * ratio)
            if h - height < _MIN_PIXELS or w - width < _MIN_PIXELS:
                continue
            y, x = random.randint(0, h - height), random.randint(0, w - width)
            return x, y, w, h
        return None


# --- lists of augmenters --------------------------------------------------------------------------
def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """Make an augmenter that chooses one of several :class:`DetRandomCropAug` for each image.

    Each parameter is one value for all of them, or a list with one for each.

    Parameters
    ----------
    min_object_covered, min_eject_coverage : float or list of float
        Shares of objects, see :class:`DetRandomCropAug`.
    aspect_ratio_range, area_range : (float, float) or list of (float, float)
        Ranges of crops, see :class:`DetRandomCropAug`.
    max_attempts : int or list of int
        Number of attempts, see :class:`DetRandomCropAug`.
    skip_prob : float
        Probability that an image stays as it is.

    Raises
    ------
    ArgumentError
        If the lists have different lengths.

    Examples
    --------
    >>> len(CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5, 0.9]).aug_list)
    3
    """
    given = [min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts]
    lists = [each if isinstance(each, list) else [each] for each in given]
    count = max(map(len, lists))
    if any(len(each) not in (1, count) for each in lists):
        raise ArgumentError(f"lists of crops' parameters have 1 or {count} values: {shown(given)}")
    lists = [each * count if len(each) == 1 else each for each in lists]
    return DetRandomSelectAug([DetRandomCropAug(*each) for each in zip(*lists)], skip_prob)


def CreateDetAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    pad_val: Sequence[float] = (127, 127, 127),
) -> list[DetAugmenter]:
    """Make a list of augmenters for detection.

    Parameters
    ----------
    data_shape : tuple of int
        (channels, height, width) of the result.
    resize : int
        Length that the shorter side is resized to first; 0 leaves the image as it is.
    rand_crop, rand_pad : float
        Probabilities of a crop (:class:`DetRandomCropAug`) and of a border
        (:class:`DetRandomPadAug`).
    mean, std : array of 3 numbers, or True, optional
        Mean and standard deviation to normalize by; True takes those of ImageNet. By default images
        are not normalized.
    brightness, contrast, saturation, pca_noise, hue : float
        Ranges of the changes of color; 0 leaves one out.
    min_object_covered, aspect_ratio_range, min_eject_coverage, max_attempts
        See :class:`DetRandomCropAug`; lists make several of them, see
        :func:`CreateMultiRandCropAugmenter`.
    area_range : (float, float)
        Smallest area of a crop and largest area of an image with its border, as shares of the
        image's area.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If `data_shape` is not that of an image, or `mean` or `std` have another length.

    Examples
    --------
    >>> made = CreateDetAugmenter((3, 300, 300), rand_crop=0.5, rand_mirror=True)
    >>> [type(each).__name__ for each in made]
    ['DetRandomSelectAug', 'DetHorizontalFlipAug', 'DetBorrowAug', 'DetBorrowAug']
    """
    _, height, width = checked_shape(data_shape)
    ts: list[DetAugmenter] = []
    if resize > 0:
        ts.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        ts.append(
            CreateMultiRandCropAugmenter(
                min_object_covered,
                aspect_ratio_range,
                area_range,
                min_eject_coverage,
                max_attempts,
                1 - rand_crop,
            )
        )
    if rand_mirror:
        ts.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        border = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        ts.append(DetRandomSelectAug([border], 1 - rand_pad))
    ts.append(DetBorrowAug(ForceResizeAug((width, height), inter_method)))
    ts.append(DetBorrowAug(CastAug()))
    colors = color_augmenters(
        brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std
    )
    return ts + [DetBorrowAug(each) for each in colors]
