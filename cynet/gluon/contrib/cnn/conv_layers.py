"""Deformable convolutions: one convolution computes the sampling offsets of another."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from ....base.errors import shown
from ....base.guard import guarded
from ....operator.paragraphs import with_paragraphs
from ...block import HybridBlock
from ...errors import MismatchError
from ...nn.activations import Activation
from ...nn.conv_layers import axis_sizes

if TYPE_CHECKING:
    from ....typing import InitializerLike, ShapeLike


_PARAMETERS_DOC = """Parameters
----------
channels : int
    Number of channels of the output.
kernel_size, strides, padding, dilation : int or tuple of int
    Settings of both convolutions along the two spatial axes, as of
    :class:`~cynet.gluon.nn.Conv2D`.
groups : int
    Number of groups of channels that are convolved separately.
num_deformable_group : int
    Number of groups of channels that have offsets of their own.
layout : str
    Order of the axes; only ``'NCHW'``.
use_bias : bool
    Whether to add a bias to each channel.
in_channels : int
    Number of channels of the input; 0 leaves it to the first forward pass.
activation : str, optional
    Name of an activation applied to the output, see :class:`~cynet.gluon.nn.Activation`.
weight_initializer, bias_initializer : Initializer or str, optional
    Initializers of the convolution's kernel and bias.
offset_weight_initializer, offset_bias_initializer : Initializer or str
    Initializers of the convolution that computes the offsets.
offset_use_bias : bool
    Whether the convolution that computes the offsets has a bias.
op_name, adj : optional
    Part of MXNet's signature; only their defaults are accepted.
prefix : str, optional
    Prefix of the parameters' names; by default made from the class's name and a number.
params : ParameterDict, optional
    Dictionary whose parameters are shared, by name.

