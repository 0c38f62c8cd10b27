"""Transforms of images, and Compose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....base.errors import ArgumentError, ArgumentTypeError, shown
from ....base.guard import PER_BATCH_METHODS, guarded
from ...block import Block, HybridBlock
from ...nn import HybridSequential, Sequential
from ..seeding import sample_generator
from .rand_augment import RandAugment
from .resizing import CenterCrop, CropResize, RandomResizedCrop, RandomRotation, Resize, Rotate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....typing import DTypeLike

__all__ = [
    "Cast",
    "CenterCrop",
    "Compose",
    "CropResize",
    "Normalize",
    "RandAugment",
    "RandomApply",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomHue",
    "RandomLighting",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSaturation",
    "Resize",
    "Rotate",
    "ToTensor",
]


class Compose(Sequential):
    """Applies transforms one after the other.

    Parameters
    ----------
    transforms : list of Block or callable
        Applied in this order.

    Examples
    --------
    >>> image = mx.nd.ones((4, 4, 3), dtype="uint8")
    >>> both = Compose([ToTensor(), Normalize(0.0, 0.5)])
    >>> both(image).shape
    (3, 4, 4)
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        run: list[Block] = []
        for each in [*transforms, None]:
            if isinstance(each, HybridBlock):
                run.append(each)
                continue
            if len(run) == 1:
                self.add(run[0])
            elif run:
                chain = HybridSequential()
                chain.add(*run)
                self.add(chain)
            run = []
            if isinstance(each, Block):
                self.add(each)
            elif each is not None:
                self.add(_FunctionTransform(each))


class _FunctionTransform(Block):
    """A function as a transform."""

    def __init__(self, function):
        super().__init__()
        if not callable(function):
            raise ArgumentTypeError(f"Compose takes Blocks and functions, got {shown(function)}")
        self._function = function

    def forward(self, *args):
        return self._function(*args)


class Cast(HybridBlock):
    """Converts an image to a dtype.

    Parameters
    ----------
    dtype : str or numpy.dtype
        The new element type.

    Examples
    --------
    >>> mx.gluon.data.vision.transforms.Cast("float32")(mx.nd.zeros((2, 2), dtype="uint8")).dtype
    <class 'numpy.float32'>
    """

    def __init__(self, dtype: DTypeLike = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Convert the image to the dtype."""
        return F.cast(x, dtype=self._dtype)


class ToTensor(HybridBlock):
    """Converts images (H, W, C) or (N, H, W, C) of uint8 to (C, H, W) or (N, C, H, W), 0 to 1.

    Examples
    --------
    >>> float(ToTensor()(mx.nd.ones((2, 4, 3), dtype="uint8") * 255).asnumpy().max())
    1.0
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Convert the images to float32."""
        return F.image.to_tensor(x)


class Normalize(HybridBlock):
    """Computes ``(x - mean) / std`` for each channel of (C, H, W) or (N, C, H, W).

    Parameters
    ----------
    mean, std : float or list of float
        One number, or one for each channel.

    Examples
    --------
    >>> image = mx.nd.ones((3, 2, 2)) / 2
    >>> transform = mx.gluon.data.vision.transforms.Normalize(mean=0.5, std=(1, 2, 4))
    >>> transform(image).max()
    [0.]
    <NDArray 1 @cpu(0)>
    """

    def __init__(
        self, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0
    ) -> None:
        super().__init__()
        self._mean = tuple(np.atleast_1d(np.asarray(mean, np.float32)).tolist())
        self._std = tuple(np.atleast_1d(np.asarray(std, np.float32)).tolist())

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The images, normalized."""
        return F.image.normalize(x, mean=self._mean, std=self._std)


class RandomFlipLeftRight(HybridBlock):
    """Mirrors each image, (H, W, C) or (N, H, W, C), left to right with probability 0.5.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.RandomFlipLeftRight()
    >>> mirrored = transform(mx.nd.array([[[1], [2]]])).asnumpy().ravel().tolist()
    >>> mirrored in ([1, 2], [2, 1])
    True
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the image or its mirror image."""
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock):
    """Mirrors each image, (H, W, C) or (N, H, W, C), top to bottom with probability 0.5.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.RandomFlipTopBottom()
    >>> mirrored = transform(mx.nd.array([[[1]], [[2]]])).asnumpy().ravel().tolist()
    >>> mirrored in ([1, 2], [2, 1])
    True
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the image or its mirror image."""
        return F.image.random_flip_top_bottom(x)


