"""Convolutions and transposed convolutions over one, two or three spatial axes."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from ...base.errors import shown
from ...base.guard import guarded
from ...base.kinds import to_count
from ...operator.nn.spatial_window import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    channels_first_shape,
    shape_in_layout,
)
from ...operator.paragraphs import with_paragraphs
from ..block import HybridBlock
from ..errors import MismatchError
from .activations import Activation

if TYPE_CHECKING:
    from ...typing import InitializerLike, ShapeLike

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"]


def check_layout(layout, axes):
    """Raise an error for a layout that does not fit this number of spatial axes."""
    first, second = CHANNELS_FIRST[axes], CHANNELS_LAST[axes]
    if layout not in (first, second):
        raise MismatchError(
            f"layout is {first!r} or {second!r} for {axes} spatial axes, got {shown(layout)}"
        )


def axis_sizes(what, value, axes):
    """Return a tuple of `axes` ints, from one int or `axes` ints.

    >>> axis_sizes("strides", 2, 3)
    (2, 2, 2)
    """
    if hasattr(value, "__index__"):
        return (value,) * axes
    if not isinstance(value, (tuple, list)) or len(value) != axes:
        ints = "1 int" if axes == 1 else f"{axes} ints"
        raise MismatchError(f"{what} is an int or {ints}, got {shown(value)}")
    return tuple(value)


class _Conv(HybridBlock):
    """The base of all convolutions. A subclass says over how many spatial axes it goes."""

    _axes = 0
    _is_transposed = False

    def __init__(
        self,
        channels,
        kernel_size,
        strides,
        padding,
        dilation,
        groups,
        layout,
        in_channels=0,
        activation=None,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        output_padding=0,
        **kwargs,
    ):
        axes = self._axes
        check_layout(layout, axes)
        groups = to_count(f"{type(self).__name__}: groups", groups)
        kernel_size = axis_sizes("kernel_size", kernel_size, axes)
        sizes = {
            "kernel": kernel_size,
            "stride": axis_sizes("strides", strides, axes),
            "pad": axis_sizes("padding", padding, axes),
            "dilate": axis_sizes("dilation", dilation, axes),
        }
        if self._is_transposed:
            sizes["adj"] = axis_sizes("output_padding", output_padding, axes)
            outer, inner = in_channels, channels // groups
        else:
            outer, inner = channels, in_channels // groups
        super().__init__(**kwargs)
        self._channels = channels
        self._in_channels = in_channels
        self._kwargs = {
            **sizes,
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=shape_in_layout((outer, inner, *kernel_size), layout),
                init=weight_initializer,
                allow_deferred_init=True,
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True
                )
            self.act = (
                None if activation is None else Activation(activation, prefix=f"{activation}_")
            )

    def _alias(self):
        return "conv"

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        compute = F.Deconvolution if self._is_transposed else F.Convolution
        out = compute(x, weight, bias, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        k, axes = self._kwargs, self._axes
        text = f"kernel_size={k['kernel']}, stride={k['stride']}"
        for what, key, plain in (("padding", "pad", 0), ("dilation", "dilate", 1)):
            if k[key] != (plain,) * axes:
                text += f", {what}={k[key]}"
        if k.get("adj") not in (None, (0,) * axes):
            text += f", output_padding={k['adj']}"
        if k["num_group"] != 1:
            text += f", groups={k['num_group']}"
        if self.bias is None:
            text += ", bias=False"
        if self.act:
            text += f", {self.act}"
        outer, inner, *_ = channels_first_shape(self.weight.shape, k["layout"])
        ends = inner or None, outer
        if self._is_transposed:
            ends = inner, outer or None
        return f"{type(self).__name__}({ends[0]} -> {ends[1]}, {text})"


_PARAMETERS_DOC = """Parameters
----------
channels : int
    Number of channels of the output.
kernel_size : int or tuple of int
    Extent of the kernel along each spatial axis.
{sizes}
groups : int
    Number of groups of channels that are convolved separately.
layout : str, optional
    Order of the axes, {layouts}.
activation : str, optional
    Name of an activation applied to the output, see :class:`Activation`.
use_bias : bool
    Whether to add a bias to each channel.
weight_initializer, bias_initializer : Initializer or str, optional
    Initializers of the kernel and the bias.
in_channels : int
    Number of channels of the input; 0 leaves it to the first forward pass.
**kwargs
    Arguments of :class:`Block`: ``prefix`` and ``params``."""
_SIZES_DOC = """strides, padding, dilation : int or tuple of int
    Step of the kernel; zeros added on both sides of each axis; distance between neighbors in
    the kernel."""
_TRANSPOSED_SIZES_DOC = """strides, padding : int or tuple of int
    Spacing of input elements in the output; elements removed on both sides of each axis of the
    output.
