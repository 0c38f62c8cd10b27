"""Pooling over one, two or three spatial axes, and reflection padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentTypeError, shown
from ...operator.paragraphs import with_paragraphs
from ..block import HybridBlock
from .conv_layers import LAYOUT_DOCS, axis_sizes, check_layout

if TYPE_CHECKING:
    from ...typing import ShapeLike

__all__ = ["AvgPool1D", "AvgPool2D", "AvgPool3D", "GlobalAvgPool1D", "GlobalAvgPool2D"]
__all__ += ["GlobalAvgPool3D", "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D", "MaxPool1D"]
__all__ += ["MaxPool2D", "MaxPool3D", "ReflectionPad2D"]


class _Pooling(HybridBlock):
    """The base of all pooling layers. A subclass says over how many spatial axes it goes."""

    _axes = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        layout = f"layout : str\n    Order of the axes, {LAYOUT_DOCS[cls._axes]}."
        with_paragraphs(layout=layout)(cls)

    def __init__(
        self,
        pool_size,
        strides,
        padding,
        ceil_mode,
        pool_type,
        layout,
        global_pool=False,
        count_include_pad=None,
        **kwargs,
    ):
        axes = self._axes
        check_layout(layout, axes)
        pool_size = axis_sizes("pool_size", pool_size, axes)
        strides = pool_size if strides is None else axis_sizes("strides", strides, axes)
        padding = axis_sizes("padding", padding, axes)
        super().__init__(**kwargs)
        self._kwargs = {
            "kernel": pool_size,
            "stride": strides,
            "pad": padding,
            "global_pool": global_pool,
            "pool_type": pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self):
        return "pool"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        k = self._kwargs
        return (
            f"{type(self).__name__}(size={k['kernel']}, stride={k['stride']}, padding={k['pad']},"
            f" ceil_mode={k['pooling_convention'] == 'full'}, global_pool={k['global_pool']},"
            f" pool_type={k['pool_type']}, layout={k['layout']})"
        )


class MaxPool1D(_Pooling):
    """Max pooling over one spatial axis.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.MaxPool1D()(mx.nd.array([[[1, 3, 5, 9]]])).asnumpy().tolist()
    [[[3.0, 9.0]]]
    """

    _axes = 1

    def __init__(
        self,
        pool_size: ShapeLike = 2,
        strides: ShapeLike | None = None,
        padding: ShapeLike = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, "max", layout, **kwargs)


class MaxPool2D(_Pooling):
    """Max pooling over two spatial axes.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.MaxPool2D()(mx.nd.arange(16).reshape((1, 1, 4, 4))).asnumpy().tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """

    _axes = 2

    def __init__(
        self,
        pool_size: ShapeLike = (2, 2),
        strides: ShapeLike | None = None,
        padding: ShapeLike = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, "max", layout, **kwargs)


class MaxPool3D(_Pooling):
    """Max pooling over three spatial axes.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.MaxPool3D()(mx.nd.arange(8).reshape((1, 1, 2, 2, 2))).asnumpy().tolist()
    [[[[[7.0]]]]]
    """

    _axes = 3

    def __init__(
        self,
        pool_size: ShapeLike = (2, 2, 2),
        strides: ShapeLike | None = None,
        padding: ShapeLike = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, "max", layout, **kwargs)


class AvgPool1D(_Pooling):
    """Average pooling over one spatial axis.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.AvgPool1D()(mx.nd.array([[[1, 3, 5, 9]]])).asnumpy().tolist()
    [[[2.0, 7.0]]]
    """

    _axes = 1

    def __init__(
        self,
        pool_size: ShapeLike = 2,
        strides: ShapeLike | None = None,
        padding: ShapeLike = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        more = {"count_include_pad": count_include_pad, **kwargs}
        super().__init__(pool_size, strides, padding, ceil_mode, "avg", layout, **more)


class AvgPool2D(_Pooling):
    """Average pooling over two spatial axes.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.AvgPool2D()(mx.nd.arange(16).reshape((1, 1, 4, 4))).asnumpy().tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """

    _axes = 2

    def __init__(
        self,
        pool_size: ShapeLike = (2, 2),
        strides: ShapeLike | None = None,
        padding: ShapeLike = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        more = {"count_include_pad": count_include_pad, **kwargs}
        super().__init__(pool_size, strides, padding, ceil_mode, "avg", layout, **more)


class AvgPool3D(_Pooling):
    """Average pooling over three spatial axes.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.AvgPool3D()(mx.nd.arange(8).reshape((1, 1, 2, 2, 2))).asnumpy().tolist()
    [[[[[3.5]]]]]
    """

    _axes = 3

    def __init__(
        self,
        pool_size: ShapeLike = (2, 2, 2),
        strides: ShapeLike | None = None,
        padding: ShapeLike = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        more = {"count_include_pad": count_include_pad, **kwargs}
        super().__init__(pool_size, strides, padding, ceil_mode, "avg", layout, **more)


class GlobalMaxPool1D(_Pooling):
    """The maximum of each channel over one spatial axis.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.GlobalMaxPool1D()(mx.nd.array([[[1, 3, 5, 9]]])).asnumpy().tolist()
    [[[9.0]]]
    """

    _axes = 1

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(1, None, 0, True, "max", layout, global_pool=True, **kwargs)


class GlobalMaxPool2D(_Pooling):
    """The maximum of each channel over two spatial axes.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.GlobalMaxPool2D()(mx.nd.arange(8).reshape((1, 2, 2, 2))).asnumpy().tolist()
    [[[[3.0]], [[7.0]]]]
    """

    _axes = 2

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(1, None, 0, True, "max", layout, global_pool=True, **kwargs)


class GlobalMaxPool3D(_Pooling):
    """The maximum of each channel over three spatial axes.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.GlobalMaxPool3D()(mx.nd.arange(16).reshape((1, 2, 2, 2, 2))).asnumpy().tolist()
    [[[[[7.0]]], [[[15.0]]]]]
    """

    _axes = 3

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(1, None, 0, True, "max", layout, global_pool=True, **kwargs)


class GlobalAvgPool1D(_Pooling):
    """The mean of each channel over one spatial axis.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.GlobalAvgPool1D()(mx.nd.array([[[1, 3, 5, 9]]])).asnumpy().tolist()
    [[[4.5]]]
    """

    _axes = 1

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(1, None, 0, True, "avg", layout, global_pool=True, **kwargs)


class GlobalAvgPool2D(_Pooling):
    """The mean of each channel over two spatial axes.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.GlobalAvgPool2D()(mx.nd.arange(8).reshape((1, 2, 2, 2))).asnumpy().tolist()
    [[[[1.5]], [[5.5]]]]
    """

    _axes = 2

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(1, None, 0, True, "avg", layout, global_pool=True, **kwargs)


class GlobalAvgPool3D(_Pooling):
    """The mean of each channel over three spatial axes.

    Parameters
    ----------
    {layout}

    Examples
    --------
    >>> mx.gluon.nn.GlobalAvgPool3D()(mx.nd.arange(16).reshape((1, 2, 2, 2, 2))).asnumpy().tolist()
    [[[[[3.5]]], [[[11.5]]]]]
    """

    _axes = 3

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(1, None, 0, True, "avg", layout, global_pool=True, **kwargs)


class ReflectionPad2D(HybridBlock):
    """Pads images by reflecting their border pixels.

    Parameters
    ----------
    padding : int or tuple of int
        Width of the border; or 8 numbers, before and after each of the four axes.

    Raises
    ------
    ArgumentTypeError
        `padding` is neither an int nor a sequence of 8 of them.

    Examples
    --------
    >>> mx.gluon.nn.ReflectionPad2D(1)(mx.nd.array([[[[1, 2], [3, 4]]]]))[0, 0].asnumpy()
    array([[4., 3., 4., 3.],
           [2., 1., 2., 1.],
           [4., 3., 4., 3.],
           [2., 1., 2., 1.]], dtype=float32)
    """

    def __init__(self, padding: ShapeLike = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if hasattr(padding, "__index__"):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        if len(padding) != 8:
            raise ArgumentTypeError(f"padding must be an int or 8 of them, got {shown(padding)}")
        self._padding = tuple(padding)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.pad(x, mode="reflect", pad_width=self._padding)
