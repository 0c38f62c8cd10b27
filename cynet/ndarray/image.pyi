# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Sequence
from ..typing import ShapeLike
from .ndarray import NDArray

def adjust_lighting(data: NDArray, alpha: float | Sequence[float], out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The principal components of ImageNet's colors, in given parts, added to an image."""
def crop(data: NDArray, x: int, y: int, width: int, height: int, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The part of an image, or of each image of a batch, that begins at (x, y)."""
def flip_left_right(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The image, or each of a batch, mirrored left to right."""
def flip_top_bottom(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The image, or each of a batch, mirrored top to bottom."""
def normalize(data: NDArray, mean: float | Sequence[float] = (0.0,), std: float | Sequence[float] = (1.0,), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """``(data - mean) / std`` of each channel."""
def random_brightness(data: NDArray, min_factor: float, max_factor: float, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Pixels times a factor."""
def random_color_jitter(data: NDArray, brightness: float, contrast: float, saturation: float, hue: float, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Changes of brightness, contrast, saturation and hue, in an order that is drawn."""
def random_contrast(data: NDArray, min_factor: float, max_factor: float, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Pixels times a factor, plus the image's mean gray times what the factor lacks to 1."""
def random_flip_left_right(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The image mirrored left to right, or as it is, each with probability 1/2; in a batch each image on its own."""
def random_flip_top_bottom(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The image mirrored top to bottom, or as it is, each with probability 1/2; in a batch each image on its own."""
def random_hue(data: NDArray, min_factor: float, max_factor: float, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Colors turned by a part of the circle of hues: 1 is once around."""
def random_lighting(data: NDArray, alpha_std: float = 0.05, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Noise along the principal components of ImageNet's colors: one light for an image."""
def random_saturation(data: NDArray, min_factor: float, max_factor: float, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Pixels times a factor, plus their own gray times what the factor lacks to 1."""
def resize(data: NDArray, size: ShapeLike = (), keep_ratio: bool = False, interp: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The image, or each of a batch, in another size."""
def to_tensor(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Images as float32 with the channels first, divided by 255: from 0 to 1 for uint8."""
