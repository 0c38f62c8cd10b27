"""Operators that have no form for GPUs, and why. The list only gets shorter."""

from cynet.operator.functions.numpy_rows import operator_names

_USERS = "its code is the user's, for every device"

_BOXES = "sorting and greedy choices over boxes, no kernel of a few lines"
_DETECTION = """
    MultiBoxPrior MultiBoxTarget MultiBoxDetection Proposal MultiProposal bipartite_matching box_iou
    box_nms box_encode box_decode
"""
_IMAGES = "images are read and changed on the host, by the workers that load them"
_CHANGES = """
    to_tensor normalize resize random_flip_left_right random_flip_top_bottom random_brightness
    random_contrast random_saturation random_hue random_color_jitter random_lighting adjust_lighting
"""

_MANY = "several launches of the update's kernel, not written yet"
_UPDATES = """
    _adamw_update _mp_adamw_update _multi_adamw_update _multi_mp_adamw_update _multi_lamb_update
    _multi_mp_lamb_update lamb_update_phase1 lamb_update_phase2 mp_lamb_update_phase1
    mp_lamb_update_phase2 multi_sgd_update multi_sgd_mom_update multi_mp_sgd_update
    multi_mp_sgd_mom_update preloaded_multi_sgd_update preloaded_multi_sgd_mom_update
    preloaded_multi_mp_sgd_update preloaded_multi_mp_sgd_mom_update _contrib_group_adagrad_update
    multi_sum_sq multi_lars reset_arrays _adafactor_update _adafactor_vector_update
"""
_ATTENTION = """
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt
    _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
"""

_POINTS = "gradients that points and regions share want kernels that keep their order, not written"
_VISION = """
    BilinearSampler GridGenerator SpatialTransformer Correlation ROIPooling _contrib_ROIAlign
    _contrib_RROIAlign _contrib_PSROIPooling _contrib_DeformablePSROIPooling
    _contrib_DeformableConvolution _contrib_ModulatedDeformableConvolution
    _contrib_AdaptiveAvgPooling2D _contrib_BilinearResize2D
"""

_SMALL = "a kernel of its own, not written yet"
_PLACES = """
    IdentityAttachKLSparseReg _contrib_allclose _contrib_count_sketch _contrib_div_sqrt_dim
    _contrib_fft _contrib_ifft _contrib_gradientmultiplier _contrib_index_array
    _contrib_index_copy _contrib_quadratic _histogram _identity_with_attr_like_rhs
    _ravel_multi_index _unravel_index _sample_unique_zipfian col2im im2col fill_element_0index
    khatri_rao moments
"""
_DENSITIES = """
    dirichlet exponential gamma generalized_negative_binomial negative_binomial normal poisson
    uniform
"""
_LINALG = """
    det eig extractdiag extracttrian gelqf gemm gemm2 inverse makediag maketrian potrf potri slogdet
    solve sumlogdiag svd syevd syrk trmm trsm
"""

_QUANTIZED = """
    _contrib_calibrate_entropy _contrib_dequantize _contrib_quantize _contrib_quantize_asym
    _contrib_quantize_v2 _contrib_quantized_batch_norm
    _contrib_quantized_act _contrib_quantized_concat _contrib_quantized_conv
    _contrib_quantized_elemwise_add _contrib_quantized_elemwise_mul _contrib_quantized_embedding
    _contrib_quantized_flatten _contrib_quantized_fully_connected _contrib_quantized_pooling
    _contrib_requantize _dequantize_linear _int8_convolution _int8_fully_connected
    _quantize_linear
"""

_NUMPY = "loops with several dtypes, which are compiled for the CPU alone so far"

WITHOUT = {
    **dict.fromkeys(set(operator_names()) - {"_np_reshape"}, _NUMPY),
    **dict.fromkeys(_QUANTIZED.split(), "integers of 8 bits are for prediction on CPUs"),
    **dict.fromkeys(_PLACES.split(), _SMALL),
    **{f"_random_pdf_{name}": _SMALL for name in _DENSITIES.split()},
    **{f"_linalg_{name}": "LAPACK of the host; cuSOLVER is not called" for name in _LINALG.split()},
    **dict.fromkeys(("_foreach", "_while_loop", "_cond"), "plans inside of plans run on the host"),
    **dict.fromkeys(_VISION.split(), _POINTS),
    **{f"_image_{name}": _IMAGES for name in _CHANGES.split()},
    **dict.fromkeys(_UPDATES.split(), _MANY),
    **dict.fromkeys(_ATTENTION.split(), "stacks of products with strides, not written yet"),
    "_contrib_hawkesll": "a walk over the events of a sample",
    **{f"_contrib_{name}": _BOXES for name in _DETECTION.split()},
    "Custom": _USERS,
    "_NDArray": _USERS,
    "_Native": _USERS,
    "_contrib_BatchNormWithReLU": "BatchNorm and relu have forms, apart",
    "_contrib_SyncBatchNorm": "BatchNorm has one",
    "CTCLoss": "a recursion over steps: one kernel of its own, not written",
}
