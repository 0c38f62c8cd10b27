"""Changes of colors: _image_random_brightness, contrast, saturation, hue, color_jitter, lighting,
and _image_adjust_lighting.

Images (H, W, C) or batches (N, H, W, C), whose images are changed each on its own, of 1 or 3
channels. Integers are truncated, and those of uint8 kept from 0 to 255.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..._typedefs cimport TBlob, dtype_size, kNullOp
from ...kernels.image.colors cimport (
    ColorChange, change_colors, draw_factor, draw_jitter, draw_light, kBrightness, kContrast, kHue,
    kLight, kSaturation, light_of)
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext
from ..results cimport deliver, room_for

from ...base.errors import ArgumentError
from .._base import register_operator
from ..parameters import Float, FloatTuple
from ..property import OperatorProperty, ResourceRequest, merge_shapes
from .layout import check_image, check_pixels, sizes_of

cdef enum Amount:
    FIXED
    DRAWN
    JITTER


class ColorProperty(OperatorProperty):
    """Base of changes of colors."""

    differentiable = False
    inputs_doc = {"data": "Image (H, W, C) or batch (N, H, W, C) of 1 or 3 channels."}

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        if shape is not None:
            check_image(self, shape, (1, 3), axis=len(shape) - 1)
        return [shape], [shape], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space, ResourceRequest.random]

    def create_operator(self, ctx, in_shapes, in_types):
        check_pixels(self, ctx, in_types)
        operator = ColorOperator(*sizes_of(in_shapes[0]))
        self.set(operator)
        return operator


class FactorProperty(ColorProperty):
    """Base of changes by a factor that is drawn between two numbers."""

    min_factor = Float(doc="Least factor.", low=0)
    max_factor = Float(doc="Largest factor.", low=0)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if not self.min_factor <= self.max_factor:
            raise ArgumentError(f"operator {self.op_name}: min_factor is {self.min_factor}, more "
                                f"than max_factor, {self.max_factor}")

    def set(self, operator):
        """Tell the operator what to do."""
        operator.draw(self.kind, self.min_factor, self.max_factor)


class RandomBrightnessProperty(FactorProperty):
    """Pixels times a factor."""

    kind = kBrightness


class RandomContrastProperty(FactorProperty):
    """Pixels times a factor, plus the image's mean grey times what the factor lacks to 1."""

    kind = kContrast


class RandomSaturationProperty(FactorProperty):
    """Pixels times a factor, plus their own grey times what the factor lacks to 1."""

    kind = kSaturation


class RandomHueProperty(FactorProperty):
    """Colors turned by a part of the circle of hues: 1 is once around."""

    kind = kHue


class RandomColorJitterProperty(ColorProperty):
    """Changes of brightness, contrast, saturation and hue, in an order that is drawn.

    Factors are drawn from 1 - b to 1 + b of each strength b, the turn of hues from -b to b; what is
    0 is left out.
    """

    brightness = Float(doc="Strength of the change of brightness.", low=0)
    contrast = Float(doc="Strength of the change of contrast.", low=0)
    saturation = Float(doc="Strength of the change of saturation.", low=0)
    hue = Float(doc="Largest turn of hues, a part of the circle.", low=0)

    def set(self, operator):
        """Tell the operator what to do."""
        operator.jitter(self.brightness, self.contrast, self.saturation, self.hue)


class RandomLightingProperty(ColorProperty):
    """Noise along the principal components of ImageNet's colors: one light for an image."""

    alpha_std = Float(0.05, doc="Standard deviation of the parts of the components.", low=0)

    def set(self, operator):
        """Tell the operator what to do."""
        operator.draw(kLight, self.alpha_std, 0)


class AdjustLightingProperty(ColorProperty):
    """The principal components of ImageNet's colors, in given parts, added to an image."""

    alpha = FloatTuple(doc="Parts of the three components.")

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if len(self.alpha) != 3:
            raise ArgumentError(f"operator {self.op_name}: parameter 'alpha' takes three numbers, "
                                f"got {self.alpha}")

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def set(self, operator):
        """Tell the operator what to do."""
        operator.light(self.alpha)


cdef class ColorOperator(Operator):
    cdef int64_t images, pixels, channels
    cdef Amount amount
    cdef ColorChange change     # FIXED, and its kind of DRAWN
    cdef float low, high        # DRAWN: limits of the factor, or the deviation of light
    cdef float strengths[4]     # JITTER

    def __init__(self, images, height, width, channels):
        self.images, self.pixels, self.channels = images, height * width, channels

    def draw(self, kind, low, high):
        """A change of that kind whose factor is drawn from low to high."""
        self.amount, self.change.kind, self.low, self.high = DRAWN, kind, low, high

    def jitter(self, *strengths):
        """Up to four changes, of strengths of each kind."""
        self.amount = JITTER
        for i in range(4):
            self.strengths[i] = strengths[i]

    def light(self, alpha):
        """Light from parts of the components."""
        cdef float[3] parts
        parts[0], parts[1], parts[2] = alpha
        self.amount, self.change.kind = FIXED, kLight
        light_of(parts, self.change.light)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int threads = threads_for(in_data[0].size * 4)
        cdef int64_t i
        cdef char* out
        if req[0] == kNullOp:
            return 0
        out = <char*>room_for(ctx, out_data, req, 0)
        for i in prange(self.images, num_threads=threads, schedule="static"):
            self._image(ctx, &in_data[0], i, out)
        deliver(out_data, req, 0, out)
        return 0

    cdef void _image(self, OpContext* ctx, const TBlob* data, int64_t i, char* out) noexcept nogil:
        """Image i."""
        cdef ColorChange[4] changes
        cdef int count = 1, k
        cdef int64_t each = self.pixels * self.channels * dtype_size(data.dtype)
        changes[0] = self.change
        if self.amount == DRAWN and self.change.kind == kLight:
            draw_light(ctx.requested[1].seed, ctx.requested[1].stream, i, self.low, changes)
        elif self.amount == DRAWN:
            draw_factor(ctx.requested[1].seed, ctx.requested[1].stream, i, self.low, self.high,
                        changes)
        elif self.amount == JITTER:
            count = draw_jitter(ctx.requested[1].seed, ctx.requested[1].stream, i, self.strengths,
                                changes)
        if count == 0:
            memcpy(out + i * each, <const char*>data.data + i * each, each)
        for k in range(count):
            change_colors(data.dtype, changes[k], data.data if k == 0 else out, i, self.pixels,
                          self.channels, out)


register_operator("_image_random_brightness", RandomBrightnessProperty)
register_operator("_image_random_contrast", RandomContrastProperty)
register_operator("_image_random_saturation", RandomSaturationProperty)
register_operator("_image_random_hue", RandomHueProperty)
register_operator("_image_random_color_jitter", RandomColorJitterProperty)
register_operator("_image_random_lighting", RandomLightingProperty)
register_operator("_image_adjust_lighting", AdjustLightingProperty)
