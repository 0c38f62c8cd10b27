"""Autocast: layers compute in float16 or bfloat16, weights stay float32."""

from __future__ import annotations

from ..base.dtype import name_of
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from .block import Block
from .nn import Conv1D, Conv2D, Conv3D, Dense
from .tracing import count_block_change

_AUTOCAST_LAYERS = (Dense, Conv1D, Conv2D, Conv3D)  # have 16-bit kernels


@guarded
def autocast(block: Block, dtype: str = "float16") -> Block:
    """Make Dense and convolution layers of a Block compute in float16 or bfloat16.

    Their inputs and weights are cast for each call, their outputs are float32 again. Weights,
    gradients of weights and all other layers stay float32. Small gradients vanish in float16: scale
    the loss, ``(loss * 128).backward()``, and then ``trainer.step(128 * batch_size)``. In bfloat16
    they do not.

    Parameters
    ----------
    block : Block
        The network, or a part of it.
    dtype : str
        ``'float16'``, ``'bfloat16'``, or ``'float32'`` to undo it.

    Raises
    ------
    ArgumentError
        Another dtype.

    Examples
    --------
    >>> net = mx.gluon.autocast(mx.gluon.nn.Dense(1, in_units=1, use_bias=False))
    >>> net.initialize(mx.init.One())
    >>> net(mx.nd.array([[1.0001]])).asscalar()
    np.float32(1.0)
    """
    if not isinstance(block, Block):
        raise ArgumentTypeError(f"autocast takes a Block, got {shown(block)}")
    try:
        name = name_of(dtype)
    except ArgumentTypeError:
        name = ""
    if dtype is None or name not in ("float16", "bfloat16", "float32"):
        raise ArgumentError(
            f"autocast: dtype must be float16, bfloat16 or float32, got {shown(dtype)}"
        )
    block.apply(_remove_cast if name == "float32" else lambda each: _cast_layer(each, name))
    count_block_change()
    return block


def _cast_layer(block, dtype):
    if isinstance(block, _AUTOCAST_LAYERS):
        vars(block).update(hybrid_forward=_LowPrecisionForward(block, dtype), _autocast=dtype)


def _remove_cast(block):
    vars(block).pop("hybrid_forward", None)
    vars(block).pop("_autocast", None)


class _LowPrecisionForward:  # casts a layer's inputs and output
    """Replaces a layer's `hybrid_forward`: casts inputs and parameters, and the output back."""

    def __init__(self, block, dtype):
        self.block, self.dtype = block, dtype

    def __call__(self, F, x, **params):
        def to_dtype(array):
            return None if array is None else F.cast(array, dtype=self.dtype)

        params = {name: to_dtype(each) for name, each in params.items()}
        out = type(self.block).hybrid_forward(self.block, F, to_dtype(x), **params)
        return F.cast(out, dtype="float32")
