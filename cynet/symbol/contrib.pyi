# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Sequence
from typing import Literal
from ..typing import ContextLike, DTypeLike, ShapeLike
from .symbol import Symbol

from .composed import SparseEmbedding as SparseEmbedding
from .composed import boolean_mask as boolean_mask
from .composed import rand_zipfian as rand_zipfian
from .control_flow import cond as cond
from .control_flow import foreach as foreach
from .control_flow import while_loop as while_loop
from .updates import adamw_update as adamw_update
from .updates import mp_adamw_update as mp_adamw_update
def AdaptiveAvgPooling2D(data: Symbol | None = None, output_size: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Pool the planes of (N, C, H, W) to output_size by means, whatever their size."""
def BatchNormWithReLU(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """BatchNorm, and relu of its output."""
def BilinearResize2D(data: Symbol | None = None, like: Symbol | None = None, height: int = 1, width: int = 1, scale_height: float | None = None, scale_width: float | None = None, mode: Literal['like', 'odd_scale', 'size', 'to_even_down', 'to_even_up', 'to_odd_down', 'to_odd_up'] = 'size', align_corners: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Resize the planes of (N, C, H, W) by bilinear interpolation."""
def CTCLoss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal['first', 'last'] = 'first', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Connectionist temporal classification (Graves et al., 2006)."""
def DeformableConvolution(data: Symbol | None = None, offset: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, kernel: ShapeLike = ..., stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), num_filter: int = ..., num_group: int = 1, num_deformable_group: int = 1, workspace: int = 1024, no_bias: bool = False, layout: Literal['NCW', 'NCHW', 'NCDHW'] | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Convolution whose windows read the data beside their points, by offsets that are an input."""
def DeformablePSROIPooling(data: Symbol | None = None, rois: Symbol | None = None, trans: Symbol | None = None, spatial_scale: float = ..., output_dim: int = ..., group_size: int = ..., pooled_size: int = ..., part_size: int = 0, sample_per_part: int = 1, trans_std: float = 0.0, no_trans: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Move each bin of a region by an offset of its own, then take the mean of samples of it."""
def ModulatedDeformableConvolution(data: Symbol | None = None, offset: Symbol | None = None, mask: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, kernel: ShapeLike = ..., stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), num_filter: int = ..., num_group: int = 1, num_deformable_group: int = 1, workspace: int = 1024, no_bias: bool = False, im2col_step: int = 64, layout: Literal['NCW', 'NCHW', 'NCDHW'] | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """DeformableConvolution whose samples are multiplied by factors that are an input, too."""
def MultiBoxDetection(cls_prob: Symbol | None = None, loc_pred: Symbol | None = None, anchor: Symbol | None = None, clip: bool = True, threshold: float = 0.01, background_id: int = 0, nms_threshold: float = 0.5, force_suppress: bool = False, variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2), nms_topk: int = -1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The box of each anchor whose best class is not the background, without those that overlap a better one (non-maximum suppression)."""
def MultiBoxPrior(data: Symbol | None = None, sizes: float | Sequence[float] = (1.0,), ratios: float | Sequence[float] = (1.0,), clip: bool = False, steps: float | Sequence[float] = (-1.0, -1.0), offsets: float | Sequence[float] = (0.5, 0.5), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Anchors around each place of a feature map: one for every size, with the first ratio, and one for every further ratio, with the first size."""
def MultiBoxTarget(anchor: Symbol | None = None, label: Symbol | None = None, cls_pred: Symbol | None = None, overlap_threshold: float = 0.5, ignore_label: float = -1.0, negative_mining_ratio: float = -1.0, negative_mining_thresh: float = 0.5, minimum_negative_samples: int = 0, variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Matches anchors with the boxes of labels: each box has the anchor that it overlaps most, and all anchors that it overlaps enough. The rest is background, or the part of it that is hardest."""
def MultiProposal(cls_prob: Symbol | None = None, bbox_pred: Symbol | None = None, im_info: Symbol | None = None, rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, threshold: float = 0.7, rpn_min_size: int = 16, scales: float | Sequence[float] = (4.0, 8.0, 16.0, 32.0), ratios: float | Sequence[float] = (0.5, 1.0, 2.0), feature_stride: int = 16, output_score: bool = False, iou_loss: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Regions of each image of a batch: see Proposal."""
def PSROIPooling(data: Symbol | None = None, rois: Symbol | None = None, spatial_scale: float = ..., output_dim: int = ..., pooled_size: int = ..., group_size: int = 0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Cut regions into bins and take the mean of each, from channels that the bin has alone."""
def Proposal(cls_prob: Symbol | None = None, bbox_pred: Symbol | None = None, im_info: Symbol | None = None, rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, threshold: float = 0.7, rpn_min_size: int = 16, scales: float | Sequence[float] = (4.0, 8.0, 16.0, 32.0), ratios: float | Sequence[float] = (0.5, 1.0, 2.0), feature_stride: int = 16, output_score: bool = False, iou_loss: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Regions of an image from the scores and deltas of anchors, the best score first, without those that overlap a better one; where there are fewer than asked for, from the first on again."""
def ROIAlign(data: Symbol | None = None, rois: Symbol | None = None, pooled_size: ShapeLike = ..., spatial_scale: float = ..., sample_ratio: int = -1, position_sensitive: bool = False, aligned: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Cut regions into bins, without rounding, and take the mean of samples of each."""
def RROIAlign(data: Symbol | None = None, rois: Symbol | None = None, pooled_size: ShapeLike = ..., spatial_scale: float = ..., sampling_ratio: int = -1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Cut rotated regions into bins and take the mean of bilinear samples of each."""
def SyncBatchNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, ndev: int = 1, key: str = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """BatchNorm whose statistics are those of the whole batch, over all devices."""
def allclose(a: Symbol | None = None, b: Symbol | None = None, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Whether ``|a - b| <= atol + rtol |b|`` for all elements: an array of one uint8, 1 or 0."""
def arange_like(data: Symbol | None = None, start: float = 0.0, step: float = 1.0, repeat: int = 1, ctx: ContextLike = '', axis: int | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Values from `start` by `step`, as many as the input or one of its axes has elements."""
def bipartite_matching(data: Symbol | None = None, is_ascend: bool = False, threshold: float = ..., topk: int = -1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Pairs of a row and a column, the pair of the best score first, each row and column once."""
def box_decode(data: Symbol | None = None, anchors: Symbol | None = None, std0: float = 1.0, std1: float = 1.0, std2: float = 1.0, std3: float = 1.0, clip: float = -1.0, format: Literal['center', 'corner'] = 'center', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The corners of the boxes that codes say, seen from anchors."""
def box_encode(samples: Symbol | None = None, matches: Symbol | None = None, anchors: Symbol | None = None, refs: Symbol | None = None, means: Symbol | None = None, stds: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """What anchors are to learn of the boxes that they are matched with, and a mask of those that are."""
def box_iou(lhs: Symbol | None = None, rhs: Symbol | None = None, format: Literal['center', 'corner'] = 'corner', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Overlap (intersection over union) of every box of `lhs` with every box of `rhs`."""
def box_nms(data: Symbol | None = None, overlap_thresh: float = 0.5, valid_thresh: float = 0.0, topk: int = -1, coord_start: int = 2, score_index: int = 1, id_index: int = -1, background_id: int = -1, force_suppress: bool = False, in_format: Literal['center', 'corner'] = 'corner', out_format: Literal['center', 'corner'] = 'corner', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Boxes sorted by score, without those that overlap a better one (non-maximum suppression)."""
def box_non_maximum_suppression(data: Symbol | None = None, overlap_thresh: float = 0.5, valid_thresh: float = 0.0, topk: int = -1, coord_start: int = 2, score_index: int = 1, id_index: int = -1, background_id: int = -1, force_suppress: bool = False, in_format: Literal['center', 'corner'] = 'corner', out_format: Literal['center', 'corner'] = 'corner', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Boxes sorted by score, without those that overlap a better one (non-maximum suppression)."""
def calibrate_entropy(hist: Symbol | None = None, hist_edges: Symbol | None = None, num_quantized_bins: int = 255, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The threshold that loses least of a distribution when values beyond it are cut off."""
def count_sketch(data: Symbol | None = None, h: Symbol | None = None, s: Symbol | None = None, out_dim: int = ..., processing_batch_size: int = 32, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Count sketches: each number of a line is added, with a sign, to one of `out_dim` sums."""
def ctc_loss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal['first', 'last'] = 'first', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Connectionist temporal classification (Graves et al., 2006)."""
def dequantize(data: Symbol | None = None, min_range: Symbol | None = None, max_range: Symbol | None = None, out_type: Literal['float32'] = 'float32', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Integers of 8 bits as floats: ``data * r / 127.5``, or 255.5 for uint8, where `r` is the larger of ``|min_range|`` and ``|max_range|``."""
def div_sqrt_dim(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """``data / sqrt(d)`` with d the length of the last axis: attention's scale."""
def fft(data: Symbol | None = None, compute_size: int = 128, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Fourier transforms along the last axis: (..., d) real gives (..., 2 d)."""
def gradientmultiplier(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The input itself; its gradient is multiplied by `scalar` (negative: gradient reversal)."""
def group_adagrad_update(weight: Symbol | None = None, grad: Symbol | None = None, history: Symbol | None = None, lr: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, epsilon: float = 1e-05, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """AdaGrad with one number for each row: ``history += mean(g ** 2)`` over a row, ``output = weight - lr * g / sqrt(history + epsilon)`` with ``g = rescale_grad * grad``, clipped."""
def hawkesll(lda: Symbol | None = None, alpha: Symbol | None = None, beta: Symbol | None = None, state: Symbol | None = None, lags: Symbol | None = None, marks: Symbol | None = None, valid_length: Symbol | None = None, max_time: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Log likelihood of marked Hawkes processes with exponential decay, and states at the end."""
def ifft(data: Symbol | None = None, compute_size: int = 128, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Inverse Fourier transforms along the last axis, unscaled: (..., 2 d) gives (..., d)."""
def index_array(data: Symbol | None = None, axes: ShapeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The place of each element of `data`: int64, of data's shape with one axis more."""
def index_copy(old_tensor: Symbol | None = None, index_vector: Symbol | None = None, new_tensor: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """`old_tensor` with rows replaced: ``out[index_vector[i]] = new_tensor[i]``."""
def interleaved_matmul_encdec_qk(queries: Symbol | None = None, keys_values: Symbol | None = None, heads: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Products of queries (query length, batch, heads * dim) and the keys of each head, over the root of their length: (batch * heads, query length, key length)."""
def interleaved_matmul_encdec_valatt(keys_values: Symbol | None = None, attention: Symbol | None = None, heads: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Products of attention (batch * heads, query length, key length) and the values of each head: (query length, batch, heads * dim)."""
def interleaved_matmul_selfatt_qk(queries_keys_values: Symbol | None = None, heads: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Products of queries and keys of each head, over the root of their length."""
def interleaved_matmul_selfatt_valatt(queries_keys_values: Symbol | None = None, attention: Symbol | None = None, heads: int = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Products of attention (batch * heads, length, length) and the values of each head: (length, batch, heads * dim)."""
def quadratic(data: Symbol | None = None, a: float = 0.0, b: float = 0.0, c: float = 0.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """``a * data ** 2 + b * data + c``, element by element."""
def quantize(data: Symbol | None = None, min_range: Symbol | None = None, max_range: Symbol | None = None, out_type: Literal['int8', 'uint8'] = 'uint8', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Floats as integers of 8 bits: ``round(data * 255 / r)``, or 127 for int8, limited to what these can hold; `r` is the larger of ``|min_range|`` and ``|max_range|``."""
def quantize_asym(data: Symbol | None = None, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Floats as uint8, 0 for the least value of a range and 255 for the largest."""
def quantize_v2(data: Symbol | None = None, out_type: Literal['auto', 'int8', 'uint8'] = 'int8', min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Floats as integers of 8 bits, by a range that is given or that of `data`."""
def quantized_act(data: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, act_type: Literal['relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'] = ..., name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The rectifier of a quantized array: ``max(data, 0)``. Its range stays as it is."""
def quantized_batch_norm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """BatchNorm of a quantized array by the moving statistics; int8, within the given range."""
def quantized_concat(*data: Symbol | Sequence[Symbol], num_args: int = ..., dim: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Quantized arrays joined along an existing axis."""
def quantized_conv(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, min_weight: Symbol | None = None, max_weight: Symbol | None = None, min_bias: Symbol | None = None, max_bias: Symbol | None = None, kernel: ShapeLike = ..., stride: ShapeLike = (), dilate: ShapeLike = (), pad: ShapeLike = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Convolution of a quantized array by a quantized weight: sums of 32 bits, exact."""
def quantized_elemwise_add(lhs: Symbol | None = None, rhs: Symbol | None = None, lhs_min: Symbol | None = None, lhs_max: Symbol | None = None, rhs_min: Symbol | None = None, rhs_max: Symbol | None = None, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The sum of two quantized arrays."""
def quantized_elemwise_mul(lhs: Symbol | None = None, rhs: Symbol | None = None, lhs_min: Symbol | None = None, lhs_max: Symbol | None = None, rhs_min: Symbol | None = None, rhs_max: Symbol | None = None, min_calib_range: float | None = None, max_calib_range: float | None = None, enable_float_output: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """The product of two quantized arrays."""
def quantized_embedding(data: Symbol | None = None, weight: Symbol | None = None, min_weight: Symbol | None = None, max_weight: Symbol | None = None, input_dim: int = ..., output_dim: int = ..., dtype: DTypeLike = 'float32', sparse_grad: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Rows of a quantized `weight` by index, with its range."""
def quantized_flatten(data: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Collapse all axes but the first of a quantized array: (N, d1, d2, ...) becomes (N, d1*d2*...)."""
def quantized_fully_connected(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, min_weight: Symbol | None = None, max_weight: Symbol | None = None, min_bias: Symbol | None = None, max_bias: Symbol | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Linear map of a quantized array by a quantized weight: sums of 32 bits, exact."""
def quantized_pooling(data: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, kernel: ShapeLike = (), pool_type: Literal['max', 'avg', 'sum', 'lp'] = 'max', global_pool: bool = False, cudnn_off: bool = False, pooling_convention: Literal['valid', 'full', 'same'] = 'valid', stride: ShapeLike = (), pad: ShapeLike = (), p_value: int | None = None, count_include_pad: bool | None = None, layout: Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Reduce every window over the spatial axes of a quantized array to its maximum or its mean, rounded to even. Parameters are those of Pooling; the range stays as it is."""
def requantize(data: Symbol | None = None, min_range: Symbol | None = None, max_range: Symbol | None = None, out_type: Literal['auto', 'int8', 'uint8'] = 'int8', min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Integers of 32 bits as such of 8, by a range that is given or that of `data`."""
def round_ste(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Nearest integer of each element, whose gradient is that of the input: straight through."""
def sign_ste(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Sign of each element, whose gradient is that of the input: straight through."""
