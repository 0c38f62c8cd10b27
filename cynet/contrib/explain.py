"""mx.contrib.explain: attribution of a network's output to its input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import autograd
from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..base.guard import guarded
from ..base.kinds import to_count
from ..gluon import Block

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import ArrayLike, NDArray, NumpyArray

__all__ = ["Importance", "grad_cam", "integrated_gradients", "permutation_importance", "saliency"]


def _checked_input_array(where, net, x):
    if not isinstance(net, Block):
        raise ArgumentTypeError(f"{where} takes a Block, got {shown(net)}")
    return x if isinstance(x, nd.NDArray) else nd.array(x)


def _target_scores(where, net, x, target):
    """Return the score of each row's target class, (rows,); `target` is a class, a class for each
    row, or None for the class with the highest score."""
    out = net(x)
    if not isinstance(out, nd.NDArray) or out.ndim > 2 or out.shape[0] != x.shape[0]:
        raise ShapeError(
            f"{where}: expected an output of shape (rows,) or (rows, classes), got {shown(out)}"
        )
    if out.ndim == 1 or out.shape[1] == 1:
        if target is not None:
            raise ArgumentError(f"{where}: there is one output, target must be None")
        return out.reshape((-1,))
    return nd.pick(out, _target_classes(where, out, target), axis=1)


def _target_classes(where, out, target):
    if target is None:
        return out.argmax(axis=1)
    rows, count = out.shape
    given = target.asnumpy() if hasattr(target, "asnumpy") else np.asarray(target)
    fits = given.shape in ((), (rows,)) and given.dtype.kind in "iuf"
    if not fits or (given != np.floor(given)).any() or given.min() < 0 or given.max() >= count:
        raise ArgumentError(
            f"{where}: target is a class from 0 to {count - 1}, or one of each of {rows} rows, got"
            f" {shown(target)}"
        )
    return nd.array(np.broadcast_to(given, rows).astype("float32"), ctx=out.context)


def _input_gradient(where, net, x, target):
    x = x.copy()
    x.attach_grad()
    with autograd.record(train_mode=False):
        scores = _target_scores(where, net, x, target)
    scores.backward()
    return x.grad


@guarded
def saliency(net: Block, x: ArrayLike, target: Any = None) -> NDArray:
    """Compute the gradient of a class's score by the input: where a small change matters most.

    Parameters
    ----------
    net : Block
        It gives (rows, classes), or one number per row; it predicts, so Dropout does nothing.
    x : NDArray or array-like
        What it takes.
    target : int or array-like of int, optional
        The class, or that of each row; by default the one with the highest output.

    Returns
    -------
    NDArray
        As `x`. For pictures ``abs().max(axis=1)`` of it is a map.

    Raises
    ------
    ArgumentError, ArgumentTypeError, ShapeError
        No such class, no Block, an output of another shape.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(2, in_units=3, use_bias=False)
    >>> net.initialize()
    >>> net.weight.set_data(mx.nd.array([[1, 2, 3], [-1, 0, 0]]))
    >>> mx.contrib.explain.saliency(net, [[1.0, 1, 1], [-5, 1, 1]]).asnumpy()
    array([[ 1.,  2.,  3.],
           [-1.,  0.,  0.]], dtype=float32)
    """
    return _input_gradient("saliency", net, _checked_input_array("saliency", net, x), target)


@guarded
def integrated_gradients(
    net: Block, x: ArrayLike, target: Any = None, baseline: Any = 0.0, steps: int = 50
) -> NDArray:
    """Compute how much each input element adds to a class's score, compared with a baseline.

    The mean gradient on the way from the baseline to the input, times the difference of both. The
    sum over a row is the difference of the outputs, but for the error of so many steps.

    Parameters
    ----------
    net : Block
        It gives (rows, classes), or one number per row.
    x : NDArray or array-like
        What it takes.
    target : int or array-like of int, optional
        The class, or that of each row; by default the one with the highest output for `x`.
    baseline : float or array-like
        An input that says nothing: 0, a mean, a blurred picture; of the shape of `x` or of a row.
    steps : int
        Points of the way at which gradients are taken.

    Raises
    ------
    ArgumentError, ArgumentTypeError, ShapeError
        As of `saliency`, or a baseline of another shape.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> mx.contrib.explain.integrated_gradients(net, [[3.0, -1]]).asnumpy()
    array([[ 3., -1.]], dtype=float32)
    """
    where = "integrated_gradients"
    x, steps = _checked_input_array(where, net, x), to_count(f"{where}: steps", steps)
    begin = baseline.asnumpy() if hasattr(baseline, "asnumpy") else np.asarray(baseline, "float32")
    try:
        begin = nd.array(np.broadcast_to(begin, x.shape), ctx=x.context, dtype=x.dtype)
    except ValueError:
        raise ShapeError(f"{where}: baseline has shape {begin.shape}, x {x.shape}") from None
    if target is None:  # the predicted class of x serves all points of the path
        with autograd.pause(train_mode=False):
            out = net(x)
        if isinstance(out, nd.NDArray) and out.ndim == 2 and out.shape[1] > 1:
            target = out.argmax(axis=1)
    total = nd.zeros_like(x)
    for step in range(steps):
        total += _input_gradient(where, net, begin + (x - begin) * ((step + 0.5) / steps), target)
    return (x - begin) * total / steps


@guarded
def grad_cam(net: Block, x: ArrayLike, layer: Block, target: Any = None) -> NDArray:
    """Find the regions of an image that support a class (Grad-CAM).

    Each map is weighted by the mean of its gradient; of the sum, what is above 0 remains.

    Parameters
    ----------
    net : Block
        It gives (rows, classes), or one number per row. It is run layer by layer, also where it is
        hybridized.
    x : NDArray or array-like
        Pictures, as it takes them.
    layer : Block
        A layer of it that gives (rows, channels, height, width); mostly the last convolution.
    target : int or array-like of int, optional
        The class, or that of each row; by default the one with the highest output.

    Returns
    -------
    NDArray
        (rows, height, width) of the layer, each from 0 to 1 (all 0 where nothing speaks for it);
        ``mx.image.imresize`` or ``nd.contrib.BilinearResize2D`` scale it to the picture.

    Raises
    ------
    ArgumentError, ArgumentTypeError, ShapeError
        The layer is not called by the network, or has another form; else as of `saliency`.

    Examples
    --------
    >>> net = mx.gluon.nn.HybridSequential()
    >>> net.add(mx.gluon.nn.Conv2D(1, 1, in_channels=1), mx.gluon.nn.GlobalAvgPool2D())
    >>> net.add(mx.gluon.nn.Flatten())
    >>> net.initialize(mx.init.One())
    >>> mx.contrib.explain.grad_cam(net, [[[[0.0, 2.0], [0.0, 4.0]]]], net[0]).asnumpy()
    array([[[0. , 0.5],
            [0. , 1. ]]], dtype=float32)
    """
    x = _checked_input_array("grad_cam", net, x)
    if not isinstance(layer, Block):
        raise ArgumentTypeError(f"grad_cam: layer is a Block, got {shown(layer)}")
    maps: list[NDArray] = []
    grads: list[NDArray] = []

    def keep_output(block, inputs, out):
        if not isinstance(out, nd.NDArray) or out.ndim != 4:
            raise ShapeError(
                f"grad_cam: {block.name} gives {shown(out)}, expected (rows, channels, height,"
                " width)"
            )
        maps.append(out)
        out.register_hook(grads.append)

    active = _disable_hybridization(net)
    handle = layer.register_forward_hook(keep_output)
    try:
        x = x.copy()
        x.attach_grad()  # record the whole network, frozen layers included
        with autograd.record(train_mode=False):
            scores = _target_scores("grad_cam", net, x, target)
        scores.backward()
    finally:
        handle.detach()
        for block in active:
            block._active = True
    if len(maps) != 1 or len(grads) != 1:
        raise ArgumentError(
            f"grad_cam: the network calls {layer.name} {len(maps)} times, and the output depends on"
            f" {len(grads)} of them; expected once"
        )
    weights = grads[0].mean(axis=(2, 3), keepdims=True)
    found = nd.relu((weights * maps[0].detach()).sum(axis=1))
    most = found.max(axis=(1, 2), keepdims=True)
    return nd.broadcast_div(found, nd.where(most > 0, most, nd.ones_like(most)))


def _disable_hybridization(net):
    """Make hybridized Blocks run layer by layer; return these Blocks."""
    found: list[Any] = []

    def disable(block):
        if getattr(block, "_active", False):
            block._active = False
            found.append(block)

    net.apply(disable)
    return found


class Importance(NamedTuple):  # of the columns of a table for a score
    """Result of `permutation_importance`: how much of the score depends on each column.

    Parameters
    ----------
    mean, std : numpy.ndarray
        (columns,): over the repeats.
    each : numpy.ndarray
        (columns, repeats).

    Examples
    --------
    See `permutation_importance`.

    >>> Importance(np.ones(1), np.zeros(1), np.ones((1, 3))).mean
    array([1.])
    """

    mean: NumpyArray
    std: NumpyArray
    each: NumpyArray


@guarded
def permutation_importance(
    score: Callable[[NumpyArray, NumpyArray], float],
    x: ArrayLike,
    y: ArrayLike,
    repeats: int = 5,
    seed: int = 0,
) -> Importance:
    """Measure how much a score falls when a column's values are shuffled.

    Parameters
    ----------
    score : callable
        ``score(x, y)`` gives a number that is higher for better predictions.
    x : array-like
        (rows, columns, ...): rows that the model was not trained on.
    y : array-like
        What belongs to each row.
    repeats : int
        How often each column is shuffled.
    seed : int
        Of the shuffles.

    Returns
    -------
    Importance
        ``mean`` and ``std`` of each column's loss of score, and ``each`` of the repeats.

    Raises
    ------
    ShapeError
        `x` has no columns, or another number of rows than `y`.

    Examples
    --------
    >>> x = np.arange(12.0).reshape(6, 2)
    >>> y = x[:, 0]
    >>> score = lambda x, y: -abs(x[:, 0] - y).mean()
    >>> found = mx.contrib.explain.permutation_importance(score, x, y)
    >>> bool(found.mean[0] > 0), float(found.mean[1])
    (True, 0.0)
    """
    x, y = (each.asnumpy() if hasattr(each, "asnumpy") else np.asarray(each) for each in (x, y))
    if x.ndim < 2 or not y.ndim or len(x) != len(y):
        raise ShapeError(
            f"permutation_importance: expected x of shape (rows, columns, ...) and y of as many"
            f" rows, got {x.shape} and {y.shape}"
        )
    repeats = to_count("permutation_importance: repeats", repeats)
    rng, whole = np.random.default_rng(seed), float(score(x, y))
    each = np.empty((x.shape[1], repeats))
    for column in range(x.shape[1]):
        for turn in range(repeats):
            other = x.copy()
            other[:, column] = x[rng.permutation(len(x)), column]
            each[column, turn] = whole - float(score(other, y))
    return Importance(each.mean(axis=1), each.std(axis=1), each)