Raises
------
ArgumentError
    `layout`, `op_name` or `adj` is another one."""


@guarded(but=("hybrid_forward",))
class _DeformableConv(HybridBlock):
    """Base of both deformable convolutions; `_each` offset channels belong to a kernel point."""

    _each = 2

    def __init__(
        self,
        channels: int,
        kernel_size: ShapeLike = (1, 1),
        strides: ShapeLike = (1, 1),
        padding: ShapeLike = (0, 0),
        dilation: ShapeLike = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike = "zeros",
        offset_weight_initializer: InitializerLike = "zeros",
        offset_bias_initializer: InitializerLike = "zeros",
        offset_use_bias: bool = True,
        op_name: str | None = None,
        adj: Any = None,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        if layout != "NCHW":
            raise MismatchError(f"layout is 'NCHW' for {type(self).__name__}, got {shown(layout)}")
        if op_name not in (None, type(self).__name__) or adj is not None:
            raise MismatchError(
                f"{type(self).__name__}: op_name is its own name and adj None, got "
                f"{shown(op_name)} and {shown(adj)}"
            )
        sizes = {
            "kernel": axis_sizes("kernel_size", kernel_size, 2),
            "stride": axis_sizes("strides", strides, 2),
            "pad": axis_sizes("padding", padding, 2),
            "dilate": axis_sizes("dilation", dilation, 2),
        }
        super().__init__(prefix=prefix, params=params)
        self._channels, self._in_channels = channels, in_channels
        self._taps = sizes["kernel"][0] * sizes["kernel"][1] * num_deformable_group
        shared = {**sizes, "num_group": groups, "layout": layout}
        moving = self._each * self._taps
        self._kwargs = {
            **shared,
            "num_filter": channels,
            "no_bias": not use_bias,
            "num_deformable_group": num_deformable_group,
        }
        self._offset_kwargs = {
            **shared,
            "num_filter": moving,
            "no_bias": not offset_use_bias,
            "cudnn_off": True,
        }
        kernel = (in_channels // groups, *sizes["kernel"])
        with self.name_scope():
            for name, count, bias, weights, biases in self._in_parameter_order(
                ("offset", moving, offset_use_bias, offset_weight_initializer,
                 offset_bias_initializer),
                ("deformable_conv", channels, use_bias, weight_initializer, bias_initializer),
            ):  # fmt: skip
                weight = self.params.get(
                    f"{name}_weight", shape=(count, *kernel), init=weights, allow_deferred_init=True
                )
                setattr(self, f"{name}_weight", weight)
                if bias:
                    bias = self.params.get(
                        f"{name}_bias", shape=(count,), init=biases, allow_deferred_init=True
                    )
                setattr(self, f"{name}_bias", bias or None)
            self.act = None if not activation else Activation(activation, prefix=f"{activation}_")

    def _in_parameter_order(self, offset, own):
        """Return the offset convolution and the main one in the order of their parameters."""
        return offset, own

    def hybrid_forward(
        self,
        F: Any,
        x: Any,
        offset_weight: Any,
        deformable_conv_weight: Any,
        offset_bias: Any = None,
        deformable_conv_bias: Any = None,
    ) -> Any:
        offset = F.Convolution(x, offset_weight, offset_bias, **self._offset_kwargs)
        out = self._deformable_convolution(
            F, x, offset, deformable_conv_weight, deformable_conv_bias
        )
        return out if self.act is None else self.act(out)

    def _deformable_convolution(self, F, x, offset, weight, bias):
        return F.contrib.DeformableConvolution(x, offset, weight, bias, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        k = self._kwargs
        text = f"kernel_size={k['kernel']}, stride={k['stride']}"
        for what, key, plain in (("padding", "pad", (0, 0)), ("dilation", "dilate", (1, 1))):
            if k[key] != plain:
                text += f", {what}={k[key]}"
        if k["num_group"] != 1:
            text += f", groups={k['num_group']}"
        if self.deformable_conv_bias is None:
            text += ", bias=False"
        if self.act:
            text += f", {self.act}"
        shape = self.deformable_conv_weight.shape
        return f"{type(self).__name__}({shape[1] or None} -> {shape[0]}, {text})"


def _with_parameter_docs(cls):
    """Class decorator: completes the docstring; the default of `op_name` is the class's name."""

    @functools.wraps(cls.__init__)
    def init(self, *args, **kwargs):
        _DeformableConv.__init__(self, *args, **kwargs)

    signature = inspect.signature(cls.__init__)
    parameters = dict(signature.parameters)
    parameters["op_name"] = parameters["op_name"].replace(default=cls.__name__)
    init.__signature__ = signature.replace(parameters=list(parameters.values()))
    cls.__init__ = init
    return with_paragraphs(parameters=_PARAMETERS_DOC)(cls)


@_with_parameter_docs
class DeformableConvolution(_DeformableConv):
    """A convolution whose sampling points are shifted by offsets that another convolution computes.

    Dai et al., "Deformable convolutional networks", 2017. With offsets of zero, as they are at
    first, it is an ordinary convolution.

    {parameters}

    Examples
    --------
    >>> layer = mx.gluon.contrib.cnn.DeformableConvolution(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 2, 5, 5))).shape
    (1, 4, 5, 5)
    """

    def _alias(self):
        return "deformable_conv"


@_with_parameter_docs
class ModulatedDeformableConvolution(_DeformableConv):
    """DeformableConvolution whose samples are multiplied by factors between 0 and 2.

    Zhu et al., "Deformable ConvNets v2", 2019. The convolution that computes the offsets
    computes the factors, too: twice the sigmoid of its last channels.

    {parameters}

    Examples
    --------
    >>> layer = mx.gluon.contrib.cnn.ModulatedDeformableConvolution(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 2, 5, 5))).shape
    (1, 4, 5, 5)
    """

    _each = 3

    def _alias(self):
        return "modulated_deformable_conv"

    def _in_parameter_order(self, offset, own):
        return own, offset

    def _deformable_convolution(self, F, x, offset, weight, bias):
        shifts = F.slice_axis(offset, axis=1, begin=0, end=2 * self._taps)
        mask = F.slice_axis(offset, axis=1, begin=2 * self._taps, end=None)
        mask = F.sigmoid(mask) * 2
        return F.contrib.ModulatedDeformableConvolution(
            x, shifts, mask, weight, bias, name="fwd", **self._kwargs
        )
