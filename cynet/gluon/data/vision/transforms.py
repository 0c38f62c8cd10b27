"""Transforms of images, alone or one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .... import ndarray as nd
from ....base.errors import (
    ArgumentError,
    ArgumentTypeError,
    ShapeError,
    UndefinedError,
    shown,
)
from ....base.guard import guarded
from ....ndarray import NDArray
from ....symbol import Symbol
from ...block import Block, HybridBlock
from ...nn import HybridSequential, Sequential
from ..seeding import sample_generator
from .resizing import CenterCrop, CropResize, RandomResizedCrop, RandomRotation, Resize, Rotate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....base.typing import DTypeLike

__all__ = [
    "Cast",
    "CenterCrop",
    "Compose",
    "CropResize",
    "Normalize",
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


@guarded(but=("forward",))
class Compose(Sequential):
    """Transforms one after the other.

    Parameters
    ----------
    transforms : list of Block or callable

    Examples
    --------
    >>> import cynet as mx
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
                self.add(_Function(each))


class _Function(Block):
    """A function as a transform."""

    def __init__(self, function):
        super().__init__()
        if not callable(function):
            raise ArgumentTypeError(f"Compose takes Blocks and functions, got {shown(function)}")
        self._function = function

    def forward(self, *args):
        return self._function(*args)