class RandomApply(Sequential):
    """Applies one or several transforms with a probability.

    Parameters
    ----------
    transforms : Block or list of Block
        What to apply.
    p : float
        Probability that it is applied.

    Examples
    --------
    >>> flip = mx.gluon.data.vision.transforms.RandomFlipLeftRight()
    >>> transform = mx.gluon.data.vision.transforms.RandomApply(flip, p=0.3)
    >>> transform(mx.nd.zeros((4, 5, 3))).shape
    (4, 5, 3)
    """

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms if isinstance(transforms, Block) else Compose(transforms)
        self.p = p

    def forward(self, x: Any) -> Any:
        """Return the image or the transformed image."""
        return self.transforms(x) if sample_generator().uniform() < self.p else x


@guarded(but=(*PER_BATCH_METHODS, "hybrid_forward"))
class _RandomColor(HybridBlock):
    """Changes colors by a random factor from ``[max(0, 1 - strength), 1 + strength]``."""

    _operator = ""

    def __init__(self, strength):
        super().__init__()
        if not strength >= 0:
            raise ArgumentError(
                f"{type(self).__name__}: a number from 0 on is expected, got {shown(strength)}"
            )
        self._range = max(0.0, 1 - float(strength)), 1 + float(strength)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The image (H, W, C), changed."""
        change = getattr(F.image, self._operator)
        return change(x, min_factor=self._range[0], max_factor=self._range[1])


class RandomBrightness(_RandomColor):
    """Makes an image brighter or darker.

    Parameters
    ----------
    brightness : float
        The factor is drawn from ``[1 - brightness, 1 + brightness]``.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.RandomBrightness(0.4)
    >>> factor = transform(mx.nd.ones((1, 1, 3))).mean().asscalar().item()
    >>> 0.6 <= round(factor, 4) <= 1.4
    True
    """

    _operator = "random_brightness"

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness)


class RandomContrast(_RandomColor):
    """Changes the contrast of an image.

    Parameters
    ----------
    contrast : float
        The factor is drawn from ``[1 - contrast, 1 + contrast]``.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.RandomContrast(0.4)
    >>> gray = mx.nd.full((4, 5, 3), 100)  # has no contrast to change
    >>> transform(gray)[0, 0].asnumpy().round()
    array([100., 100., 100.], dtype=float32)
    """

    _operator = "random_contrast"

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast)


class RandomSaturation(_RandomColor):
    """Changes the saturation of an image.

    Parameters
    ----------
    saturation : float
        The factor is drawn from ``[1 - saturation, 1 + saturation]``.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.RandomSaturation(0.4)
    >>> gray, red = transform(mx.nd.array([[[100, 100, 100], [200, 0, 0]]]))[0].asnumpy()
    >>> gray.round(), bool(red[0] > red[1])  # gray stays gray, red becomes paler or stronger
    (array([100., 100., 100.], dtype=float32), True)
    """

    _operator = "random_saturation"

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation)


class RandomHue(_RandomColor):
    """Rotates the hue of an image by a random angle.

    Parameters
    ----------
    hue : float
        The angle is drawn from ``[-hue, hue]``, as a share of the color circle.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.RandomHue(0.1)
    >>> gray = mx.nd.full((4, 5, 3), 100)  # has no hue to change
    >>> transform(gray)[0, 0].asnumpy().round()
    array([100., 100., 100.], dtype=float32)
    """

    _operator = "random_hue"

    def __init__(self, hue: float) -> None:
        super().__init__(hue)


class RandomColorJitter(HybridBlock):
    """Changes brightness, contrast, saturation and hue in a random order.

    Parameters
    ----------
    brightness, contrast, saturation, hue : float
        Ranges, as of the transforms that are named after them; 0 leaves one out.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.RandomColorJitter(0.4, 0.4, 0.4, 0.1)
    >>> transform(mx.nd.ones((4, 5, 3))).shape
    (4, 5, 3)
    """

    def __init__(
        self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0
    ) -> None:
        super().__init__()
        names = ("brightness", "contrast", "saturation", "hue")
        self._strengths = dict(zip(names, (brightness, contrast, saturation, hue)))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.random_color_jitter(x, **self._strengths)


class RandomLighting(HybridBlock):
    """Adds noise along the principal components of ImageNet's colors.

    Parameters
    ----------
    alpha : float
        Standard deviation of the noise.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.RandomLighting(0.1)
    >>> transform(mx.nd.ones((4, 5, 3))).shape
    (4, 5, 3)
    """

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Add the noise to the image (H, W, 3)."""
        return F.image.random_lighting(x, alpha_std=self._alpha)
