# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Sequence
from typing import Any, Literal
from ..typing import ContextLike, DTypeLike, ShapeLike

from .._ndarray import waitall as waitall
from . import _internal as _internal
from . import contrib as contrib
from . import image as image
from . import linalg as linalg
from . import op as op
from . import random as random
from .binary import add as add
from .binary import divide as divide
from .binary import equal as equal
from .binary import greater as greater
from .binary import greater_equal as greater_equal
from .binary import lesser as lesser
from .binary import lesser_equal as lesser_equal
from .binary import logical_and as logical_and
from .binary import logical_or as logical_or
from .binary import logical_xor as logical_xor
from .binary import maximum as maximum
from .binary import minimum as minimum
from .binary import modulo as modulo
from .binary import multiply as multiply
from .binary import not_equal as not_equal
from .binary import power as power
from .binary import subtract as subtract
from .binary import true_divide as true_divide
from .composed import concatenate as concatenate
from .composed import histogram as histogram
from .composed import isnan as isnan
from .composed import moveaxis as moveaxis
from .composed import onehot_encode as onehot_encode
from .composed import split_v2 as split_v2
from .composed import where as where
from .creation import arange as arange
from .creation import array as array
from .creation import empty as empty
from .creation import eye as eye
from .creation import full as full
from .creation import linspace as linspace
from .creation import ones as ones
from .creation import ones_like as ones_like
from .creation import zeros as zeros
from .creation import zeros_like as zeros_like
from .dlpack import from_dlpack as from_dlpack
from .dlpack import from_numpy as from_numpy
from .dlpack import to_dlpack_for_read as to_dlpack_for_read
from .dlpack import to_dlpack_for_write as to_dlpack_for_write
from .ndarray import NDArray as NDArray
from .methods import einsum as einsum
from .methods import matmul as matmul
from .methods.numpy_functions import bincount as bincount
from .methods.numpy_functions import diff as diff
from .methods.numpy_functions import meshgrid as meshgrid
from .methods.numpy_functions import nonzero as nonzero
from .methods.numpy_functions import quantile as quantile
from .methods.numpy_functions import tril as tril
from .methods.numpy_functions import triu as triu
from .methods.numpy_functions import unique as unique
from .serialization import load as load
from .serialization import load_frombuffer as load_frombuffer
from .serialization import save as save
from .serialization import save_tobuffer as save_tobuffer
from . import sparse as sparse
from .sparse.functions import cast_storage as cast_storage
def Activation(data: NDArray, act_type: Literal['relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'], out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Elementwise nonlinearity, by `act_type`."""
def BatchNorm(data: NDArray, gamma: NDArray, beta: NDArray, moving_mean: NDArray, moving_var: NDArray, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Normalize each channel to mean 0 and variance 1 over all other axes, then scale and shift it."""
def BatchNorm_v1(data: NDArray, gamma: NDArray, beta: NDArray, moving_mean: NDArray, moving_var: NDArray, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Normalize each channel to mean 0 and variance 1 over all other axes, then scale and shift it."""
def BilinearSampler(data: NDArray, grid: NDArray, cudnn_off: bool | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Read data at the points of a grid, by bilinear interpolation."""
def BlockGrad(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input as it is; no gradient flows back through it."""
def CTCLoss(data: NDArray, label: NDArray, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal['first', 'last'] = 'first', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Connectionist temporal classification (Graves et al., 2006)."""
def Cast(data: NDArray, dtype: DTypeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input in another dtype."""
def Concat(*data: NDArray | Sequence[NDArray], dim: int = 1, num_args: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The inputs joined along an existing axis; their other lengths must agree."""
def Convolution(data: NDArray, weight: NDArray, bias: NDArray | None = None, kernel: ShapeLike = ..., stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Convolution (as a cross-correlation) over one, two or three spatial axes."""
def Convolution_v1(data: NDArray, weight: NDArray, bias: NDArray | None = None, kernel: ShapeLike = ..., stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Convolution (as a cross-correlation) over one, two or three spatial axes."""
def Correlation(data1: NDArray, data2: NDArray, kernel_size: int = 1, max_displacement: int = 1, stride1: int = 1, stride2: int = 1, pad_size: int = 0, is_multiply: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Compare patches of data1 with shifted patches of data2."""
def Crop(*data: NDArray | Sequence[NDArray], offset: ShapeLike = (0, 0), h_w: ShapeLike = (0, 0), center_crop: bool = False, num_args: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The window of images (N, C, H, W) that starts at `offset`, or that lies in their middle."""
def Custom(*data: NDArray | Sequence[NDArray], op_type: str = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None, **kwargs: Any) -> Any:
    """Apply an operator registered with ``mx.operator.register``."""
def Deconvolution(data: NDArray, weight: NDArray, bias: NDArray | None = None, kernel: ShapeLike = ..., stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), adj: ShapeLike = (), target_shape: ShapeLike = (), num_filter: int = ..., num_group: int = 1, workspace: int = 512, no_bias: bool = True, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Transposed convolution over one, two or three spatial axes."""
def Dropout(data: NDArray, p: float = 0.5, mode: Literal['training', 'always'] = 'training', axes: ShapeLike = (), cudnn_off: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Set each element to 0 with probability `p`, and divide the others by ``1 - p``."""
def ElementWiseSum(*data: NDArray | Sequence[NDArray], num_args: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sum of any number of arrays of one shape: ``output = data[0] + data[1] + ...``."""
def Embedding(data: NDArray, weight: NDArray, input_dim: int, output_dim: int, dtype: DTypeLike = 'float32', sparse_grad: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Rows of `weight` by index: ``out[..., :] = weight[data[...]]``."""
def Flatten(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Collapse all axes but the first: (N, d1, d2, ...) becomes (N, d1*d2*...)."""
def FullyConnected(data: NDArray, weight: NDArray, bias: NDArray | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Linear map of the last axis (or of all axes but the first): ``out = data . weight^T + bias``."""
def GridGenerator(data: NDArray, transform_type: Literal['affine', 'warp'], target_shape: ShapeLike = (0, 0), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Points at which BilinearSampler reads, from affine maps or from a flow."""
def GroupNorm(data: NDArray, gamma: NDArray, beta: NDArray, num_groups: int = 1, eps: float = 1e-05, output_mean_var: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Normalize each group of channels of each sample, then scale and shift it."""
def IdentityAttachKLSparseReg(data: NDArray, sparseness_target: float = 0.1, penalty: float = 0.001, momentum: float = 0.9, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None, *, moving_avg: NDArray = ...) -> NDArray:
    """The input itself; backward adds the gradient of a divergence from sparse activations."""
def InstanceNorm(data: NDArray, gamma: NDArray, beta: NDArray, eps: float = 0.001, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Normalize each channel of each sample over its positions, then scale and shift it."""
def L2Normalization(data: NDArray, eps: float = 1e-10, mode: Literal['channel', 'instance', 'spatial'] = 'instance', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Divide by the Euclidean norm: ``out = data / sqrt(sum(data ** 2) + eps)``."""
def LRN(data: NDArray, alpha: float = 0.0001, beta: float = 0.75, knorm: float = 2.0, nsize: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Local response normalization across channels."""
def LayerNorm(data: NDArray, gamma: NDArray, beta: NDArray, axis: int = -1, eps: float = 1e-05, output_mean_var: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Normalize along `axis` to mean 0 and variance 1, then scale and shift its entries."""
def LeakyReLU(data: NDArray, gamma: NDArray | None = None, act_type: Literal['elu', 'gelu', 'leaky', 'prelu', 'rrelu', 'selu'] = 'leaky', slope: float = 0.25, lower_bound: float = 0.125, upper_bound: float = 0.334, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Rectifier with a slope for negative x, by `act_type`."""
def LinearRegressionOutput(data: NDArray, label: NDArray, grad_scale: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Output of a regression with squared error: ``out = data``, gradient ``out - label``."""
def LogisticRegressionOutput(data: NDArray, label: NDArray, grad_scale: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Output of a logistic regression: ``out = sigmoid(data)``, gradient ``out - label``."""
def MAERegressionOutput(data: NDArray, label: NDArray, grad_scale: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Output of a regression with absolute error: ``out = data``, gradient ``sign(out - label)``."""
def MakeLoss(data: NDArray, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: Literal['null', 'batch', 'valid'] = 'null', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Makes data a loss: out is data, and its gradient is `grad_scale`, normalized."""
def Pad(data: NDArray, mode: Literal['constant', 'edge', 'reflect'], pad_width: ShapeLike, constant_value: float = 0.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input with borders around all axes but the first two."""
def Pooling(data: NDArray, kernel: ShapeLike = (), pool_type: Literal['max', 'avg', 'sum', 'lp'] = 'max', global_pool: bool = False, cudnn_off: bool = False, pooling_convention: Literal['valid', 'full', 'same'] = 'valid', stride: ShapeLike = (), pad: ShapeLike = (), p_value: int | None = None, count_include_pad: bool | None = None, layout: Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Reduce every window over the spatial axes of (N, C, *size) to one number, by `pool_type`."""
def Pooling_v1(data: NDArray, kernel: ShapeLike = (), pool_type: Literal['avg', 'max', 'sum'] = 'max', global_pool: bool = False, pooling_convention: Literal['full', 'valid'] = 'valid', stride: ShapeLike = (), pad: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Reduce every window over the planes of (N, C, H, W), padded with zeros, to one number."""
def RNN(data: NDArray, parameters: NDArray, state: NDArray, state_cell: NDArray | None = None, sequence_length: NDArray | None = None, state_size: int = ..., num_layers: int = ..., bidirectional: bool = False, mode: Literal['rnn_relu', 'rnn_tanh', 'lstm', 'gru'] = ..., p: float = 0.0, state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Recurrent layers, of one direction or two, over sequences (steps, batch, input size)."""
def ROIPooling(data: NDArray, rois: NDArray, pooled_size: ShapeLike, spatial_scale: float, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Cut regions into bins and take the maximum of each."""
def Reshape(data: NDArray, shape: ShapeLike = (), reverse: bool = False, target_shape: ShapeLike = (), keep_highest: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input under another shape."""
def SVMOutput(data: NDArray, label: NDArray, margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Output of a support vector machine: ``out = data``; backward gives a hinge loss's gradient."""
def SequenceLast(data: NDArray, sequence_length: NDArray | None = None, use_sequence_length: bool = False, axis: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The last element of each sequence."""
def SequenceMask(data: NDArray, sequence_length: NDArray | None = None, use_sequence_length: bool = False, value: float = 0.0, axis: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sequences whose elements beyond their lengths are replaced by `value`; a length above that of the axis keeps all, one below 0 none."""
def SequenceReverse(data: NDArray, sequence_length: NDArray | None = None, use_sequence_length: bool = False, axis: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sequences reversed within their lengths, which are at most that of the axis; what lies beyond stays."""
def SliceChannel(data: NDArray, num_outputs: int, axis: int = 1, squeeze_axis: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """The input parted into equal pieces along an axis, one output each."""
def Softmax(data: NDArray, label: NDArray, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: Literal['null', 'batch', 'valid'] = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Softmax whose gradient is that of the cross-entropy with `label`."""
def SoftmaxActivation(data: NDArray, mode: Literal['channel', 'instance'] = 'instance', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Softmax along the last axis ('instance') or along axis 1 ('channel')."""
def SoftmaxOutput(data: NDArray, label: NDArray, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: Literal['null', 'batch', 'valid'] = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Softmax whose gradient is that of the cross-entropy with `label`."""
def SpatialTransformer(data: NDArray, loc: NDArray, target_shape: ShapeLike = (0, 0), transform_type: Literal['affine'] = ..., sampler_type: Literal['bilinear'] = ..., cudnn_off: bool | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Read data at the points to which affine maps move a grid of target_shape."""
def SwapAxis(data: NDArray, dim1: int = 0, dim2: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input with two axes exchanged."""
def UpSampling(*data: NDArray | Sequence[NDArray], scale: int = ..., num_filter: int = 0, sample_type: Literal['bilinear', 'nearest'] = ..., multi_input_mode: Literal['concat', 'sum'] = 'concat', workspace: int = 512, num_args: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Enlarge planes by `scale`: repeat elements ('nearest') or deconvolve ('bilinear')."""
def abs(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Absolute value of each element: ``output = |data|``."""
def adam_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, lr: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Adam: steps along the mean of gradients over the root of their mean square."""
def add_n(*data: NDArray | Sequence[NDArray], num_args: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sum of any number of arrays of one shape: ``output = data[0] + data[1] + ...``."""
def all_finite(data: NDArray, init_output: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where all elements are finite, else 0: an array (1,) of float32."""
def amp_cast(data: NDArray, dtype: DTypeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input in another dtype where it is bfloat16, float16 or float32, else as it is; as automatic mixed precision inserts it."""
def amp_multicast(*data: NDArray | Sequence[NDArray], cast_narrow: bool = False, num_outputs: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """Inputs of bfloat16, float16 and float32 in one dtype, the wider that is there; others as they are. bfloat16 and float16 beside each other become float32."""
def arccos(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Inverse cosine of each element, within [0, pi]."""
def arccosh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Inverse hyperbolic cosine of each element."""
def arcsin(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Inverse sine of each element, within [-pi/2, pi/2]."""
def arcsinh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Inverse hyperbolic sine of each element."""
def arctan(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Inverse tangent of each element, within (-pi/2, pi/2)."""
def arctanh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Inverse hyperbolic tangent of each element."""
def argmax(data: NDArray, axis: int | None = None, keepdims: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Index of the largest element along an axis."""
def argmax_channel(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Index of the largest element of each row of a matrix."""
def argmin(data: NDArray, axis: int | None = None, keepdims: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Index of the smallest element along an axis."""
def argsort(data: NDArray, axis: int | None = -1, is_ascend: bool = True, dtype: DTypeLike = 'float32', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The positions that sort the elements along an axis."""
def batch_dot(lhs: NDArray, rhs: NDArray, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Literal['default', 'row_sparse', 'csr'] | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Matrix products of two stacks: ``output[i] = lhs[i] rhs[i]`` over all leading axes."""
def batch_take(a: NDArray, indices: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """One element of each row of a matrix, by index."""
def broadcast_add(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sum of two arrays, broadcast."""
def broadcast_axes(data: NDArray, axis: ShapeLike = (), size: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input with some axes of length 1 repeated."""
def broadcast_axis(data: NDArray, axis: ShapeLike = (), size: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input with some axes of length 1 repeated."""
def broadcast_div(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Quotient of two arrays, broadcast."""
def broadcast_equal(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where two elements are equal, else 0; broadcast."""
def broadcast_greater(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where the left element is greater, else 0; broadcast."""
def broadcast_greater_equal(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where the left element is not smaller, else 0; broadcast."""
def broadcast_hypot(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """``sqrt(lhs ** 2 + rhs ** 2)`` element by element, broadcast."""
def broadcast_lesser(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where the left element is smaller, else 0; broadcast."""
def broadcast_lesser_equal(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where the left element is not greater, else 0; broadcast."""
def broadcast_like(lhs: NDArray, rhs: NDArray, lhs_axes: ShapeLike | None = None, rhs_axes: ShapeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The left input with axes of length 1 repeated up to the right input's lengths."""
def broadcast_logical_and(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where both elements are nonzero, else 0; broadcast."""
def broadcast_logical_or(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where an element is nonzero, else 0; broadcast."""
def broadcast_logical_xor(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where exactly one element is nonzero, else 0; broadcast."""
def broadcast_maximum(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The larger of two elements, broadcast."""
def broadcast_minimum(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The smaller of two elements, broadcast."""
def broadcast_minus(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Difference of two arrays, broadcast."""
def broadcast_mod(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Remainder with the sign of the divisor, broadcast."""
def broadcast_mul(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Product of two arrays element by element, broadcast."""
def broadcast_not_equal(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where two elements differ, else 0; broadcast."""
def broadcast_plus(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sum of two arrays, broadcast."""
def broadcast_power(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """``lhs ** rhs`` element by element, broadcast."""
def broadcast_sub(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Difference of two arrays, broadcast."""
def broadcast_to(data: NDArray, shape: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input with axes of length 1 repeated up to `shape`."""
def cast(data: NDArray, dtype: DTypeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input in another dtype."""
def cbrt(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Cube root of each element."""
def ceil(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Least integer that is not below each element."""
def choose_element_0index(data: NDArray, index: NDArray, axis: int = -1, keepdims: bool = False, mode: Literal['clip', 'wrap', 'raise'] = 'clip', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """One element of each row along an axis, by index."""
def clip(data: NDArray, a_min: float, a_max: float, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Each element limited to [a_min, a_max]."""
def col2im(data: NDArray, output_size: ShapeLike, kernel: ShapeLike, stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Columns summed into images, where windows overlap: what im2col's gradient does."""
def concat(*data: NDArray | Sequence[NDArray], dim: int = 1, num_args: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The inputs joined along an existing axis; their other lengths must agree."""
def cos(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Cosine of each element, in radians."""
def cosh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Hyperbolic cosine of each element."""
def crop(data: NDArray, begin: ShapeLike, end: ShapeLike, step: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """A part of the input, as ``data[begin[0]:end[0]:step[0], ...]`` of Python gives it."""
def ctc_loss(data: NDArray, label: NDArray, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal['first', 'last'] = 'first', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Connectionist temporal classification (Graves et al., 2006)."""
def cumsum(a: NDArray, axis: int | None = None, dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Running sums along an axis, or of the flattened array."""
def degrees(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Radians to degrees, element by element."""
def depth_to_space(data: NDArray, block_size: int, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Channels rearranged into blocks: (n, c, h, w) becomes (n, c / b ** 2, h * b, w * b)."""
def diag(data: NDArray, k: int = 0, axis1: int = 0, axis2: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """A diagonal of an array of two or more axes, as its last axis; or a matrix with the input on one."""
def dot(lhs: NDArray, rhs: NDArray, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Literal['default', 'row_sparse', 'csr'] | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Product of the last axis of lhs with the first axis of rhs."""
def elemwise_add(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sum of two arrays of one shape."""
def elemwise_div(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Quotient of two arrays of one shape."""
def elemwise_mul(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Product of two arrays of one shape, element by element."""
def elemwise_sub(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Difference of two arrays of one shape."""
def erf(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gauss error function of each element."""
def erfinv(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Inverse of the Gauss error function, for elements in (-1, 1)."""
def exp(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Exponential of each element: ``output = e ** data``."""
def expand_dims(data: NDArray, axis: int, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input with an axis of length 1 inserted."""
def expm1(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """``e ** data - 1``, precise near 0."""
def fill_element_0index(lhs: NDArray, mhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """`lhs` with one element of each row replaced: ``out[i, rhs[i]] = mhs[i]``."""
def fix(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Nearest integer towards zero of each element."""
def flatten(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Collapse all axes but the first: (N, d1, d2, ...) becomes (N, d1*d2*...)."""
def flip(data: NDArray, axis: ShapeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input with the order along some axes reversed."""
def floor(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Greatest integer that is not above each element."""
def ftml_update(weight: NDArray, grad: NDArray, d: NDArray, v: NDArray, z: NDArray, lr: float, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-08, t: int = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_grad: float = -1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Follow the moving leader (Zheng and Kwok, 2017), with ``g = grad + wd * weight``, clipped."""
def ftrl_update(weight: NDArray, grad: NDArray, z: NDArray, n: NDArray, lr: float, lamda1: float = 0.01, beta: float = 1.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Follow the regularized leader: ``z += grad - (sqrt(n + grad ** 2) - sqrt(n)) * weight / lr``, ``n += grad ** 2``, ``output = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)`` where ``|z| > lamda1``, else 0."""
def gamma(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gamma function of each element."""
def gammaln(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Logarithm of the absolute gamma function of each element."""
def gather_nd(data: NDArray, indices: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Elements or blocks of an array at index tuples."""
def hard_sigmoid(data: NDArray, alpha: float = 0.2, beta: float = 0.5, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """``output = alpha * data + beta``, limited to [0, 1]."""
def identity(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input itself: ``output = data``."""
def im2col(data: NDArray, kernel: ShapeLike, stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Windows that slide over images, each a column: (N, C, *size) gives (N, C * prod(kernel), L)."""
def khatri_rao(*data: NDArray | Sequence[NDArray], num_args: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Khatri-Rao product: Kronecker products of the matrices' columns, one beside the other."""
def lamb_update_phase1(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The first phase of LAMB: Adam's step with weight decay, ``mean' / (sqrt(var') + epsilon) + wd * weight``."""
def lamb_update_phase2(weight: NDArray, g: NDArray, r1: NDArray, r2: NDArray, lr: float, lower_bound: float = -1.0, upper_bound: float = -1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The second phase of LAMB: ``output = weight - lr * r1 / r2 * g`` for the step ``g`` that the first gave and the norms ``r1`` of the weight and ``r2`` of the step."""
def linalg_det(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Determinants of square matrices; of one matrix an array of one number."""
def linalg_eig(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """Eigenvalues L and eigenvectors V of square matrices: ``A V = V diag(L)``, outputs L and V."""
def linalg_extractdiag(A: NDArray, offset: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """A diagonal of each square matrix as a vector."""
def linalg_extracttrian(A: NDArray, offset: int = 0, lower: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """One triangle of each square matrix as a vector."""
def linalg_gelqf(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """LQ factorizations ``A = L Q``: the outputs are Q and L."""
def linalg_gemm(A: NDArray, B: NDArray, C: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int = -2, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Products of matrices, with a sum: ``alpha op(A) op(B) + beta C``."""
def linalg_gemm2(A: NDArray, B: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Products of matrices: ``alpha op(A) op(B)``; op transposes where asked to."""
def linalg_inverse(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Inverses of square matrices."""
def linalg_makediag(A: NDArray, offset: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Square matrices with a diagonal from a vector, zeros elsewhere."""
def linalg_maketrian(A: NDArray, offset: int = 0, lower: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Square matrices with one triangle from a vector, as `extracttrian` gives it, else zeros."""
def linalg_potrf(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None, *, lower: bool = True) -> NDArray:
    """Cholesky factors: lower triangular L with ``A = L L'`` of symmetric positive definite A."""
def linalg_potri(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None, *, lower: bool = True) -> NDArray:
    """Inverses ``(L L')^-1`` from Cholesky factors L, of which the lower triangle is read."""
def linalg_slogdet(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """Signs of determinants, and logarithms of their sizes: two outputs."""
def linalg_solve(A: NDArray, B: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Solutions X of ``A X = B``, of B's shape."""
def linalg_sumlogdiag(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sums of the logarithms of the diagonals; NaN where an entry is negative."""
def linalg_svd(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """Singular value decompositions ``A = U diag(L) V``: the outputs are U, L and V."""
def linalg_syevd(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """Eigenvectors and eigenvalues of symmetric matrices: ``A = U' diag(L) U``, outputs U and L."""
def linalg_syrk(A: NDArray, transpose: bool = False, alpha: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gram matrices ``alpha A A'``, with `transpose` ``alpha A' A``."""
def linalg_trmm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Products of triangular matrices: ``alpha op(A) B``, with `rightside` ``alpha B op(A)``."""
def linalg_trsm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Solves triangular equations: the output X has ``op(A) X = alpha B``."""
def log(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Natural logarithm of each element."""
def log10(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Logarithm to base 10 of each element."""
def log1p(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """``log(1 + data)``, precise near 0."""
def log2(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Logarithm to base 2 of each element."""
def log_softmax(data: NDArray, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None, *, length: NDArray | None = None) -> NDArray:
    """Logarithm of the softmax along `axis`, computed without losing small numbers."""
def logical_not(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where an element is 0, else 0; the input's dtype."""
def make_loss(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Makes data a loss: out is data, and its gradient is 1 everywhere."""
def max(data: NDArray, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Largest element over axes; NaN if one is."""
def max_axis(data: NDArray, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Largest element over axes; NaN if one is."""
def mean(data: NDArray, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Arithmetic mean over axes."""
def min(data: NDArray, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Smallest element over axes; NaN if one is."""
def min_axis(data: NDArray, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Smallest element over axes; NaN if one is."""
def moments(data: NDArray, axes: ShapeLike | None = None, keepdims: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """Mean and variance over `axes`: two outputs, each as of `mean`."""
def mp_lamb_update_phase1(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The first phase of LAMB for float16 weights, computed on `weight32`, their float32 masters; the step is float32."""
def mp_lamb_update_phase2(weight: NDArray, g: NDArray, r1: NDArray, r2: NDArray, weight32: NDArray, lr: float, lower_bound: float = -1.0, upper_bound: float = -1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The second phase of LAMB for float16 weights, computed on `weight32`, their float32 masters, which move, too."""
def mp_nag_mom_update(weight: NDArray, grad: NDArray, mom: NDArray, weight32: NDArray, lr: float, momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Nesterov's accelerated gradient: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + momentum * mom - lr * (grad + wd * weight)``."""
def mp_sgd_mom_update(weight: NDArray, grad: NDArray, mom: NDArray, weight32: NDArray, lr: float, momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gradient descent with momentum: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + mom``."""
def mp_sgd_update(weight: NDArray, grad: NDArray, weight32: NDArray, lr: float, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gradient descent: ``output = weight - lr * (grad + wd * weight)``."""
def multi_all_finite(*data: NDArray | Sequence[NDArray], init_output: bool = True, num_arrays: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """1 where all elements of all inputs are finite, else 0: an array (1,) of float32."""
def multi_lars(lrs: NDArray, weights_sum_sq: NDArray, grads_sum_sq: NDArray, wds: NDArray, eta: float, eps: float, rescale_grad: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Learning rates in proportion to the weights' norms over those of the gradients."""
def multi_mp_sgd_mom_update(*data: NDArray | Sequence[NDArray], lrs: float | Sequence[float] = ..., wds: float | Sequence[float] = ..., momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gradient descent with momentum of several weights: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + mom`` for each."""
def multi_mp_sgd_update(*data: NDArray | Sequence[NDArray], lrs: float | Sequence[float] = ..., wds: float | Sequence[float] = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gradient descent of several weights: ``output = weight - lr * (grad + wd * weight)`` for each."""
def multi_sgd_mom_update(*data: NDArray | Sequence[NDArray], lrs: float | Sequence[float] = ..., wds: float | Sequence[float] = ..., momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gradient descent with momentum of several weights: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + mom`` for each."""
def multi_sgd_update(*data: NDArray | Sequence[NDArray], lrs: float | Sequence[float] = ..., wds: float | Sequence[float] = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gradient descent of several weights: ``output = weight - lr * (grad + wd * weight)`` for each."""
def multi_sum_sq(*data: NDArray | Sequence[NDArray], num_arrays: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The sum of squares of each input: an array of float32, one element an input."""
def nag_mom_update(weight: NDArray, grad: NDArray, mom: NDArray, lr: float, momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Nesterov's accelerated gradient: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + momentum * mom - lr * (grad + wd * weight)``."""
def nanprod(data: NDArray, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Product over axes; NaN counts as 1."""
def nansum(data: NDArray, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sum over axes; NaN counts as 0."""
def negative(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Negative of each element: ``output = -data``."""
def norm(data: NDArray, ord: int = 2, axis: ShapeLike | None = None, out_dtype: DTypeLike | None = None, keepdims: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Norm over axes: ord 1 sums absolute values, ord 2 is the root of the sum of squares."""
def normal(loc: float = 0.0, scale: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of normally distributed numbers, given by mean and standard deviation."""
def one_hot(indices: NDArray, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: DTypeLike = 'float32', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """A row of `depth` values for each index: `on_value` at the index, `off_value` elsewhere."""
def pad(data: NDArray, mode: Literal['constant', 'edge', 'reflect'], pad_width: ShapeLike, constant_value: float = 0.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input with borders around all axes but the first two."""
def pick(data: NDArray, index: NDArray, axis: int = -1, keepdims: bool = False, mode: Literal['clip', 'wrap', 'raise'] = 'clip', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """One element of each row along an axis, by index."""
def preloaded_multi_mp_sgd_mom_update(*data: NDArray | Sequence[NDArray], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """`multi_sgd_mom_update` with learning rates and decays from the last two inputs."""
def preloaded_multi_mp_sgd_update(*data: NDArray | Sequence[NDArray], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """`multi_sgd_update` with learning rates and decays from the last two inputs."""
def preloaded_multi_sgd_mom_update(*data: NDArray | Sequence[NDArray], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """`multi_sgd_mom_update` with learning rates and decays from the last two inputs."""
def preloaded_multi_sgd_update(*data: NDArray | Sequence[NDArray], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """`multi_sgd_update` with learning rates and decays from the last two inputs."""
def prod(data: NDArray, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Product over axes."""
def radians(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Degrees to radians, element by element."""
def random_exponential(lam: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of exponentially distributed numbers of mean 1 / lam."""
def random_gamma(alpha: float = 1.0, beta: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of gamma distributed numbers of mean alpha * beta."""
def random_generalized_negative_binomial(mu: float = 1.0, alpha: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of negative binomial counts (in a float type) given by their mean and dispersion."""
def random_negative_binomial(k: int = 1, p: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of counts (in a float type) of successes before the k-th failure, of mean k (1 - p) / p."""
def random_normal(loc: float = 0.0, scale: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of normally distributed numbers, given by mean and standard deviation."""
def random_pdf_dirichlet(sample: NDArray, alpha: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under Dirichlet distributions, whose `alpha` is in the last axis."""
def random_pdf_exponential(sample: NDArray, lam: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under exponential distributions, 0 outside of what can be drawn."""
def random_pdf_gamma(sample: NDArray, alpha: NDArray, beta: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under gamma distributions, 0 outside of what can be drawn."""
def random_pdf_generalized_negative_binomial(sample: NDArray, mu: NDArray, alpha: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under negative binomial distributions given by mean and dispersion, 0 outside of what can be drawn."""
def random_pdf_negative_binomial(sample: NDArray, k: NDArray, p: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under negative binomial distributions, 0 outside of what can be drawn."""
def random_pdf_normal(sample: NDArray, mu: NDArray, sigma: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under normal distributions, 0 outside of what can be drawn."""
def random_pdf_poisson(sample: NDArray, lam: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under Poisson distributions, 0 outside of what can be drawn."""
def random_pdf_uniform(sample: NDArray, low: NDArray, high: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under uniform distributions over [low, high], 0 outside of what can be drawn."""
def random_poisson(lam: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of Poisson distributed counts (in a float type) of mean lam."""
def random_randint(low: int, high: int, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of integers, each of [low, high) equally likely."""
def random_uniform(low: float = 0.0, high: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of uniform numbers from [low, high)."""
def ravel_multi_index(data: NDArray, shape: ShapeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Row-major places from places along axes: (ndim, ...) gives (...)."""
def rcbrt(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Reciprocal cube root of each element: ``1 / cbrt(data)``."""
def reciprocal(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Reciprocal of each element: ``1 / data``."""
def relu(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Rectified linear: ``output = max(data, 0)``."""
def repeat(data: NDArray, repeats: int, axis: int | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Each element repeated along an axis, or of the flattened input."""
def reset_arrays(*data: NDArray | Sequence[NDArray], num_arrays: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """All arrays become zeros; nothing comes out."""
def reshape(data: NDArray, shape: ShapeLike = (), reverse: bool = False, target_shape: ShapeLike = (), keep_highest: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input under another shape."""
def reshape_like(lhs: NDArray, rhs: NDArray, lhs_begin: int | None = None, lhs_end: int | None = None, rhs_begin: int | None = None, rhs_end: int | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The left input with the shape of the right one, or with a range of its axes replaced."""
def reverse(data: NDArray, axis: ShapeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input with the order along some axes reversed."""
def rint(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Nearest integer of each element, ties to the lower one."""
def rmsprop_update(weight: NDArray, grad: NDArray, n: NDArray, lr: float, gamma1: float = 0.95, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """RMSProp: ``n = gamma1 * n + (1 - gamma1) * g ** 2``, ``output = weight - lr * g / sqrt(n + epsilon)`` with ``g = grad + wd * weight``, clipped."""
def rmspropalex_update(weight: NDArray, grad: NDArray, n: NDArray, g: NDArray, delta: NDArray, lr: float, gamma1: float = 0.95, gamma2: float = 0.9, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """RMSProp after Graves: with the gradient's mean ``g`` and a momentum ``delta`` of its own."""
def round(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Nearest integer of each element, ties away from zero."""
def rsqrt(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Reciprocal square root of each element: ``1 / sqrt(data)``."""
def sample_exponential(lam: NDArray, shape: ShapeLike = (), dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """For each set of parameters exponentially distributed numbers of mean 1 / lam: shape (s) gives (s, shape)."""
def sample_gamma(alpha: NDArray, beta: NDArray, shape: ShapeLike = (), dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """For each set of parameters gamma distributed numbers of mean alpha * beta: shape (s) gives (s, shape)."""
def sample_generalized_negative_binomial(mu: NDArray, alpha: NDArray, shape: ShapeLike = (), dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """For each set of parameters negative binomial counts (in a float type) given by their mean and dispersion: shape (s) gives (s, shape)."""
def sample_multinomial(data: NDArray, shape: ShapeLike = (), get_prob: bool = False, dtype: DTypeLike = 'int32', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Indices drawn with the probabilities in each row of `data`."""
def sample_negative_binomial(k: NDArray, p: NDArray, shape: ShapeLike = (), dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """For each set of parameters counts (in a float type) of successes before the k-th failure, of mean k (1 - p) / p: shape (s) gives (s, shape)."""
def sample_normal(mu: NDArray, sigma: NDArray, shape: ShapeLike = (), dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """For each set of parameters normally distributed numbers, given by mean and standard deviation: shape (s) gives (s, shape)."""
def sample_poisson(lam: NDArray, shape: ShapeLike = (), dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """For each set of parameters Poisson distributed counts (in a float type) of mean lam: shape (s) gives (s, shape)."""
def sample_uniform(low: NDArray, high: NDArray, shape: ShapeLike = (), dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """For each set of parameters uniform numbers from [low, high): shape (s) gives (s, shape)."""
def scatter_nd(data: NDArray, indices: NDArray, shape: ShapeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of zeros with values placed at index tuples, of which negative ones count from the end; of equal tuples the last one wins."""
def sgd_mom_update(weight: NDArray, grad: NDArray, mom: NDArray, lr: float, momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gradient descent with momentum: ``mom = momentum * mom - lr * (grad + wd * weight)``, ``output = weight + mom``."""
def sgd_update(weight: NDArray, grad: NDArray, lr: float, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Gradient descent: ``output = weight - lr * (grad + wd * weight)``."""
def shape_array(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The shape of the input, as an array of int64."""
def shuffle(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The rows of `data` (its first axis) in random order."""
def sigmoid(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Logistic function: ``output = 1 / (1 + exp(-data))``."""
def sign(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sign of each element: -1, 0 or 1; of NaN it is 0."""
def signsgd_update(weight: NDArray, grad: NDArray, lr: float, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Descent by the gradient's sign: ``output = (1 - lr * wd) * weight - lr * sign(grad)``."""
def signum_update(weight: NDArray, grad: NDArray, mom: NDArray, lr: float, momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, wd_lh: float = 0.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Descent by the momentum's sign: ``mom = momentum * mom - (1 - momentum) * (grad + wd * weight)``, ``output = (1 - lr * wd_lh) * weight + lr * sign(mom)``."""
def sin(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sine of each element, in radians."""
def sinh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Hyperbolic sine of each element."""
def size_array(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The number of elements of the input, as an array of one int64."""
def slice(data: NDArray, begin: ShapeLike, end: ShapeLike, step: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """A part of the input, as ``data[begin[0]:end[0]:step[0], ...]`` of Python gives it."""
def slice_axis(data: NDArray, axis: int, begin: int, end: int | None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The part from `begin` up to `end` of one axis."""
def slice_like(data: NDArray, shape_like: NDArray, axes: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The leading part of the input that has the other input's lengths along some axes."""
def smooth_l1(data: NDArray, scalar: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None, *, is_int: bool = True) -> NDArray:
    """``(scalar * data) ** 2 / 2`` where ``|data| < 1 / scalar ** 2``, else ``|data| - 1 / (2 * scalar ** 2)`` (Girshick, "Fast R-CNN", 2015, equation 3, with the turning point moved)."""
def softmax(data: NDArray, length: NDArray | None = None, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Softmax along `axis`: ``out = exp(data / temperature) / sum(exp(data / temperature))``."""
def softmax_cross_entropy(data: NDArray, label: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sum of the cross-entropies of softmax(data) with the labels' classes."""
def softmin(data: NDArray, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None, *, length: NDArray | None = None) -> NDArray:
    """Softmax of ``-data`` along `axis`: the smallest entry gets the most."""
def softsign(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """``output = data / (1 + |data|)``, element by element."""
def sort(data: NDArray, axis: int | None = -1, is_ascend: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The elements sorted along an axis."""
def space_to_depth(data: NDArray, block_size: int, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Blocks rearranged into channels: (n, c, h, w) becomes (n, c * b ** 2, h / b, w / b)."""
def split(data: NDArray, num_outputs: int, axis: int = 1, squeeze_axis: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    """The input parted into equal pieces along an axis, one output each."""
def sqrt(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Square root of each element."""
def square(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Square of each element: ``output = data ** 2``."""
def squeeze(data: NDArray, axis: ShapeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input without axes of length 1."""
def stack(*data: NDArray | Sequence[NDArray], axis: int = 0, num_args: int = ..., out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The inputs, all of one shape, joined along a new axis."""
def stop_gradient(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input as it is; no gradient flows back through it."""
def sum(data: NDArray, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sum of elements over axes."""
def sum_axis(data: NDArray, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Sum of elements over axes."""
def swapaxes(data: NDArray, dim1: int = 0, dim2: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input with two axes exchanged."""
def take(a: NDArray, indices: NDArray, axis: int = 0, mode: Literal['clip', 'wrap', 'raise'] = 'clip', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Slices of an array along an axis, by index."""
def tan(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Tangent of each element, in radians."""
def tanh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Hyperbolic tangent of each element."""
def tile(data: NDArray, reps: ShapeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The whole input repeated `reps` times along each axis."""
def topk(data: NDArray, axis: int | None = -1, k: int = 1, ret_typ: Literal['value', 'indices', 'mask', 'both'] = 'indices', is_ascend: bool = False, dtype: DTypeLike = 'float32', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The k largest (or smallest) elements along an axis: their positions, their values, or a mask."""
def transpose(data: NDArray, axes: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """The input with its axes reordered: reversed, or as `axes` says."""
def trunc(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Each element without its fraction."""
def uniform(low: float = 0.0, high: float = 1.0, shape: ShapeLike | None = None, ctx: ContextLike = '', dtype: DTypeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of uniform numbers from [low, high)."""
def unravel_index(data: NDArray, shape: ShapeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Places along axes from row-major places: (...) gives (ndim, ...)."""
