"""Operators that are linear in their inputs, or whose gradient has constant factors."""

# Linear in all inputs together.
_JOINT = """
    _copy Cast amp_cast amp_multicast negative degrees radians _mul_scalar _div_scalar _grad_add
    elemwise_add elemwise_sub broadcast_add broadcast_sub add_n sum mean broadcast_axis broadcast_to
    broadcast_like Concat stack SliceChannel _split_v2 Reshape Flatten expand_dims squeeze transpose
    SwapAxis reverse tile repeat slice slice_axis slice_like reshape_like diag depth_to_space
    space_to_depth Pad Crop _np_cumsum _slice_assign _slice_assign_scalar _image_crop
    _image_flip_left_right _image_flip_top_bottom _image_to_tensor _image_normalize
    GridGenerator _contrib_AdaptiveAvgPooling2D
"""
_LINALG = "_linalg_extractdiag _linalg_makediag _linalg_extracttrian _linalg_maketrian"
_CONTRIB = "_contrib_div_sqrt_dim _contrib_fft _contrib_ifft im2col col2im"
# In the first input alone; the others choose.
_FIRST = """
    SequenceLast SequenceMask SequenceReverse take batch_take pick gather_nd scatter_nd
    _contrib_BilinearResize2D _contrib_ROIAlign _contrib_RROIAlign _contrib_PSROIPooling
    _identity_with_attr_like_rhs _contrib_count_sketch
"""
# Operator -> for each input that it is linear in those that it is multiplied with; the other ones
# are added. Empty: linear in all inputs together.
LINEAR = {
    **{name: {} for name in f"{_JOINT} {_LINALG} {_CONTRIB}".split()},
    **{name: {0: ()} for name in _FIRST.split()},
    "Embedding": {1: ()},
    "where": {1: (), 2: ()},
    "_contrib_index_copy": {0: (), 2: ()},
    "elemwise_mul": {0: (1,), 1: (0,)},
    "broadcast_mul": {0: (1,), 1: (0,)},
    "dot": {0: (1,), 1: (0,)},
    "batch_dot": {0: (1,), 1: (0,)},
    "_linalg_gemm": {0: (1,), 1: (0,), 2: ()},
    "_linalg_gemm2": {0: (1,), 1: (0,)},
    "FullyConnected": {0: (1,), 1: (0,), 2: ()},
    "Convolution": {0: (1,), 1: (0,), 2: ()},
    "Deconvolution": {0: (1,), 1: (0,), 2: ()},
}
# Linear but for a constant.
AFFINE = frozenset(
    ["GridGenerator", "Pad", "SequenceMask", "_slice_assign_scalar", "_image_normalize"]
)
# Elementwise, with a gradient whose factor is constant almost everywhere.
_FLAT = """
    relu abs clip hard_sigmoid Dropout _plus_scalar _minus_scalar _rminus_scalar _maximum_scalar
    _minimum_scalar _mod_scalar _maximum _minimum
    _contrib_gradientmultiplier _contrib_round_ste _contrib_sign_ste
"""
FLAT = frozenset(_FLAT.split())