output_padding, dilation : int or tuple of int
    Elements added at the end of each axis of the output; distance between neighbors in the
    kernel."""
_SPATIAL_ARGUMENTS = "strides", "padding", "output_padding", "dilation"
LAYOUT_DOCS = {  # texts about the layouts for docstrings
    1: "``'NCW'``, the default, or ``'NWC'``: batch, channels, width",
    2: "``'NCHW'``, the default, or ``'NHWC'``: batch, channels, height, width",
    3: "``'NCDHW'``, the default, or ``'NDHWC'``: batch, channels, depth,\n    height, width",
}


class _DocumentedConv(_Conv):  # fills in docstrings for its axes
    """Base of convolutions whose docstring and signature are filled in for their number of axes."""

    _sizes = ""  # text about sizes for the docstring

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_axes" in vars(cls):
            text = _PARAMETERS_DOC.format(sizes=cls._sizes, layouts=LAYOUT_DOCS[cls._axes])
            with_paragraphs(parameters=text)(cls)
            cls.__init__ = _set_default_axes(cls.__init__, cls._axes)


def _set_default_axes(init, axes):
    """Return `init` with defaults for this number of spatial axes in its signature."""

    @functools.wraps(init)
    def init_with_defaults(self, *args, **kwargs):
        init(self, *args, **kwargs)

    def axes_default(parameter):
        if parameter.name == "layout":
            return CHANNELS_FIRST[axes]
        one = parameter.default
        return (one,) * axes if parameter.name in _SPATIAL_ARGUMENTS and axes > 1 else one

    signature = inspect.signature(init)
    parameters = [p.replace(default=axes_default(p)) for p in signature.parameters.values()]
    init_with_defaults.__signature__ = signature.replace(parameters=parameters)
    return init_with_defaults


@guarded
class _ForwardConv(_DocumentedConv):  # convolutions that are not transposed
    _sizes = _SIZES_DOC

    def __init__(
        self,
        channels: int,
        kernel_size: ShapeLike,
        strides: ShapeLike = 1,
        padding: ShapeLike = 0,
        dilation: ShapeLike = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            CHANNELS_FIRST[self._axes] if layout is None else layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            **kwargs,
        )


@guarded
class _TransposedConv(_DocumentedConv):
    _is_transposed = True
    _sizes = _TRANSPOSED_SIZES_DOC

    def __init__(
        self,
        channels: int,
        kernel_size: ShapeLike,
        strides: ShapeLike = 1,
        padding: ShapeLike = 0,
        output_padding: ShapeLike = 0,
        dilation: ShapeLike = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            CHANNELS_FIRST[self._axes] if layout is None else layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            output_padding,
            **kwargs,
        )


class Conv1D(_ForwardConv):
    """A convolution over one spatial axis.

    {parameters}

    Examples
    --------
    >>> layer = mx.gluon.nn.Conv1D(channels=1, kernel_size=2)
    >>> layer.initialize(mx.init.One())
    >>> layer(mx.nd.array([[[1, 2, 3, 4]]])).asnumpy().tolist()
    [[[3.0, 5.0, 7.0]]]
    >>> layer.weight.shape, layer.bias.shape
    ((1, 1, 2), (1,))
    """

    _axes = 1


class Conv2D(_ForwardConv):
    """A convolution over two spatial axes.

    {parameters}

    Examples
    --------
    >>> layer = mx.gluon.nn.Conv2D(channels=1, kernel_size=3, padding=1)
    >>> layer.initialize(mx.init.One())
    >>> layer(mx.nd.ones((1, 1, 3, 3)))[0, 0].asnumpy()  # how many neighbors each pixel has
    array([[4., 6., 4.],
           [6., 9., 6.],
           [4., 6., 4.]], dtype=float32)
    >>> layer = mx.gluon.nn.Conv2D(channels=16, kernel_size=3, strides=2, padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((8, 3, 32, 32))).shape, layer.weight.shape
    ((8, 16, 16, 16), (16, 3, 3, 3))
    """

    _axes = 2


class Conv3D(_ForwardConv):
    """A convolution over three spatial axes.

    {parameters}

    Examples
    --------
    >>> layer = mx.gluon.nn.Conv3D(4, 3)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 1, 5, 5, 5))).shape
    (1, 4, 3, 3, 3)
    """

    _axes = 3


class Conv1DTranspose(_TransposedConv):
    """A transposed convolution over one spatial axis.

    {parameters}

    Examples
    --------
    >>> layer = mx.gluon.nn.Conv1DTranspose(channels=1, kernel_size=2, strides=2)
    >>> layer.initialize(mx.init.One())
    >>> layer(mx.nd.array([[[1, 2]]])).asnumpy().tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """

    _axes = 1


class Conv2DTranspose(_TransposedConv):
    """A transposed convolution over two spatial axes.

    {parameters}

    Examples
    --------
    >>> layer = mx.gluon.nn.Conv2DTranspose(channels=1, kernel_size=2, strides=2)
    >>> layer.initialize(mx.init.One())
    >>> layer(mx.nd.array([[[[1, 2]]]]))[0, 0].asnumpy()  # twice as high and wide
    array([[1., 1., 2., 2.],
           [1., 1., 2., 2.]], dtype=float32)
    """

    _axes = 2


class Conv3DTranspose(_TransposedConv):
    """A transposed convolution over three spatial axes.

    {parameters}

    Examples
    --------
    >>> layer = mx.gluon.nn.Conv3DTranspose(4, 3)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 1, 5, 5, 5))).shape
    (1, 4, 7, 7, 7)
    """

    _axes = 3
