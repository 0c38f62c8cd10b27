# cython: wraparound=True
"""Int8Layer: an 8-bit convolution, and the epilogue of its 32-bit sums.

What a step of each array counts for follows from ranges that are inputs, so it is computed in each
run: one product and one quotient a filter.
"""

from libc.math cimport INFINITY, fabs, nearbyint
from libc.stdint cimport int8_t, int32_t, int64_t

from ..._resource cimport get_space
from ..._typedefs cimport (
    TBlob, aligned, dtype_size, kAddTo, kFloat32, kInt8, kNullOp, kUint8
)
from ...kernels.common.by_dtype cimport add_elements
from ...kernels.isa.dispatch cimport cpu_level
from ...kernels.parallel cimport threads_for
from ...kernels.quantization.int8_conv cimport (
    Int8Conv, Int8Epilogue, nan_index, int8_conv, int8_pack, int8_packed_size, int8_workspace_bytes,
    transpose_integers
)
from ...kernels.conv.onednn cimport Primitive
from .._base cimport Operator, OpContext

from math import nan, prod

from .ranges import nan_error

cdef float MAX_INT32 = 2147483647.0  # maximum of int32


cdef Int8Conv _conv_of_geometry(dict geometry) except *:  # sizes for the kernels
    cdef Int8Conv c
    c.batch, c.channels = geometry["batch"], geometry["channels"]
    c.filters, c.groups = geometry["filters"], geometry["groups"]
    for i in range(3):
        c.in_size[i], c.out_size[i] = geometry["in_size"][i], geometry["out_size"][i]
        c.kernel[i], c.stride[i] = geometry["kernel"][i], geometry["stride"][i]
        c.dilate[i], c.pad[i] = geometry["dilate"][i], geometry["pad"][i]
    return c


def packed_bytes(geometry):
    """Return the number of bytes of a convolution's packed weight."""
    return int8_packed_size(cpu_level(), _conv_of_geometry(geometry))


cdef class Int8Pack(Operator):  # packs the weight of a convolution
    """Packs the weight of a convolution."""

    cdef Int8Conv conv

    def __init__(self, geometry):
        self.conv = _conv_of_geometry(geometry)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        int8_pack(cpu_level(), self.conv, <const int8_t*>in_data[0].data, out_data[0].data)
        return 0


