"""BatchNorm variants: followed by relu, and with statistics over several devices."""

from ...base.errors import ArgumentError
from ..parameters import Bool, Float, Int, Str
from ..precision import FLOAT32, Precision
from ..second_order import Rewrite
from .batch_norm import BatchNormHooks, BatchNormProperty


class SyncBatchNormHooks(BatchNormHooks):
    """Allow the channels-last form of BatchNorm, which does not output mean and variance."""

    def channels_last_form(self, prop, in_shapes, in_types):
        return (
            None if prop.output_mean_var else super().channels_last_form(prop, in_shapes, in_types)
        )


class BatchNormWithReLUHooks(BatchNormHooks):
    """Allow the channels-last form of BatchNorm, whose kernel applies the relu, too."""

    def channels_last_form(self, prop, in_shapes, in_types):
        found = super().channels_last_form(prop, in_shapes, in_types)
        return found and (found[0].changed(relu=True), found[1])


class BatchNormWithReLUProperty(BatchNormProperty, operator="_contrib_BatchNormWithReLU"):
    """BatchNorm, and relu of its output.

    ``out = max((data - mean) / sqrt(var + eps) * gamma + beta, 0)``; statistics, parameters and
    what moves them as in BatchNorm.
    """

    graph = BatchNormWithReLUHooks(moves_states=False, float32_beside_half=("gamma", "beta"))
    relu = True
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 6]])
    >>> gamma, beta = mx.nd.ones(2), mx.nd.zeros(2)
    >>> mean, var = mx.nd.zeros(2), mx.nd.ones(2)  # moving mean and variance
    >>> with mx.autograd.train_mode():
    ...     y = mx.nd.contrib.BatchNormWithReLU(x, gamma, beta, mean, var)
    ...
    >>> y
    [[0.        0.       ]
     [0.9995004 0.999875 ]]
    <NDArray 2x2 @cpu(0)>
    """

    def compose_outputs(self, F, inputs, aux, training):
        return [F.relu(super().compose_outputs(F, inputs, aux, training)[0])]

    second_order = Rewrite(compose_outputs)


class SyncBatchNormProperty(BatchNormProperty, operator="_contrib_SyncBatchNorm"):
    """BatchNorm with the statistics of the whole batch, over all devices.

    On one device (``ndev=1``) that is BatchNorm, but `output_mean_var` gives the variance itself.
    Statistics over several are refused.
    """

    output_mean_var = Bool(False, doc="Also give the mean and the variance as outputs.")
    shows_variance = True
    graph = SyncBatchNormHooks(moves_states=False, float32_beside_half=("gamma", "beta"))

    eps = Float(1e-3, doc="Added to the variance.", low=0.0)
    ndev = Int(1, doc="Number of devices; 1 alone is there.", low=1)
    key = Str(doc="Name of the layer among those that share statistics.")
    axis, cudnn_off, min_calib_range, max_calib_range = 1, False, None, None
    amp = Precision(FLOAT32)
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 6]])
    >>> gamma, beta = mx.nd.ones(2), mx.nd.zeros(2)
    >>> mean, var = mx.nd.zeros(2), mx.nd.ones(2)  # moving mean and variance
    >>> with mx.autograd.train_mode():
    ...     y = mx.nd.contrib.SyncBatchNorm(x, gamma, beta, mean, var, key="bn")
    ...
    >>> y
    [[-0.9995004 -0.999875 ]
     [ 0.9995004  0.999875 ]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.ndev != 1:
            raise ArgumentError(
                f"operator {self.op_name}: parameter 'ndev' takes 1, got {self.ndev}: statistics "
                "over several devices are not provided"
            )
