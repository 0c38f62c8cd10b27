"""Layers of 8-bit integers by oneDNN's convolutions: 32-bit sums, a factor for each filter, bias,
residual, bounds, and rounding to 8 bits, in one primitive.

Numbers of enumerations are those of oneDNN 3's public headers (oneapi/dnnl/dnnl_types.h).
"""

from libc.stdint cimport int64_t

from .onednn cimport Layout, DnnlFunctions, try_avoid_brgemm, check, dnnl_functions, make_primitive

from math import inf

from ...base import config
from .onednn import Layout as make_layout
from .onednn import available, as_channels_last, make_reorder, as_row_major, takes_int8

cdef enum:
    FORWARD_INFERENCE = 96  # of dnnl_prop_kind_t
    CONVOLUTION_DIRECT = 1  # of dnnl_alg_kind_t
    USER_SCRATCHPAD = 1  # dnnl_scratchpad_mode_user: cynet gives the workspace
    RELU = 32  # of dnnl_alg_kind_t
    CLIP = 46  # of dnnl_alg_kind_t
    BINARY_ADD = 131056  # of dnnl_alg_kind_t
    QUERY_SRC = 129, QUERY_WEIGHTS = 131, QUERY_DST = 133  # of dnnl_query_t
    ARG_SRC = 1, ARG_DST = 17, ARG_WEIGHTS = 33, ARG_BIAS = 41  # of DNNL_ARG_
    ARG_SCALES = 4096         # plus the ARG_ code of the tensor that they scale
    ARG_OTHER = 32768 | 2     # the second operand of the first post-op


def uses_onednn_int8():
    """True if oneDNN computes 8-bit layers: the CPU has the instructions, or CYNET_INT8 requests
    it."""
    setting = config.get("CYNET_INT8")
    if setting == "auto":
        return takes_int8()
    return setting == "onednn" and available()


def make_int8_convolution(dict geometry, str data_type, str out_type, str residual_type, low, high):
    """Make the primitives of a layer over channels-last arrays.

    Parameters
    ----------
    geometry : dict
        The fields of Int8Conv (int8_conv.pxd).
    data_type, out_type, residual_type : str
        ``'int8'``, ``'uint8'`` or, but for data, ``'float32'``; an empty `residual_type`: nothing
        is added.
    low, high : float
        Bounds of the output, in units that follow from the run's factors.

    Returns
    -------
    tuple or None
        Primitives (data, weight, bias[, residual], factors, out's factor, out) and (row-major
        weight, weight as the first reads it), and how many bytes the latter are. The result is
        ``clip(sum * factors[f] + bias[f] + residual) / out's factor``. None: oneDNN has no such
        layer.
    """
    cdef const DnnlFunctions* dnnl
    cdef int64_t stride[3]
    cdef int64_t dilate[3]
    cdef int64_t pad[3]
    cdef void* pd = NULL
    cdef void* attr = NULL
    cdef void* post = NULL
    cdef Layout data, weight, out, bias, residual, wanted
    axes = 2 if geometry["kernel"][0] == geometry["in_size"][0] == 1 else 3
    sizes = {name: tuple(geometry[name][3 - axes:]) for name in (
        "in_size", "out_size", "kernel", "stride", "dilate", "pad")}
    for i in range(axes):
        stride[i], dilate[i] = sizes["stride"][i], sizes["dilate"][i] - 1
        pad[i] = sizes["pad"][i]
    batch, groups, filters = geometry["batch"], geometry["groups"], geometry["filters"]
    if {*sizes["in_size"], *sizes["kernel"], *sizes["out_size"]} == {1}:
        # a matrix is one image row: oneDNN's kernels work along the last axis
        sizes["in_size"] = sizes["out_size"] = (1,) * (axes - 1) + (batch,)
        batch = 1
    taps = (geometry["channels"] // groups, *sizes["kernel"])
    shape = (filters, *taps) if groups == 1 else (groups, filters // groups, *taps)
    data = as_channels_last((batch, geometry["channels"], *sizes["in_size"]), data_type)
    out_shape = (batch, filters, *sizes["out_size"])
    out, bias = as_channels_last(out_shape, out_type), as_row_major((filters,))
    plain, weight = as_row_major(shape, "int8"), make_layout(shape, None, "int8")
    residual = as_channels_last(out_shape, residual_type) if residual_type else None
    dnnl = dnnl_functions()
    try:
        check(dnnl.attr_create(&attr), "attributes")
        check(dnnl.attr_scratchpad(attr, USER_SCRATCHPAD), "scratchpad")
        check(dnnl.attr_scales(attr, ARG_WEIGHTS, 1 if groups == 1 else 3), "factors")
        check(dnnl.attr_scales(attr, ARG_DST, 0), "factor")
        check(dnnl.post_create(&post), "post-ops")
        if residual is not None:
            check(dnnl.post_binary(post, BINARY_ADD, residual.desc), "sum")
        if low == 0 and high == inf:
            check(dnnl.post_eltwise(post, RELU, 0, 0), "relu")
        elif low != -inf or high != inf:
            check(dnnl.post_eltwise(post, CLIP, low, high), "bounds")
        check(dnnl.attr_post_ops(attr, post), "post-ops")
        for chosen in (False, True):
            status = dnnl.convolution(
                &pd, dnnl.engine, FORWARD_INFERENCE, CONVOLUTION_DIRECT, data.desc, weight.desc,
                bias.desc, out.desc, stride, dilate, pad, pad, attr)
            if status == 3:  # not implemented
                return None
            check(status, "convolution of 8 bits")
            if chosen or try_avoid_brgemm(pd):
                break
            dnnl.pd_destroy(pd)
    finally:
        if post != NULL:
            dnnl.post_destroy(post)
        if attr != NULL:
            dnnl.attr_destroy(attr)
    wanted = Layout()
    check(dnnl.desc_clone(&wanted.desc, dnnl.query_md(pd, QUERY_WEIGHTS, 0)), "layout")
    tensors = [(ARG_SRC, QUERY_SRC, 0), (ARG_WEIGHTS, QUERY_WEIGHTS, 0),
               (ARG_BIAS, QUERY_WEIGHTS, 1)]
    if residual is not None:
        tensors.append((ARG_OTHER, residual))
    tensors += [(ARG_SCALES | ARG_WEIGHTS, as_row_major((filters,))),
                (ARG_SCALES | ARG_DST, as_row_major((1,))), (ARG_DST, QUERY_DST, 0)]
    return make_primitive(pd, tensors), make_reorder(plain, wanted), wanted.nbytes()