cdef class Int8Layer(Operator):  # runs an 8-bit convolution or dense layer
    """Runs one of the four layers of `layers.py`.

    geometry (dict): The fields of Int8Conv.
    where (str): The operator's name, for messages.
    input_index (dict): Name of an input to its index. With `scale` the layer is a whole one.
    last, packed (bool): Whether data and output are channels-last, and the weight comes packed.
    low, high (float): Bounds of the output.
    range_low, range_high (float): What an output of 8 bits stands for.
    """

    cdef Int8Conv conv
    cdef bint last, packed, whole_layer
    cdef str where
    cdef dict input_index
    cdef int n_inputs, data_range, weight_range, scale, bias, bias_range, residual, residual_range
    cdef float low, high, range_low, range_high
    cdef int64_t work, in_pixels, out_pixels

    def __init__(self, geometry, where, input_index, last, packed, low=0, high=0, range_low=0,
                 range_high=0):
        self.conv, self.where, self.input_index = _conv_of_geometry(geometry), where, input_index
        self.last, self.packed, self.whole_layer = last, packed, "scale" in input_index
        self.n_inputs, self.low, self.high = len(input_index), low, high
        self.range_low, self.range_high = range_low, range_high
        self.data_range = input_index["min_data"]
        self.weight_range = input_index.get("min_weight", -1)
        self.scale, self.bias = input_index.get("scale", -1), input_index.get("bias", -1)
        self.bias_range = input_index.get("min_bias", -1)
        self.residual = input_index.get("residual", -1)
        self.residual_range = input_index.get("min_residual", -1)
        self.in_pixels, self.out_pixels = prod(geometry["in_size"]), prod(geometry["out_size"])
        self.work = (self.conv.batch * self.out_pixels * self.conv.filters * self.conv.channels
                     // self.conv.groups * prod(geometry["kernel"])) // 4

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int level = cpu_level(), threads = max(threads_for(self.work), 1)
        cdef int64_t filters = self.conv.filters, items = dtype_size(out_data[0].dtype)
        cdef int64_t data_size = in_data[0].size, out_size = out_data[0].size
        cdef int64_t packed = 0 if self.packed else self.packed_weight_bytes(level)
        cdef bint apart = req[0] == kAddTo
        cdef Int8Epilogue e
        cdef const void* data = in_data[0].data
        cdef const void* weight = in_data[1].data
        cdef float out_unit
        cdef void* out = out_data[0].data
        cdef void* made = out
        cdef char* space
        cdef int64_t need
        self.refuse_nan(in_data, threads)
        need = (2 * aligned(filters * 4) + aligned(packed)
                + self.workspace_bytes(level, threads))
        if not self.last:
            need += aligned(data_size) + 2 * aligned(out_size * 4)
        if apart:
            need += aligned(out_size * items)
        space = <char*>get_space(&ctx.requested[0], need)
        out_unit = self.fill_epilogue(in_data, req, out_data, <float*>space,
                                      <float*>(space + aligned(filters * 4)), &e)
        space += 2 * aligned(filters * 4)
        if req[0] == kNullOp:
            return 0
        if packed:
            self.pack_weight(level, weight, space, space + aligned(packed))
            weight = space
            space += aligned(packed)
        if apart:
            out = made = space
            space += aligned(out_size * items)
        if not self.last:
            transpose_integers(data, space, 1, self.conv.batch, self.conv.channels,
                               self.in_pixels, False, threads)
            data = space
            space += aligned(data_size)
            made = space
            space += aligned(out_size * 4)
            if e.residual != NULL:
                transpose_integers(e.residual, space, dtype_size(e.residual_dtype),
                                   self.conv.batch, filters, self.out_pixels, False, threads)
                e.residual = space
            space += aligned(out_size * 4)
        self.run_conv(level, data, in_data[0].dtype == kInt8, weight, &e, out_unit, made, threads,
                      space)
        if not self.last:
            transpose_integers(made, out, items, self.conv.batch, self.out_pixels, filters, False,
                               threads)
        if apart:
            add_elements(out_data[0].dtype, out, out_data[0].data, out_size)
        return 0

    cdef int refuse_nan(self, const TBlob* in_data, int threads) except -1 nogil:
        """Raise an error if a float input has NaN, which integers lack."""
        cdef int i
        cdef int64_t place
        for i in range(self.n_inputs):
            if in_data[i].dtype != kFloat32:
                continue
            place = nan_index(<const float*>in_data[i].data, in_data[i].size,
                              threads if i == self.residual else 1)
            if place >= 0:
                with gil:
                    name = next(name for name, at in self.input_index.items() if at == i)
                    raise nan_error(self.where, name, place, nan)
        return 0

    cdef int64_t packed_weight_bytes(self, int level) noexcept nogil:
        return int8_packed_size(level, self.conv)

    cdef int64_t workspace_bytes(self, int level, int threads) noexcept nogil:  # temporary memory
        return int8_workspace_bytes(level, self.conv, threads)

    cdef int pack_weight(self, int level, const void* weight, void* packed,
                         void* space) except -1 nogil:
        int8_pack(level, self.conv, <const int8_t*>weight, packed)
        return 0

    cdef int run_conv(self, int level, const void* data, bint is_signed, const void* weight,
                      Int8Epilogue* e, float out_unit, void* out, int threads,
                      char* space) except -1 nogil:
        int8_conv(level, self.conv, data, is_signed, weight, e[0], out, threads, space)
        return 0

    cdef float fill_epilogue(self, const TBlob* in_data, const int* req, TBlob* out_data,
                             float* scale, float* bias, Int8Epilogue* e) noexcept nogil:
        """Fills `e`, whose numbers for each filter are put into `scale` and `bias`, and the range
        of the output; returns the value of one step of the output."""
        cdef int64_t f, filters = self.conv.filters
        cdef int dtype = out_data[0].dtype
        cdef float unit, out_unit = 1, least, maximum
        cdef const int8_t* quantized
        e.scale = e.bias = NULL
        e.whole = NULL
        e.residual = NULL
        e.out_dtype = dtype
        if not self.whole_layer:
            unit = (_max_abs_range(in_data, self.data_range) / _max_integer(in_data[0].dtype)
                    * (_max_abs_range(in_data, self.weight_range) / 127))
            _set_range(req, out_data, -unit * MAX_INT32, unit * MAX_INT32)
            if self.bias >= 0:
                quantized = <const int8_t*>in_data[self.bias].data
                out_unit = 0 if unit == 0 else _max_abs_range(in_data, self.bias_range) / 127 / unit
                for f in range(filters):
                    (<int32_t*>bias)[f] = <int32_t>min(max(
                        nearbyint(<double>quantized[f] * out_unit), -2147483648.0), 2147483647.0)
                e.whole = <const int32_t*>bias
            return 1
        unit = _max_abs_range(in_data, self.data_range) / _fine_step_count(in_data[0].dtype)
        e.low, e.high = self.low, self.high
        if dtype != kFloat32:
            out_unit = max(fabs(self.range_low), fabs(self.range_high)) / _fine_step_count(dtype)
            least, maximum = (0, 255) if dtype == kUint8 else (-128, 127)
            if out_unit == 0:  # all outputs are 0
                e.low = e.high = 0
                out_unit = 1
            e.low = min(max(e.low / out_unit, least), maximum)
            e.high = min(max(e.high / out_unit, least), maximum)
            if dtype == kUint8:
                _set_range(req, out_data, self.range_low, self.range_high)
            else:
                maximum = max(fabs(self.range_low), fabs(self.range_high))
                _set_range(req, out_data, -maximum, maximum)
        for f in range(filters):
            scale[f] = unit * (<const float*>in_data[self.scale].data)[f] / out_unit
            bias[f] = (<const float*>in_data[self.bias].data)[f] / out_unit
        e.scale, e.bias = scale, bias
        if self.residual >= 0:
            e.residual, e.residual_dtype = (in_data[self.residual].data,
                                            in_data[self.residual].dtype)
            e.residual_unit = 1 / out_unit
            if e.residual_dtype != kFloat32:
                e.residual_unit *= (_max_abs_range(in_data, self.residual_range)
                                    / _fine_step_count(e.residual_dtype))
        return out_unit


cdef class OnednnInt8Layer(Int8Layer):  # an Int8Layer by oneDNN
    """An Int8Layer that oneDNN computes; whole layers only.

    primitives (tuple): Of `make_int8_convolution` in kernels/conv/onednn_int8.pyx.
    **settings: Those of Int8Layer.
    """

    cdef Primitive main, reorder
    cdef int64_t nbytes
    cdef float out_factor

    def __init__(self, primitives, **settings):
        super().__init__(**settings)
        self.stateful = True
        self.main, self.reorder, self.nbytes = primitives

    cdef int64_t packed_weight_bytes(self, int level) noexcept nogil:
        return self.nbytes

    cdef int64_t workspace_bytes(self, int level, int threads) noexcept nogil:  # temporary memory
        return max(self.main.scratch_bytes, self.reorder.scratch_bytes)

    cdef int pack_weight(self, int level, const void* weight, void* packed,
                         void* space) except -1 nogil:
        cdef void* tensors[2]
        tensors[0], tensors[1] = <void*>weight, packed
        return self.reorder.run(tensors, space)

    cdef int run_conv(self, int level, const void* data, bint is_signed, const void* weight,
                      Int8Epilogue* e, float out_unit, void* out, int threads,
                      char* space) except -1 nogil:
        cdef float* scale = <float*>e.scale
        cdef float* bias = <float*>e.bias
        cdef void* tensors[7]
        cdef int64_t f
        cdef int n = 3
        # The primitive adds the residual without scaling, so all else is converted to its steps.
        self.out_factor = out_unit
        if e.residual != NULL:  # a residual whose step is 0 gets any step, and weight 0
            self.out_factor = 1 / e.residual_unit if e.residual_unit != 0 else 1e12
        for f in range(self.conv.filters):
            scale[f] *= self.out_factor
            bias[f] *= self.out_factor
        tensors[0], tensors[1], tensors[2] = <void*>data, <void*>weight, bias
        if e.residual != NULL:
            tensors[n] = <void*>e.residual
            n += 1
        if e.low == 0 and e.high == 0:
            self.out_factor = INFINITY
        tensors[n], tensors[n + 1], tensors[n + 2] = scale, &self.out_factor, out
        return self.main.run(tensors, space)


cdef inline float _max_integer(int dtype) noexcept nogil:  # largest integer of a symmetric range
    return 255 if dtype == kUint8 else 127


cdef inline float _fine_step_count(int dtype) noexcept nogil:  # steps of a range's larger end
    return 255.5 if dtype == kUint8 else 127.5


cdef inline float _max_abs_range(const TBlob* in_data, int first) noexcept nogil:
    """The larger end of the range that inputs `first` and `first + 1` are."""
    return max(fabs((<const float*>in_data[first].data)[0]),
               fabs((<const float*>in_data[first + 1].data)[0]))


cdef inline void _set_range(const int* req, TBlob* out_data, float low, float high) noexcept nogil:
    cdef int i
    cdef float value
    cdef float* to
    for i in range(1, 3):
        if req[i] == kNullOp:
            continue
        value, to = low if i == 1 else high, <float*>out_data[i].data
        to[0] = value + to[0] if req[i] == kAddTo else value
