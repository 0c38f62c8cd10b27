# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Sequence
from typing import Any, Literal
from ..typing import ContextLike, DTypeLike, ShapeLike

from . import _internal as _internal
from . import contrib as contrib
from . import image as image
from . import linalg as linalg
from . import random as random
from . import sparse as sparse
from .composed import histogram as histogram
from .composed import where as where
from .creation import arange as arange
from .creation import eye as eye
from .creation import full as full
from .creation import hypot as hypot
from .creation import linspace as linspace
from .creation import maximum as maximum
from .creation import minimum as minimum
from .creation import ones as ones
from .creation import pow as pow
from .creation import power as power
from .creation import split_v2 as split_v2
from .creation import zeros as zeros
from .reading import load as load
from .reading import load_json as load_json
from .symbol import Symbol as Symbol
from .variable import Group as Group
from .variable import Variable as Variable
from .variable import var as var
def Activation(data: Symbol | None = None, act_type: Literal['relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'] = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Elementwise nonlinearity, by `act_type`."""
def BatchNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Normalize each channel to mean 0 and variance 1 over all other axes, then scale and shift it."""
def BatchNorm_v1(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Normalize each channel to mean 0 and variance 1 over all other axes, then scale and shift it."""
def BilinearSampler(data: Symbol | None = None, grid: Symbol | None = None, cudnn_off: bool | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Read data at the points of a grid, by bilinear interpolation."""
def BlockGrad(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input as it is; no gradient flows back through it."""
def CTCLoss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal['first', 'last'] = 'first', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Connectionist temporal classification (Graves et al., 2006)."""
def Cast(data: Symbol | None = None, dtype: DTypeLike = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input in another dtype."""
def Concat(*data: Symbol | Sequence[Symbol], dim: int = 1, num_args: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The inputs joined along an existing axis; their other lengths must agree."""
def Convolution(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, kernel: ShapeLike = ..., stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Convolution (as a cross-correlation) over one, two or three spatial axes."""
def Convolution_v1(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, kernel: ShapeLike = ..., stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Convolution (as a cross-correlation) over one, two or three spatial axes."""
def Correlation(data1: Symbol | None = None, data2: Symbol | None = None, kernel_size: int = 1, max_displacement: int = 1, stride1: int = 1, stride2: int = 1, pad_size: int = 0, is_multiply: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Compare patches of data1 with shifted patches of data2."""
def Crop(*data: Symbol | Sequence[Symbol], offset: ShapeLike = (0, 0), h_w: ShapeLike = (0, 0), center_crop: bool = False, num_args: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The window of images (N, C, H, W) that starts at `offset`, or that lies in their middle."""
def Custom(*data: Symbol | Sequence[Symbol], op_type: str = ..., name: str | None = None, attr: dict[str, str] | None = None, **kwargs: Any) -> Symbol:
    """Apply an operator registered with ``mx.operator.register``."""
def Deconvolution(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, kernel: ShapeLike = ..., stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), adj: ShapeLike = (), target_shape: ShapeLike = (), num_filter: int = ..., num_group: int = 1, workspace: int = 512, no_bias: bool = True, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Transposed convolution over one, two or three spatial axes."""
def Dropout(data: Symbol | None = None, p: float = 0.5, mode: Literal['training', 'always'] = 'training', axes: ShapeLike = (), cudnn_off: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Set each element to 0 with probability `p`, and divide the others by ``1 - p``."""
def ElementWiseSum(*data: Symbol | Sequence[Symbol], num_args: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sum of any number of arrays of one shape: ``output = data[0] + data[1] + ...``."""
def Embedding(data: Symbol | None = None, weight: Symbol | None = None, input_dim: int = ..., output_dim: int = ..., dtype: DTypeLike = 'float32', sparse_grad: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Rows of `weight` by index: ``out[..., :] = weight[data[...]]``."""
def Flatten(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Collapse all axes but the first: (N, d1, d2, ...) becomes (N, d1*d2*...)."""
def FullyConnected(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Linear map of the last axis (or of all axes but the first): ``out = data . weight^T + bias``."""
def GridGenerator(data: Symbol | None = None, transform_type: Literal['affine', 'warp'] = ..., target_shape: ShapeLike = (0, 0), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Points at which BilinearSampler reads, from affine maps or from a flow."""
def GroupNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, num_groups: int = 1, eps: float = 1e-05, output_mean_var: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Normalize each group of channels of each sample, then scale and shift it."""
def IdentityAttachKLSparseReg(data: Symbol | None = None, sparseness_target: float = 0.1, penalty: float = 0.001, momentum: float = 0.9, name: str | None = None, attr: dict[str, str] | None = None, *, moving_avg: Symbol | None = None) -> Symbol:
    """The input itself; backward adds the gradient of a divergence from sparse activations."""
def InstanceNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, eps: float = 0.001, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Normalize each channel of each sample over its positions, then scale and shift it."""
def L2Normalization(data: Symbol | None = None, eps: float = 1e-10, mode: Literal['channel', 'instance', 'spatial'] = 'instance', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Divide by the Euclidean norm: ``out = data / sqrt(sum(data ** 2) + eps)``."""
def LRN(data: Symbol | None = None, alpha: float = 0.0001, beta: float = 0.75, knorm: float = 2.0, nsize: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Local response normalization across channels."""
def LayerNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, axis: int = -1, eps: float = 1e-05, output_mean_var: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Normalize along `axis` to mean 0 and variance 1, then scale and shift its entries."""
def LeakyReLU(data: Symbol | None = None, gamma: Symbol | None = None, act_type: Literal['elu', 'gelu', 'leaky', 'prelu', 'rrelu', 'selu'] = 'leaky', slope: float = 0.25, lower_bound: float = 0.125, upper_bound: float = 0.334, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Rectifier with a slope for negative x, by `act_type`."""
def LinearRegressionOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Output of a regression with squared error: ``out = data``, gradient ``out - label``."""
def LogisticRegressionOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Output of a logistic regression: ``out = sigmoid(data)``, gradient ``out - label``."""
def MAERegressionOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Output of a regression with absolute error: ``out = data``, gradient ``sign(out - label)``."""
def MakeLoss(data: Symbol | None = None, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: Literal['null', 'batch', 'valid'] = 'null', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Makes data a loss: out is data, and its gradient is `grad_scale`, normalized."""
def Pad(data: Symbol | None = None, mode: Literal['constant', 'edge', 'reflect'] = ..., pad_width: ShapeLike = ..., constant_value: float = 0.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input with borders around all axes but the first two."""
def Pooling(data: Symbol | None = None, kernel: ShapeLike = (), pool_type: Literal['max', 'avg', 'sum', 'lp'] = 'max', global_pool: bool = False, cudnn_off: bool = False, pooling_convention: Literal['valid', 'full', 'same'] = 'valid', stride: ShapeLike = (), pad: ShapeLike = (), p_value: int | None = None, count_include_pad: bool | None = None, layout: Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Reduce every window over the spatial axes of (N, C, *size) to one number, by `pool_type`."""
def Pooling_v1(data: Symbol | None = None, kernel: ShapeLike = (), pool_type: Literal['avg', 'max', 'sum'] = 'max', global_pool: bool = False, pooling_convention: Literal['full', 'valid'] = 'valid', stride: ShapeLike = (), pad: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Reduce every window over the planes of (N, C, H, W), padded with zeros, to one number."""
def RNN(data: Symbol | None = None, parameters: Symbol | None = None, state: Symbol | None = None, state_cell: Symbol | None = None, sequence_length: Symbol | None = None, state_size: int = ..., num_layers: int = ..., bidirectional: bool = False, mode: Literal['rnn_relu', 'rnn_tanh', 'lstm', 'gru'] = ..., p: float = 0.0, state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Recurrent layers, of one direction or two, over sequences (steps, batch, input size)."""
def ROIPooling(data: Symbol | None = None, rois: Symbol | None = None, pooled_size: ShapeLike = ..., spatial_scale: float = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Cut regions into bins and take the maximum of each."""
def Reshape(data: Symbol | None = None, shape: ShapeLike = (), reverse: bool = False, target_shape: ShapeLike = (), keep_highest: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input under another shape."""
def SVMOutput(data: Symbol | None = None, label: Symbol | None = None, margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Output of a support vector machine: ``out = data``; backward gives a hinge loss's gradient."""
def SequenceLast(data: Symbol | None = None, sequence_length: Symbol | None = None, use_sequence_length: bool = False, axis: int = 0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The last element of each sequence."""
def SequenceMask(data: Symbol | None = None, sequence_length: Symbol | None = None, use_sequence_length: bool = False, value: float = 0.0, axis: int = 0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sequences whose elements beyond their lengths are replaced by `value`; a length above that of the axis keeps all, one below 0 none."""
def SequenceReverse(data: Symbol | None = None, sequence_length: Symbol | None = None, use_sequence_length: bool = False, axis: int = 0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sequences reversed within their lengths, which are at most that of the axis; what lies beyond stays."""
def SliceChannel(data: Symbol | None = None, num_outputs: int = ..., axis: int = 1, squeeze_axis: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input parted into equal pieces along an axis, one output each."""
def Softmax(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: Literal['null', 'batch', 'valid'] = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Softmax whose gradient is that of the cross-entropy with `label`."""
def SoftmaxActivation(data: Symbol | None = None, mode: Literal['channel', 'instance'] = 'instance', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Softmax along the last axis ('instance') or along axis 1 ('channel')."""
def SoftmaxOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: Literal['null', 'batch', 'valid'] = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Softmax whose gradient is that of the cross-entropy with `label`."""
def SpatialTransformer(data: Symbol | None = None, loc: Symbol | None = None, target_shape: ShapeLike = (0, 0), transform_type: Literal['affine'] = ..., sampler_type: Literal['bilinear'] = ..., cudnn_off: bool | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Read data at the points to which affine maps move a grid of target_shape."""
def SwapAxis(data: Symbol | None = None, dim1: int = 0, dim2: int = 0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input with two axes exchanged."""
def UpSampling(*data: Symbol | Sequence[Symbol], scale: int = ..., num_filter: int = 0, sample_type: Literal['bilinear', 'nearest'] = ..., multi_input_mode: Literal['concat', 'sum'] = 'concat', workspace: int = 512, num_args: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Enlarge planes by `scale`: repeat elements ('nearest') or deconvolve ('bilinear')."""
def abs(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Absolute value of each element: ``output = |data|``."""
def adam_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Adam: steps along the mean of gradients over the root of their mean square."""
def add_n(*data: Symbol | Sequence[Symbol], num_args: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sum of any number of arrays of one shape: ``output = data[0] + data[1] + ...``."""
def all_finite(data: Symbol | None = None, init_output: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where all elements are finite, else 0: an array (1,) of float32."""
def amp_cast(data: Symbol | None = None, dtype: DTypeLike = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input in another dtype where it is bfloat16, float16 or float32, else as it is; as automatic mixed precision inserts it."""
def amp_multicast(*data: Symbol | Sequence[Symbol], cast_narrow: bool = False, num_outputs: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Inputs of bfloat16, float16 and float32 in one dtype, the wider that is there; others as they are. bfloat16 and float16 beside each other become float32."""
def arccos(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Inverse cosine of each element, within [0, pi]."""
def arccosh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Inverse hyperbolic cosine of each element."""
def arcsin(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Inverse sine of each element, within [-pi/2, pi/2]."""
def arcsinh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Inverse hyperbolic sine of each element."""
def arctan(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Inverse tangent of each element, within (-pi/2, pi/2)."""
def arctanh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Inverse hyperbolic tangent of each element."""
def argmax(data: Symbol | None = None, axis: int | None = None, keepdims: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Index of the largest element along an axis."""
def argmax_channel(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Index of the largest element of each row of a matrix."""
def argmin(data: Symbol | None = None, axis: int | None = None, keepdims: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Index of the smallest element along an axis."""
def argsort(data: Symbol | None = None, axis: int | None = -1, is_ascend: bool = True, dtype: DTypeLike = 'float32', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The positions that sort the elements along an axis."""
def batch_dot(lhs: Symbol | None = None, rhs: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Literal['default', 'row_sparse', 'csr'] | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Matrix products of two stacks: ``output[i] = lhs[i] rhs[i]`` over all leading axes."""
def batch_take(a: Symbol | None = None, indices: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """One element of each row of a matrix, by index."""
def broadcast_add(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sum of two arrays, broadcast."""
def broadcast_axes(data: Symbol | None = None, axis: ShapeLike = (), size: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input with some axes of length 1 repeated."""
def broadcast_axis(data: Symbol | None = None, axis: ShapeLike = (), size: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input with some axes of length 1 repeated."""
def broadcast_div(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Quotient of two arrays, broadcast."""
def broadcast_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where two elements are equal, else 0; broadcast."""
def broadcast_greater(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where the left element is greater, else 0; broadcast."""
def broadcast_greater_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where the left element is not smaller, else 0; broadcast."""
def broadcast_hypot(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """``sqrt(lhs ** 2 + rhs ** 2)`` element by element, broadcast."""
def broadcast_lesser(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where the left element is smaller, else 0; broadcast."""
def broadcast_lesser_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where the left element is not greater, else 0; broadcast."""
def broadcast_like(lhs: Symbol | None = None, rhs: Symbol | None = None, lhs_axes: ShapeLike | None = None, rhs_axes: ShapeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The left input with axes of length 1 repeated up to the right input's lengths."""
def broadcast_logical_and(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where both elements are nonzero, else 0; broadcast."""
def broadcast_logical_or(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where an element is nonzero, else 0; broadcast."""
def broadcast_logical_xor(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where exactly one element is nonzero, else 0; broadcast."""
def broadcast_maximum(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The larger of two elements, broadcast."""
def broadcast_minimum(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The smaller of two elements, broadcast."""
def broadcast_minus(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Difference of two arrays, broadcast."""
def broadcast_mod(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Remainder with the sign of the divisor, broadcast."""
def broadcast_mul(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Product of two arrays element by element, broadcast."""
def broadcast_not_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where two elements differ, else 0; broadcast."""
def broadcast_plus(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sum of two arrays, broadcast."""
def broadcast_power(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """``lhs ** rhs`` element by element, broadcast."""
def broadcast_sub(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Difference of two arrays, broadcast."""
def broadcast_to(data: Symbol | None = None, shape: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input with axes of length 1 repeated up to `shape`."""
def cast(data: Symbol | None = None, dtype: DTypeLike = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input in another dtype."""
def cast_storage(data: Symbol | None = None, stype: Literal['default', 'row_sparse', 'csr'] = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input in another storage type; where all arrays are dense, as it is."""
def cbrt(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Cube root of each element."""
def ceil(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Least integer that is not below each element."""
def choose_element_0index(data: Symbol | None = None, index: Symbol | None = None, axis: int = -1, keepdims: bool = False, mode: Literal['clip', 'wrap', 'raise'] = 'clip', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """One element of each row along an axis, by index."""
def clip(data: Symbol | None = None, a_min: float = ..., a_max: float = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Each element limited to [a_min, a_max]."""
def col2im(data: Symbol | None = None, output_size: ShapeLike = ..., kernel: ShapeLike = ..., stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Columns summed into images, where windows overlap: what im2col's gradient does."""
def concat(*data: Symbol | Sequence[Symbol], dim: int = 1, num_args: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The inputs joined along an existing axis; their other lengths must agree."""
def cos(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Cosine of each element, in radians."""
def cosh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Hyperbolic cosine of each element."""
def crop(data: Symbol | None = None, begin: ShapeLike = ..., end: ShapeLike = ..., step: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """A part of the input, as ``data[begin[0]:end[0]:step[0], ...]`` of Python gives it."""
def ctc_loss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal['first', 'last'] = 'first', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Connectionist temporal classification (Graves et al., 2006)."""
def cumsum(a: Symbol | None = None, axis: int | None = None, dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Running sums along an axis, or of the flattened array."""
def degrees(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Radians to degrees, element by element."""
def depth_to_space(data: Symbol | None = None, block_size: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Channels rearranged into blocks: (n, c, h, w) becomes (n, c / b ** 2, h * b, w * b)."""
def diag(data: Symbol | None = None, k: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """A diagonal of an array of two or more axes, as its last axis; or a matrix with the input on one."""
def dot(lhs: Symbol | None = None, rhs: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Literal['default', 'row_sparse', 'csr'] | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Product of the last axis of lhs with the first axis of rhs."""
def elemwise_add(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sum of two arrays of one shape."""
def elemwise_div(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Quotient of two arrays of one shape."""
def elemwise_mul(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Product of two arrays of one shape, element by element."""
def elemwise_sub(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Difference of two arrays of one shape."""
def erf(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gauss error function of each element."""
def erfinv(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Inverse of the Gauss error function, for elements in (-1, 1)."""
def exp(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Exponential of each element: ``output = e ** data``."""
def expand_dims(data: Symbol | None = None, axis: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input with an axis of length 1 inserted."""
def expm1(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """``e ** data - 1``, precise near 0."""
def fill_element_0index(lhs: Symbol | None = None, mhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """`lhs` with one element of each row replaced: ``out[i, rhs[i]] = mhs[i]``."""
def fix(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Nearest integer towards zero of each element."""
def flatten(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Collapse all axes but the first: (N, d1, d2, ...) becomes (N, d1*d2*...)."""
def flip(data: Symbol | None = None, axis: ShapeLike = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input with the order along some axes reversed."""
def floor(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Greatest integer that is not above each element."""
def ftml_update(weight: Symbol | None = None, grad: Symbol | None = None, d: Symbol | None = None, v: Symbol | None = None, z: Symbol | None = None, lr: float = ..., beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-08, t: int = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_grad: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Follow the moving leader (Zheng and Kwok, 2017), with ``g = grad + wd * weight``, clipped."""
def ftrl_update(weight: Symbol | None = None, grad: Symbol | None = None, z: Symbol | None = None, n: Symbol | None = None, lr: float = ..., lamda1: float = 0.01, beta: float = 1.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Follow the regularized leader: ``z += grad - (sqrt(n + grad ** 2) - sqrt(n)) * weight / lr``, ``n += grad ** 2``, ``output = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)`` where ``|z| > lamda1``, else 0."""
def gamma(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gamma function of each element."""
def gammaln(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Logarithm of the absolute gamma function of each element."""
def gather_nd(data: Symbol | None = None, indices: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Elements or blocks of an array at index tuples."""
def hard_sigmoid(data: Symbol | None = None, alpha: float = 0.2, beta: float = 0.5, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """``output = alpha * data + beta``, limited to [0, 1]."""
def identity(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input itself: ``output = data``."""
def im2col(data: Symbol | None = None, kernel: ShapeLike = ..., stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Windows that slide over images, each a column: (N, C, *size) gives (N, C * prod(kernel), L)."""
def khatri_rao(*data: Symbol | Sequence[Symbol], num_args: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Khatri-Rao product: Kronecker products of the matrices' columns, one beside the other."""
def lamb_update_phase1(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The first phase of LAMB: Adam's step with weight decay, ``mean' / (sqrt(var') + epsilon) + wd * weight``."""
def lamb_update_phase2(weight: Symbol | None = None, g: Symbol | None = None, r1: Symbol | None = None, r2: Symbol | None = None, lr: float = ..., lower_bound: float = -1.0, upper_bound: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The second phase of LAMB: ``output = weight - lr * r1 / r2 * g`` for the step ``g`` that the first gave and the norms ``r1`` of the weight and ``r2`` of the step."""
def linalg_det(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Determinants of square matrices; of one matrix an array of one number."""
def linalg_eig(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Eigenvalues L and eigenvectors V of square matrices: ``A V = V diag(L)``, outputs L and V."""
def linalg_extractdiag(A: Symbol | None = None, offset: int = 0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """A diagonal of each square matrix as a vector."""
def linalg_extracttrian(A: Symbol | None = None, offset: int = 0, lower: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """One triangle of each square matrix as a vector."""
def linalg_gelqf(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """LQ factorizations ``A = L Q``: the outputs are Q and L."""
def linalg_gemm(A: Symbol | None = None, B: Symbol | None = None, C: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int = -2, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Products of matrices, with a sum: ``alpha op(A) op(B) + beta C``."""
def linalg_gemm2(A: Symbol | None = None, B: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Products of matrices: ``alpha op(A) op(B)``; op transposes where asked to."""
def linalg_inverse(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Inverses of square matrices."""
def linalg_makediag(A: Symbol | None = None, offset: int = 0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Square matrices with a diagonal from a vector, zeros elsewhere."""
def linalg_maketrian(A: Symbol | None = None, offset: int = 0, lower: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Square matrices with one triangle from a vector, as `extracttrian` gives it, else zeros."""
def linalg_potrf(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, *, lower: bool = True) -> Symbol:
    """Cholesky factors: lower triangular L with ``A = L L'`` of symmetric positive definite A."""
def linalg_potri(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, *, lower: bool = True) -> Symbol:
    """Inverses ``(L L')^-1`` from Cholesky factors L, of which the lower triangle is read."""
def linalg_slogdet(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Signs of determinants, and logarithms of their sizes: two outputs."""
def linalg_solve(A: Symbol | None = None, B: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Solutions X of ``A X = B``, of B's shape."""
def linalg_sumlogdiag(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sums of the logarithms of the diagonals; NaN where an entry is negative."""
def linalg_svd(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Singular value decompositions ``A = U diag(L) V``: the outputs are U, L and V."""
def linalg_syevd(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Eigenvectors and eigenvalues of symmetric matrices: ``A = U' diag(L) U``, outputs U and L."""
def linalg_syrk(A: Symbol | None = None, transpose: bool = False, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gram matrices ``alpha A A'``, with `transpose` ``alpha A' A``."""
def linalg_trmm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Products of triangular matrices: ``alpha op(A) B``, with `rightside` ``alpha B op(A)``."""
def linalg_trsm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Solves triangular equations: the output X has ``op(A) X = alpha B``."""
def log(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Natural logarithm of each element."""
def log10(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Logarithm to base 10 of each element."""
def log1p(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """``log(1 + data)``, precise near 0."""
def log2(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Logarithm to base 2 of each element."""
def log_softmax(data: Symbol | None = None, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, name: str | None = None, attr: dict[str, str] | None = None, *, length: Symbol | None = None) -> Symbol:
    """Logarithm of the softmax along `axis`, computed without losing small numbers."""
def logical_not(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where an element is 0, else 0; the input's dtype."""
def make_loss(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Makes data a loss: out is data, and its gradient is 1 everywhere."""
def max(data: Symbol | None = None, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Largest element over axes; NaN if one is."""
def max_axis(data: Symbol | None = None, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Largest element over axes; NaN if one is."""
def mean(data: Symbol | None = None, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Arithmetic mean over axes."""
def min(data: Symbol | None = None, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Smallest element over axes; NaN if one is."""
def min_axis(data: Symbol | None = None, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Smallest element over axes; NaN if one is."""
def moments(data: Symbol | None = None, axes: ShapeLike | None = None, keepdims: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Mean and variance over `axes`: two outputs, each as of `mean`."""
def mp_lamb_update_phase1(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, weight32: Symbol | None = None, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The first phase of LAMB for float16 weights, computed on `weight32`, their float32 masters; the step is float32."""
def mp_lamb_update_phase2(weight: Symbol | None = None, g: Symbol | None = None, r1: Symbol | None = None, r2: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., lower_bound: float = -1.0, upper_bound: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The second phase of LAMB for float16 weights, computed on `weight32`, their float32 masters, which move, too."""
def mp_nag_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Nesterov's accelerated gradient: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + momentum * mom - lr * (grad + wd * weight)``."""
def mp_sgd_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gradient descent with momentum: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + mom``."""
def mp_sgd_update(weight: Symbol | None = None, grad: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gradient descent: ``output = weight - lr * (grad + wd * weight)``."""
def multi_all_finite(*data: Symbol | Sequence[Symbol], init_output: bool = True, num_arrays: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """1 where all elements of all inputs are finite, else 0: an array (1,) of float32."""
def multi_lars(lrs: Symbol | None = None, weights_sum_sq: Symbol | None = None, grads_sum_sq: Symbol | None = None, wds: Symbol | None = None, eta: float = ..., eps: float = ..., rescale_grad: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Learning rates in proportion to the weights' norms over those of the gradients."""
def multi_mp_sgd_mom_update(*data: Symbol | Sequence[Symbol], lrs: float | Sequence[float] = ..., wds: float | Sequence[float] = ..., momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gradient descent with momentum of several weights: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + mom`` for each."""
def multi_mp_sgd_update(*data: Symbol | Sequence[Symbol], lrs: float | Sequence[float] = ..., wds: float | Sequence[float] = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gradient descent of several weights: ``output = weight - lr * (grad + wd * weight)`` for each."""
def multi_sgd_mom_update(*data: Symbol | Sequence[Symbol], lrs: float | Sequence[float] = ..., wds: float | Sequence[float] = ..., momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gradient descent with momentum of several weights: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + mom`` for each."""
def multi_sgd_update(*data: Symbol | Sequence[Symbol], lrs: float | Sequence[float] = ..., wds: float | Sequence[float] = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gradient descent of several weights: ``output = weight - lr * (grad + wd * weight)`` for each."""
def multi_sum_sq(*data: Symbol | Sequence[Symbol], num_arrays: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The sum of squares of each input: an array of float32, one element an input."""
def nag_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Nesterov's accelerated gradient: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + momentum * mom - lr * (grad + wd * weight)``."""
def nanprod(data: Symbol | None = None, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Product over axes; NaN counts as 1."""
def nansum(data: Symbol | None = None, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sum over axes; NaN counts as 0."""
def negative(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Negative of each element: ``output = -data``."""
def norm(data: Symbol | None = None, ord: int = 2, axis: ShapeLike | None = None, out_dtype: DTypeLike | None = None, keepdims: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Norm over axes: ord 1 sums absolute values, ord 2 is the root of the sum of squares."""
def normal(loc: float = 0.0, scale: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of normally distributed numbers, given by mean and standard deviation."""
def one_hot(indices: Symbol | None = None, depth: int = ..., on_value: float = 1.0, off_value: float = 0.0, dtype: DTypeLike = 'float32', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """A row of `depth` values for each index: `on_value` at the index, `off_value` elsewhere."""
def ones_like(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Ones of the input's shape and dtype."""
def pad(data: Symbol | None = None, mode: Literal['constant', 'edge', 'reflect'] = ..., pad_width: ShapeLike = ..., constant_value: float = 0.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input with borders around all axes but the first two."""
def pick(data: Symbol | None = None, index: Symbol | None = None, axis: int = -1, keepdims: bool = False, mode: Literal['clip', 'wrap', 'raise'] = 'clip', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """One element of each row along an axis, by index."""
def preloaded_multi_mp_sgd_mom_update(*data: Symbol | Sequence[Symbol], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """`multi_sgd_mom_update` with learning rates and decays from the last two inputs."""
def preloaded_multi_mp_sgd_update(*data: Symbol | Sequence[Symbol], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """`multi_sgd_update` with learning rates and decays from the last two inputs."""
def preloaded_multi_sgd_mom_update(*data: Symbol | Sequence[Symbol], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """`multi_sgd_mom_update` with learning rates and decays from the last two inputs."""
def preloaded_multi_sgd_update(*data: Symbol | Sequence[Symbol], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """`multi_sgd_update` with learning rates and decays from the last two inputs."""
def prod(data: Symbol | None = None, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Product over axes."""
def radians(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Degrees to radians, element by element."""
def random_exponential(lam: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of exponentially distributed numbers of mean 1 / lam."""
def random_gamma(alpha: float = 1.0, beta: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of gamma distributed numbers of mean alpha * beta."""
def random_generalized_negative_binomial(mu: float = 1.0, alpha: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of negative binomial counts (in a float type) given by their mean and dispersion."""
def random_negative_binomial(k: int = 1, p: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of counts (in a float type) of successes before the k-th failure, of mean k (1 - p) / p."""
def random_normal(loc: float = 0.0, scale: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of normally distributed numbers, given by mean and standard deviation."""
def random_pdf_dirichlet(sample: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under Dirichlet distributions, whose `alpha` is in the last axis."""
def random_pdf_exponential(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under exponential distributions, 0 outside of what can be drawn."""
def random_pdf_gamma(sample: Symbol | None = None, alpha: Symbol | None = None, beta: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under gamma distributions, 0 outside of what can be drawn."""
def random_pdf_generalized_negative_binomial(sample: Symbol | None = None, mu: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under negative binomial distributions given by mean and dispersion, 0 outside of what can be drawn."""
def random_pdf_negative_binomial(sample: Symbol | None = None, k: Symbol | None = None, p: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under negative binomial distributions, 0 outside of what can be drawn."""
def random_pdf_normal(sample: Symbol | None = None, mu: Symbol | None = None, sigma: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under normal distributions, 0 outside of what can be drawn."""
def random_pdf_poisson(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under Poisson distributions, 0 outside of what can be drawn."""
def random_pdf_uniform(sample: Symbol | None = None, low: Symbol | None = None, high: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under uniform distributions over [low, high], 0 outside of what can be drawn."""
def random_poisson(lam: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of Poisson distributed counts (in a float type) of mean lam."""
def random_randint(low: int, high: int, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of integers, each of [low, high) equally likely."""
def random_uniform(low: float = 0.0, high: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of uniform numbers from [low, high)."""
def ravel_multi_index(data: Symbol | None = None, shape: ShapeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Row-major places from places along axes: (ndim, ...) gives (...)."""
def rcbrt(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Reciprocal cube root of each element: ``1 / cbrt(data)``."""
def reciprocal(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Reciprocal of each element: ``1 / data``."""
def relu(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Rectified linear: ``output = max(data, 0)``."""
def repeat(data: Symbol | None = None, repeats: int = ..., axis: int | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Each element repeated along an axis, or of the flattened input."""
def reset_arrays(*data: Symbol | Sequence[Symbol], num_arrays: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """All arrays become zeros; nothing comes out."""
def reshape(data: Symbol | None = None, shape: ShapeLike = (), reverse: bool = False, target_shape: ShapeLike = (), keep_highest: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input under another shape."""
def reshape_like(lhs: Symbol | None = None, rhs: Symbol | None = None, lhs_begin: int | None = None, lhs_end: int | None = None, rhs_begin: int | None = None, rhs_end: int | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The left input with the shape of the right one, or with a range of its axes replaced."""
def reverse(data: Symbol | None = None, axis: ShapeLike = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input with the order along some axes reversed."""
def rint(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Nearest integer of each element, ties to the lower one."""
def rmsprop_update(weight: Symbol | None = None, grad: Symbol | None = None, n: Symbol | None = None, lr: float = ..., gamma1: float = 0.95, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """RMSProp: ``n = gamma1 * n + (1 - gamma1) * g ** 2``, ``output = weight - lr * g / sqrt(n + epsilon)`` with ``g = grad + wd * weight``, clipped."""
def rmspropalex_update(weight: Symbol | None = None, grad: Symbol | None = None, n: Symbol | None = None, g: Symbol | None = None, delta: Symbol | None = None, lr: float = ..., gamma1: float = 0.95, gamma2: float = 0.9, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """RMSProp after Graves: with the gradient's mean ``g`` and a momentum ``delta`` of its own."""
def round(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Nearest integer of each element, ties away from zero."""
def rsqrt(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Reciprocal square root of each element: ``1 / sqrt(data)``."""
def sample_exponential(lam: Symbol | None = None, shape: ShapeLike = (), dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """For each set of parameters exponentially distributed numbers of mean 1 / lam: shape (s) gives (s, shape)."""
def sample_gamma(alpha: Symbol | None = None, beta: Symbol | None = None, shape: ShapeLike = (), dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """For each set of parameters gamma distributed numbers of mean alpha * beta: shape (s) gives (s, shape)."""
def sample_generalized_negative_binomial(mu: Symbol | None = None, alpha: Symbol | None = None, shape: ShapeLike = (), dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """For each set of parameters negative binomial counts (in a float type) given by their mean and dispersion: shape (s) gives (s, shape)."""
def sample_multinomial(data: Symbol | None = None, shape: ShapeLike = (), get_prob: bool = False, dtype: DTypeLike = 'int32', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Indices drawn with the probabilities in each row of `data`."""
def sample_negative_binomial(k: Symbol | None = None, p: Symbol | None = None, shape: ShapeLike = (), dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """For each set of parameters counts (in a float type) of successes before the k-th failure, of mean k (1 - p) / p: shape (s) gives (s, shape)."""
def sample_normal(mu: Symbol | None = None, sigma: Symbol | None = None, shape: ShapeLike = (), dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """For each set of parameters normally distributed numbers, given by mean and standard deviation: shape (s) gives (s, shape)."""
def sample_poisson(lam: Symbol | None = None, shape: ShapeLike = (), dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """For each set of parameters Poisson distributed counts (in a float type) of mean lam: shape (s) gives (s, shape)."""
def sample_uniform(low: Symbol | None = None, high: Symbol | None = None, shape: ShapeLike = (), dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """For each set of parameters uniform numbers from [low, high): shape (s) gives (s, shape)."""
def scatter_nd(data: Symbol | None = None, indices: Symbol | None = None, shape: ShapeLike = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of zeros with values placed at index tuples, of which negative ones count from the end; of equal tuples the last one wins."""
def sgd_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gradient descent with momentum: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + mom``."""
def sgd_update(weight: Symbol | None = None, grad: Symbol | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Gradient descent: ``output = weight - lr * (grad + wd * weight)``."""
def shape_array(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The shape of the input, as an array of int64."""
def shuffle(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The rows of `data` (its first axis) in random order."""
def sigmoid(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Logistic function: ``output = 1 / (1 + exp(-data))``."""
def sign(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sign of each element: -1, 0 or 1; of NaN it is 0."""
def signsgd_update(weight: Symbol | None = None, grad: Symbol | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Descent by the gradient's sign: ``output = (1 - lr * wd) * weight - lr * sign(grad)``."""
def signum_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, wd_lh: float = 0.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Descent by the momentum's sign: ``mom = momentum * mom - (1 - momentum) * (grad + wd * weight)``, ``output = (1 - lr * wd_lh) * weight + lr * sign(mom)``."""
def sin(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sine of each element, in radians."""
def sinh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Hyperbolic sine of each element."""
def size_array(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The number of elements of the input, as an array of one int64."""
def slice(data: Symbol | None = None, begin: ShapeLike = ..., end: ShapeLike = ..., step: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """A part of the input, as ``data[begin[0]:end[0]:step[0], ...]`` of Python gives it."""
def slice_axis(data: Symbol | None = None, axis: int = ..., begin: int = ..., end: int | None = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The part from `begin` up to `end` of one axis."""
def slice_like(data: Symbol | None = None, shape_like: Symbol | None = None, axes: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The leading part of the input that has the other input's lengths along some axes."""
def smooth_l1(data: Symbol | None = None, scalar: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, *, is_int: bool = True) -> Symbol:
    """``(scalar * data) ** 2 / 2`` where ``|data| < 1 / scalar ** 2``, else ``|data| - 1 / (2 * scalar ** 2)`` (Girshick, "Fast R-CNN", 2015, equation 3, with the turning point moved)."""
def softmax(data: Symbol | None = None, length: Symbol | None = None, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Softmax along `axis`: ``out = exp(data / temperature) / sum(exp(data / temperature))``."""
def softmax_cross_entropy(data: Symbol | None = None, label: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sum of the cross-entropies of softmax(data) with the labels' classes."""
def softmin(data: Symbol | None = None, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, name: str | None = None, attr: dict[str, str] | None = None, *, length: Symbol | None = None) -> Symbol:
    """Softmax of ``-data`` along `axis`: the smallest entry gets the most."""
def softsign(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """``output = data / (1 + |data|)``, element by element."""
def sort(data: Symbol | None = None, axis: int | None = -1, is_ascend: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The elements sorted along an axis."""
def space_to_depth(data: Symbol | None = None, block_size: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Blocks rearranged into channels: (n, c, h, w) becomes (n, c * b ** 2, h / b, w / b)."""
def split(data: Symbol | None = None, num_outputs: int = ..., axis: int = 1, squeeze_axis: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input parted into equal pieces along an axis, one output each."""
def sqrt(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Square root of each element."""
def square(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Square of each element: ``output = data ** 2``."""
def squeeze(data: Symbol | None = None, axis: ShapeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input without axes of length 1."""
def stack(*data: Symbol | Sequence[Symbol], axis: int = 0, num_args: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The inputs, all of one shape, joined along a new axis."""
def stop_gradient(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input as it is; no gradient flows back through it."""
def sum(data: Symbol | None = None, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sum of elements over axes."""
def sum_axis(data: Symbol | None = None, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sum of elements over axes."""
def swapaxes(data: Symbol | None = None, dim1: int = 0, dim2: int = 0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input with two axes exchanged."""
def take(a: Symbol | None = None, indices: Symbol | None = None, axis: int = 0, mode: Literal['clip', 'wrap', 'raise'] = 'clip', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Slices of an array along an axis, by index."""
def tan(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Tangent of each element, in radians."""
def tanh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Hyperbolic tangent of each element."""
def tile(data: Symbol | None = None, reps: ShapeLike = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The whole input repeated `reps` times along each axis."""
def topk(data: Symbol | None = None, axis: int | None = -1, k: int = 1, ret_typ: Literal['value', 'indices', 'mask', 'both'] = 'indices', is_ascend: bool = False, dtype: DTypeLike = 'float32', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The k largest (or smallest) elements along an axis: their positions, their values, or a mask."""
def transpose(data: Symbol | None = None, axes: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input with its axes reordered: reversed, or as `axes` says."""
def trunc(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Each element without its fraction."""
def uniform(low: float = 0.0, high: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of uniform numbers from [low, high)."""
def unravel_index(data: Symbol | None = None, shape: ShapeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Places along axes from row-major places: (...) gives (ndim, ...)."""
def zeros_like(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Zeros of the input's shape and dtype."""
