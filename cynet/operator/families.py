"""Families of operators that are imported at first use, and their names."""

from ._base import OPERATORS
from .functions.numpy_rows import operator_names

_PACKAGE = __name__.rpartition(".")[0]  # cynet.operator

FAMILIES = {  # module -> its operators
    "contrib": (
        *("_contrib_allclose", "_contrib_count_sketch", "_contrib_div_sqrt_dim", "_contrib_fft"),
        *("_contrib_gradientmultiplier", "_contrib_ifft", "_contrib_index_array"),
        *("_contrib_index_copy", "_contrib_quadratic"),
    ),
    "control_flow": ("_cond", "_foreach", "_while_loop"),
    "custom.legacy": ("_NDArray", "_Native"),
    "custom.node": ("Custom",),
    "detection": (
        *("_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior", "_contrib_MultiBoxTarget"),
        *("_contrib_MultiProposal", "_contrib_Proposal", "_contrib_bipartite_matching"),
        *("_contrib_box_decode", "_contrib_box_encode", "_contrib_box_iou", "_contrib_box_nms"),
        "_contrib_box_non_maximum_suppression",
    ),
    "image": (
        *("_image_adjust_lighting", "_image_crop", "_image_flip_left_right"),
        *("_image_flip_top_bottom", "_image_normalize", "_image_random_brightness"),
        *("_image_random_color_jitter", "_image_random_contrast"),
        *("_image_random_flip_left_right", "_image_random_flip_top_bottom", "_image_random_hue"),
        *("_image_random_lighting", "_image_random_saturation", "_image_resize"),
        "_image_to_tensor",
    ),
    "linalg": tuple(
        f"{each}linalg_{name}"
        for each in ("_", "")
        for name in (
            *("det", "eig", "extractdiag", "extracttrian", "gelqf", "gemm", "gemm2", "inverse"),
            *("makediag", "maketrian", "potrf", "potri", "slogdet", "solve", "sumlogdiag", "svd"),
            *("syevd", "syrk", "trmm", "trsm"),
        )
    ),
    "numpy": operator_names(),
    "quantization": (
        *("_contrib_calibrate_entropy", "_contrib_dequantize", "_contrib_quantize"),
        *("_contrib_quantize_asym", "_contrib_quantize_v2", "_contrib_quantized_act"),
        *("_contrib_quantized_batch_norm", "_contrib_quantized_concat"),
        *("_contrib_quantized_conv", "_contrib_quantized_elemwise_add"),
        *("_contrib_quantized_elemwise_mul", "_contrib_quantized_embedding"),
        *("_contrib_quantized_flatten", "_contrib_quantized_fully_connected"),
        *("_contrib_quantized_pooling", "_contrib_requantize", "_int8_convolution"),
        *("_dequantize_linear", "_int8_fully_connected", "_quantize_linear"),
    ),
    "random.density": tuple(
        f"{each}random_pdf_{name}"
        for each in ("_", "")
        for name in (
            *("dirichlet", "exponential", "gamma", "generalized_negative_binomial"),
            *("negative_binomial", "normal", "poisson", "uniform"),
        )
    ),
    "vision": (
        *("BilinearSampler", "Correlation", "GridGenerator", "ROIPooling", "SpatialTransformer"),
        *("_contrib_AdaptiveAvgPooling2D", "_contrib_BilinearResize2D"),
        *("_contrib_DeformableConvolution", "_contrib_DeformablePSROIPooling"),
        *("_contrib_ModulatedDeformableConvolution", "_contrib_PSROIPooling"),
        *("_contrib_ROIAlign", "_contrib_RROIAlign"),
    ),
}

for _family, _names in FAMILIES.items():
    OPERATORS.register_later(f"{_PACKAGE}.{_family}", _names)
