"""Changes of colors: _image_random_brightness, contrast, saturation, hue, color_jitter, lighting,
and _image_adjust_lighting.

Images (H, W, C) or batches (N, H, W, C), whose images are changed each on its own, of 1 or 3
channels. Integers are truncated, and those of uint8 clipped to 0 to 255.
"""

from ...base.errors import ArgumentError
from ..kernel_property import Kernel
from ..parameters import Float, FloatTuple
from ..property import merge_shapes
from .layout import PixelsProperty, check_image


class ColorProperty(PixelsProperty):  # base of operators that change colors
    """Base of operators that change colors."""

    differentiable = False
    inputs_doc = {"data": "Image (H, W, C) or batch (N, H, W, C) of 1 or 3 channels."}

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        if shape is not None:
            check_image(self, shape, (1, 3), axis=len(shape) - 1)
        return [shape], [shape], []


class FactorProperty(ColorProperty):  # base: a random factor between two numbers
    """Base of color changes by a random factor between two numbers; `kind` is a ColorKind of
    kernels/image/colors.cc."""

    min_factor = Float(doc="Least factor.", low=0)
    max_factor = Float(doc="Largest factor.", low=0)
    forward = Kernel("random_factor", whole=True, draws=True)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if not self.min_factor <= self.max_factor:
            raise ArgumentError(
                f"operator {self.op_name}: min_factor is {self.min_factor}, more "
                f"than max_factor, {self.max_factor}"
            )


class RandomBrightnessProperty(FactorProperty, operator="_image_random_brightness"):
    """Pixels times a factor."""

    kind = 0
    example = """
    >>> x = mx.nd.random.uniform(0, 255, shape=(4, 5, 3))
    >>> y = mx.nd.image.random_brightness(x, min_factor=0.5, max_factor=1.5)
    >>> y.shape
    (4, 5, 3)
    """


class RandomContrastProperty(FactorProperty, operator="_image_random_contrast"):
    """Pixels times a factor, plus the image's mean gray times 1 - factor."""

    kind = 1
    example = """
    >>> x = mx.nd.random.uniform(0, 255, shape=(4, 5, 3))
    >>> y = mx.nd.image.random_contrast(x, min_factor=0.5, max_factor=1.5)
    >>> y.shape
    (4, 5, 3)
    """


class RandomSaturationProperty(FactorProperty, operator="_image_random_saturation"):
    """Pixels times a factor, plus their own gray times 1 - factor."""

    kind = 2
    example = """
    >>> x = mx.nd.random.uniform(0, 255, shape=(4, 5, 3))
    >>> y = mx.nd.image.random_saturation(x, min_factor=0.5, max_factor=1.5)
    >>> y.shape
    (4, 5, 3)
    """


class RandomHueProperty(FactorProperty, operator="_image_random_hue"):
    """Rotate hues by a fraction of the color circle: 1 is a full turn."""

    kind = 3
    example = """
    >>> x = mx.nd.random.uniform(0, 255, shape=(4, 5, 3))
    >>> y = mx.nd.image.random_hue(x, min_factor=0.9, max_factor=1.1)
    >>> y.shape
    (4, 5, 3)
    """


class RandomColorJitterProperty(ColorProperty, operator="_image_random_color_jitter"):
    """Changes of brightness, contrast, saturation and hue, in an order that is drawn.

    Factors are drawn from 1 - b to 1 + b of each strength b, the turn of hues from -b to b; what is
    0 is left out.
    """

    brightness = Float(doc="Strength of the change of brightness.", low=0)
    contrast = Float(doc="Strength of the change of contrast.", low=0)
    saturation = Float(doc="Strength of the change of saturation.", low=0)
    hue = Float(doc="Largest turn of hues, a part of the circle.", low=0)
    forward = Kernel("color_jitter", whole=True, draws=True)
    example = """
    >>> x = mx.nd.random.uniform(0, 255, shape=(4, 5, 3))
    >>> how = {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4}
    >>> y = mx.nd.image.random_color_jitter(x, hue=0.1, **how)
    >>> y.shape
    (4, 5, 3)
    """


class RandomLightingProperty(ColorProperty, operator="_image_random_lighting"):
    """Noise along the principal components of ImageNet's colors: one light for an image."""

    alpha_std = Float(0.05, doc="Standard deviation of the parts of the components.", low=0)
    forward = Kernel("random_light", whole=True, draws=True)
    example = """
    >>> x = mx.nd.random.uniform(0, 255, shape=(4, 5, 3))
    >>> y = mx.nd.image.random_lighting(x, alpha_std=0.1)
    >>> y.shape
    (4, 5, 3)
    """


class AdjustLightingProperty(ColorProperty, operator="_image_adjust_lighting"):
    """The principal components of ImageNet's colors, in given parts, added to an image."""

    alpha = FloatTuple(doc="Parts of the three components.")
    forward = Kernel("adjust_light", whole=True)
    example = """
    >>> x = mx.nd.ones((1, 1, 3)) * 100
    >>> mx.nd.image.adjust_lighting(x, alpha=(0.1, 0, 0))
    [[[96.852646 96.778885 96.76335 ]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if len(self.alpha) != 3:
            raise ArgumentError(
                f"operator {self.op_name}: parameter 'alpha' takes three numbers, got {self.alpha}"
            )
