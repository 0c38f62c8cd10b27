# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Sequence
from ..typing import ShapeLike
from .symbol import Symbol

def adjust_lighting(data: Symbol | None = None, alpha: float | Sequence[float] = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The principal components of ImageNet's colors, in given parts, added to an image."""
def crop(data: Symbol | None = None, x: int = ..., y: int = ..., width: int = ..., height: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The part of an image, or of each image of a batch, that begins at (x, y)."""
def flip_left_right(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The image, or each of a batch, mirrored left to right."""
def flip_top_bottom(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The image, or each of a batch, mirrored top to bottom."""
def normalize(data: Symbol | None = None, mean: float | Sequence[float] = (0.0,), std: float | Sequence[float] = (1.0,), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """``(data - mean) / std`` of each channel."""
def random_brightness(data: Symbol | None = None, min_factor: float = ..., max_factor: float = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Pixels times a factor."""
def random_color_jitter(data: Symbol | None = None, brightness: float = ..., contrast: float = ..., saturation: float = ..., hue: float = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Changes of brightness, contrast, saturation and hue, in an order that is drawn."""
def random_contrast(data: Symbol | None = None, min_factor: float = ..., max_factor: float = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Pixels times a factor, plus the image's mean gray times what the factor lacks to 1."""
def random_flip_left_right(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The image mirrored left to right, or as it is, each with probability 1/2; in a batch each image on its own."""
def random_flip_top_bottom(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The image mirrored top to bottom, or as it is, each with probability 1/2; in a batch each image on its own."""
def random_hue(data: Symbol | None = None, min_factor: float = ..., max_factor: float = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Colors turned by a part of the circle of hues: 1 is once around."""
def random_lighting(data: Symbol | None = None, alpha_std: float = 0.05, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Noise along the principal components of ImageNet's colors: one light for an image."""
def random_saturation(data: Symbol | None = None, min_factor: float = ..., max_factor: float = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Pixels times a factor, plus their own gray times what the factor lacks to 1."""
def resize(data: Symbol | None = None, size: ShapeLike = (), keep_ratio: bool = False, interp: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The image, or each of a batch, in another size."""
def to_tensor(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Images as float32 with the channels first, divided by 255: from 0 to 1 for uint8."""