@guarded(but=("hybrid_forward",))
class Cast(HybridBlock):
    """Another dtype.

    Parameters
    ----------
    dtype : dtype
    """

    def __init__(self, dtype: DTypeLike = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The image in that dtype."""
        return F.cast(x, dtype=self._dtype)


@guarded(but=("forward",))
class ToTensor(HybridBlock):
    """Images (H, W, C) or (N, H, W, C) of uint8 as (C, H, W) or (N, C, H, W) from 0 to 1.

    Examples
    --------
    >>> import cynet as mx
    >>> float(ToTensor()(mx.nd.ones((2, 4, 3), dtype="uint8") * 255).asnumpy().max())
    1.0
    """

    def forward(self, x: Any) -> Any:
        """The images as float32."""
        _check_image(x, "ToTensor")
        if x.ndim not in (3, 4):
            raise ShapeError(f"ToTensor takes (H, W, C) or (N, H, W, C), got shape {x.shape}")
        axes = (2, 0, 1) if x.ndim == 3 else (0, 3, 1, 2)
        return nd.transpose(nd.cast(x, dtype="float32"), axes=axes) / 255.0


@guarded(but=("forward",))
class Normalize(HybridBlock):
    """``(x - mean) / std`` of each channel of (C, H, W) or (N, C, H, W).

    Parameters
    ----------
    mean, std : float or list of float
        One number, or one a channel.
    """

    def __init__(
        self, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0
    ) -> None:
        super().__init__()
        self._mean = np.atleast_1d(np.asarray(mean, np.float32))
        self._std = np.atleast_1d(np.asarray(std, np.float32))

    def forward(self, x: Any) -> Any:
        """The images, normalized."""
        _check_image(x, "Normalize")
        if x.ndim not in (3, 4):
            raise ShapeError(f"Normalize takes (C, H, W) or (N, C, H, W), got shape {x.shape}")
        channels = x.shape[-3]
        if channels not in (1, 3):
            raise ShapeError(f"Normalize takes 1 or 3 channels, got shape {x.shape}")
        for each in (self._mean, self._std):
            if len(each) not in (1, channels):
                raise ShapeError(
                    f"Normalize: {len(each)} numbers do not fit {channels} channels ({x.shape})"
                )
        shape = (*(1,) * (x.ndim - 3), -1, 1, 1)
        mean = nd.array(self._mean.reshape(shape), dtype=x.dtype, ctx=x.context)
        std = nd.array(self._std.reshape(shape), dtype=x.dtype, ctx=x.context)
        return nd.broadcast_div(nd.broadcast_sub(x, mean), std)


class _RandomFlip(HybridBlock):
    """Mirrors an image (H, W, C) every second time."""

    _axis = 0

    def forward(self, x: Any) -> Any:
        """The image, or its mirror image."""
        _check_image(x, type(self).__name__)
        if sample_generator().uniform() < 0.5:
            return x
        return nd.flip(x, axis=x.ndim - 3 + self._axis)


class RandomFlipLeftRight(_RandomFlip):
    """Mirrors an image left to right every second time."""

    _axis = 1


class RandomFlipTopBottom(_RandomFlip):
    """Mirrors an image top to bottom every second time."""


@guarded(but=("forward",))
class RandomApply(Sequential):
    """A transform, or several, with a probability.

    Parameters
    ----------
    transforms : Block or list of Block
    p : float
    """

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms if isinstance(transforms, Block) else Compose(transforms)
        self.p = p

    def forward(self, x: Any) -> Any:
        """The image, or the transformed one."""
        return self.transforms(x) if sample_generator().uniform() < self.p else x


class _RandomColor(HybridBlock):
    """Changes colours by a factor drawn from ``[max(0, 1 - strength), 1 + strength]``."""

    def __init__(self, strength):
        super().__init__()
        if not strength >= 0:
            raise ArgumentError(
                f"{type(self).__name__}: a number from 0 on is expected, got {shown(strength)}"
            )
        self._strength = float(strength)

    def _factor(self):
        return float(sample_generator().uniform(max(0.0, 1 - self._strength), 1 + self._strength))

    def forward(self, x: Any) -> Any:
        """The image (H, W, C), changed; uint8 stays uint8."""
        _check_image(x, type(self).__name__)
        out = self._change(x.astype("float32"), self._factor())
        return _in_dtype(out, x.dtype)

    def _change(self, x, factor):
        raise UndefinedError(f"{type(self).__name__} defines no _change")


class RandomBrightness(_RandomColor):
    """Makes an image brighter or darker."""

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness)

    def _change(self, x, factor):
        return x * factor


class RandomContrast(_RandomColor):
    """Changes the contrast of an image."""

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast)

    def _change(self, x, factor):
        mean = nd.mean(_gray(x))
        return nd.broadcast_add(x * factor, mean * (1 - factor))


class RandomSaturation(_RandomColor):
    """Changes the saturation of an image."""

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation)

    def _change(self, x, factor):
        return nd.broadcast_add(x * factor, _gray(x) * (1 - factor))


class RandomHue(_RandomColor):
    """Turns the hue of an image."""

    def __init__(self, hue: float) -> None:
        super().__init__(hue)

    def _factor(self):
        return float(sample_generator().uniform(-self._strength, self._strength))

    def _change(self, x, factor):
        u, w = np.cos(factor * np.pi), np.sin(factor * np.pi)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, u, -w], [0.0, w, u]])
        matrix = _FROM_YIQ @ turn @ _TO_YIQ
        return nd.dot(x, nd.array(matrix.T, ctx=x.context))


_TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])
_FROM_YIQ = np.linalg.inv(_TO_YIQ)


@guarded(but=("forward",))
class RandomColorJitter(HybridBlock):
    """Changes brightness, contrast, saturation and hue, in an order that is drawn.

    Parameters
    ----------
    brightness, contrast, saturation, hue : float
    """

    def __init__(
        self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0
    ) -> None:
        super().__init__()
        kinds = (RandomBrightness, RandomContrast, RandomSaturation, RandomHue)
        given = (brightness, contrast, saturation, hue)
        self._changes = [kind(strength) for kind, strength in zip(kinds, given) if strength > 0]

    def forward(self, x: Any) -> Any:
        """The image, changed."""
        for k in sample_generator().permutation(len(self._changes)):
            x = self._changes[k](x)
        return x


@guarded(but=("forward",))
class RandomLighting(HybridBlock):
    """Adds noise along the principal components of ImageNet's colours.

    Parameters
    ----------
    alpha : float
        Standard deviation of the noise.
    """

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha

    def forward(self, x: Any) -> Any:
        """The image (H, W, 3), with another light."""
        _check_image(x, "RandomLighting")
        noise = sample_generator().normal(0, self._alpha, 3)
        light = (_EIGENVECTORS * noise) @ _EIGENVALUES
        out = nd.broadcast_add(x.astype("float32"), nd.array(light[None, None], ctx=x.context))
        return _in_dtype(out, x.dtype)


_EIGENVALUES = np.array([55.46, 4.794, 1.148])
_EIGENVECTORS = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)


def _check_image(x, where):
    if not isinstance(x, (NDArray, Symbol)):
        raise ArgumentError(f"{where} takes an NDArray, got {shown(x)}")


def _gray(x):
    return nd.dot(x, nd.array(_TO_YIQ[0][:, None], ctx=x.context))


def _in_dtype(x, dtype):
    """The values in another dtype; those of uint8 between 0 and 255."""
    if dtype == np.uint8:
        x = nd.clip(x, 0, 255)
    return x if x.dtype == dtype else x.astype(dtype)
