"""Layers that compute in float16 from weights that stay float32."""

from __future__ import annotations

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from .block import Block
from .nn import Conv1D, Conv2D, Conv3D, Dense
from .tracing import changed

_LAYERS = (Dense, Conv1D, Conv2D, Conv3D)  # what has float16 kernels


@guarded
def autocast(block: Block, dtype: str = "float16") -> Block:
    """Have the Dense and convolution layers of a Block compute in float16.

    Their inputs and weights are cast for each call, their outputs are float32 again. Weights,
    gradients of weights and all other layers stay float32. Small gradients vanish in float16: scale
    the loss, ``(loss * 128).backward()``, and then ``trainer.step(128 * batch_size)``.

    Parameters
    ----------
    block : Block
    dtype : str
        ``'float16'``, or ``'float32'`` to undo it.

    Returns
    -------
    Block
        The same one.

    Raises
    ------
    ArgumentError
        Another dtype: there is no bfloat16 yet.

    Examples
    --------
    >>> import cynet as mx
    >>> net = mx.gluon.autocast(mx.gluon.nn.Dense(1, in_units=1, use_bias=False))
    >>> net.initialize(mx.init.One())
    >>> net(mx.nd.array([[1.0001]])).asscalar()
    np.float32(1.0)
    """
    if not isinstance(block, Block):
        raise ArgumentTypeError(f"autocast takes a Block, got {shown(block)}")
    if str(dtype) == "bfloat16":
        raise ArgumentError("autocast: there is no dtype bfloat16 yet; float16 there is")
    if dtype not in ("float16", "float32", np.float16, np.float32):
        raise ArgumentError(f"autocast: dtype must be float16 or float32, got {shown(dtype)}")
    block.apply(_cast if np.dtype(dtype) == np.float16 else _uncast)
    changed()
    return block


def _cast(block):
    if isinstance(block, _LAYERS):
        vars(block).update(hybrid_forward=_InFloat16(block), _autocast="float16")


def _uncast(block):
    vars(block).pop("hybrid_forward", None)
    vars(block).pop("_autocast", None)


class _InFloat16:
    """Stands in a layer for its `hybrid_forward`."""

    def __init__(self, block):
        self.block = block

    def __call__(self, F, x, **params):
        def half(array):
            return None if array is None else F.cast(array, dtype="float16")

        params = {name: half(each) for name, each in params.items()}
        out = type(self.block).hybrid_forward(self.block, F, half(x), **params)
        return F.cast(out, dtype="float32")
