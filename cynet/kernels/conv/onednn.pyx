"""oneDNN's C interface as primitives over fixed shapes (contract in onednn.pxd).

Numbers of enumerations are those of oneDNN 3's public headers (oneapi/dnnl/dnnl_types.h).
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from ..._typedefs cimport aligned, kBfloat16, kFloat32, kInt8, kUint8
from ..elementwise.elementwise cimport run_unary
from ..parallel cimport (
    lend_team_to, openmp_can_run, set_openmp_single_threaded, openmp_threads, threads_for
)
from ..table cimport find_unary

import ctypes

from ...base import config
from ...base.errors import CynetError, warn_user
from ..isa.dispatch import cpu_capability
from .onednn_library import library_path

ctypedef int64_t Dims[12]

# Names of dnnl_status_t values; others are internal errors
cdef dict _STATUS_NAMES = {1: "out of memory", 2: "invalid arguments", 3: "not implemented",
                           4: "no further implementation", 5: "runtime error", 6: "not required"}

cdef enum:
    CACHED_PRIMITIVES = 8  # capacity of each of the 16 parts of oneDNN's primitive cache
    F32 = 3, BF16 = 2, S8 = 5, U8 = 6  # of dnnl_data_type_t
    # dnnl_cpu_isa_...: levels with avx512_core_bf16, avx512_core_vnni or avx2_vnni have these bits
    ISA_BF16 = 0xe7  # bfloat16 products
    ISA_VNNI = 0x67  # int8 products, AVX-512
    ISA_VNNI_256 = 0xf  # int8 products, AVX2
    FORMAT_ANY = 1  # dnnl_format_tag_any: oneDNN chooses the layout
    ENGINE_CPU = 1  # dnnl_cpu
    USER_SCRATCHPAD = 1  # dnnl_scratchpad_mode_user: cynet gives the workspace
    FORWARD_TRAINING = 64  # of dnnl_prop_kind_t
    CONVOLUTION_DIRECT = 1  # of dnnl_alg_kind_t
    QUERY_IMPLEMENTATION = 8  # of dnnl_query_t: the implementation's name
    QUERY_SRC = 129, QUERY_DIFF_SRC = 130, QUERY_WEIGHTS = 131, QUERY_DIFF_WEIGHTS = 132
    QUERY_DST = 133, QUERY_DIFF_DST = 134, QUERY_SCRATCHPAD = 136  # of dnnl_query_t
    ARG_SRC = 1, ARG_DST = 17, ARG_WEIGHTS = 33, ARG_BIAS = 41, ARG_SCRATCHPAD = 80  # of DNNL_ARG_
    ARG_DIFF_SRC = 129, ARG_DIFF_DST = 145, ARG_DIFF_WEIGHTS = 161, ARG_DIFF_BIAS = 169
    SIMD_FLOATS = 16  # floats in one register of AVX-512

# act_type of Activation -> dnnl_alg_kind_t
cdef dict _ALG_KINDS = {"relu": 32, "tanh": 33, "sigmoid": 41, "softrelu": 39}

# names of functions in the order of DnnlFunctions
cdef tuple _DNNL_FUNCTIONS = (
    "engine_create", "stream_create", "memory_desc_create_with_strides",
    "memory_desc_create_with_tag", "memory_desc_get_size", "memory_desc_equal",
    "memory_desc_clone", "memory_desc_destroy", "primitive_desc_destroy",
    "primitive_desc_query_md", "primitive_desc_query", "primitive_create", "primitive_destroy",
    "primitive_execute", "memory_create", "memory_set_data_handle", "memory_destroy",
    "primitive_attr_create", "primitive_attr_set_scratchpad_mode", "primitive_attr_set_post_ops",
    "primitive_attr_destroy", "post_ops_create", "post_ops_append_eltwise", "post_ops_append_sum",
    "post_ops_destroy", "reorder_primitive_desc_create",
    "convolution_forward_primitive_desc_create",
    "convolution_backward_data_primitive_desc_create",
    "convolution_backward_weights_primitive_desc_create", "matmul_primitive_desc_create",
    "primitive_desc_next_impl", "primitive_attr_set_scales_mask", "post_ops_append_binary")

cdef DnnlFunctions _dnnl
_library = None  # None: not tried yet; False: not installed; else the open ctypes library
_failure_reason = None  # why the library could not be loaded
cdef int _uses_team = 0  # 1: oneDNN's parallel regions run on cynet's threads


cdef const DnnlFunctions* dnnl_functions() noexcept:
    return &_dnnl


cdef bint onednn_runs_on_team() noexcept:
    return _uses_team


cdef int check(int status, str what) except -1:  # raises the error of a oneDNN status
    if status != 0:
        raise CynetError(f"oneDNN: {what}: {_STATUS_NAMES.get(status, f'status {status}')}")
    return 0


def available():
    """True when primitives can be made: the wheel is there and CYNET_KERNELS is not portable."""
    return config.get("CYNET_KERNELS") != "portable" and _open_library()


def _open_library():
    """Try once to open the library; return True if it is open."""
    global _library, _failure_reason
    if _library is None:
        try:
            _library = _load_library(library_path())
        except (OSError, AttributeError, CynetError) as error:
            _library, _failure_reason = False, str(error)
            if "libgomp" in _failure_reason:
                _failure_reason += "; install GNU's OpenMP runtime: apt-get install libgomp1"
            warn_user(f"oneDNN is not used, so that convolutions are slower: {_failure_reason}")
    return _library is not False


def _load_library(path):
    """Open the library at `path`, bind its functions, and let it use cynet's threads; False if
    there is no library."""
    global _uses_team
    cdef void** slots = <void**>&_dnnl
    if path is None:
        return False
    library = ctypes.CDLL(str(path))
    for i, name in enumerate(_DNNL_FUNCTIONS):
        slots[i] = <void*><size_t>ctypes.cast(library[f"dnnl_{name}"], ctypes.c_void_p).value
    _uses_team = lend_team_to(<void*><size_t>library._handle, str(path))
    check(library.dnnl_set_primitive_cache_capacity(CACHED_PRIMITIVES), "primitive cache")
    check(_dnnl.engine_create(&_dnnl.engine, ENGINE_CPU, 0), "engine")
    check(_dnnl.stream_create(&_dnnl.stream, _dnnl.engine, 1), "stream")
    return library


def failure_reason():
    """The reason why oneDNN cannot be loaded, or None."""
    return _failure_reason


def takes_bfloat16():
    """True when the CPU has instructions for bfloat16."""
    return (available() and cpu_capability() in ("avx512", "amx")
            and _library.dnnl_get_effective_cpu_isa() & ISA_BF16 == ISA_BF16)


def takes_int8():
    """True when the CPU has instructions for products of 8-bit integers: VNNI or AMX. Without
    these oneDNN adds pairs of products in 16 bits, which saturate."""
    if not available():
        return False
    isa, level = _library.dnnl_get_effective_cpu_isa(), cpu_capability()
    if level in ("avx512", "amx") and isa & ISA_VNNI == ISA_VNNI:
        return True
    return level != "baseline" and isa & ISA_VNNI_256 == ISA_VNNI_256


cdef dict _CODES_BY_DTYPE = {"float32": (F32, kFloat32), "bfloat16": (BF16, kBfloat16),
                             "int8": (S8, kInt8), "uint8": (U8, kUint8)}


cdef class Layout:
    """Shape and strides of a tensor of float32, bfloat16, int8 or uint8; with ``strides`` None
    oneDNN chooses the order."""

    def __cinit__(self, shape=None, strides=None, dtype="float32"):
        cdef Dims dims, steps
        cdef int kind
        self.desc = NULL
        kind, self.dtype = _CODES_BY_DTYPE[dtype]
        if not _open_library():  # all primitives are made of layouts
            raise CynetError("oneDNN is not installed: pip install onednn-cpu-gomp")
        if shape is None:
            return
        for i, n in enumerate(shape):
            dims[i], steps[i] = n, 0 if strides is None else strides[i]
        if strides is None:
            check(_dnnl.desc_tag(&self.desc, len(shape), dims, kind, FORMAT_ANY), "any layout")
        else:
            check(_dnnl.desc_strides(&self.desc, len(shape), dims, kind, steps), "layout")

    def __dealloc__(self):
        if self.desc != NULL:
            _dnnl.desc_destroy(self.desc)

    cdef size_t nbytes(self) noexcept:
        return _dnnl.desc_size(self.desc)

    def __eq__(self, other):
        return isinstance(other, Layout) and _dnnl.desc_equal(self.desc, (<Layout>other).desc) != 0

    def __hash__(self):
        return hash(self.nbytes())


def as_row_major(shape, dtype="float32", within=None):
    """The Layout of a C-contiguous tensor, or of a slice of a tensor of shape `within`."""
    strides = [1]
    for n in reversed((within or shape)[1:]):
        strides.insert(0, n * strides[0])
    return Layout(shape, strides, dtype)


def as_channels_last(shape, dtype="float32", within=None):
    """The Layout of a tensor (N, C, *size) that lies in memory as (N, *size, C), or of a slice of
    such a tensor of shape `within`."""
    whole = within or shape
    strides, step = [], whole[1]
    for n in reversed(whole[2:]):
        strides.insert(0, step)
        step *= n
    return Layout(shape, [step, 1, *strides], dtype)


cdef class Primitive:
    """One computation over fixed layouts."""

    def __init__(self):
        raise TypeError("a Primitive is made by the functions of this module")

    def __dealloc__(self):
        cdef int i
        for i in range(self.count):
            if self.arguments[i].memory != NULL:
                _dnnl.memory_destroy(self.arguments[i].memory)
        if self.handle != NULL:
            _dnnl.primitive_destroy(self.handle)

    cdef int run(self, void** data, void* scratch) except -1 nogil:
        cdef int i, n = self.count - 1, status
        for i in range(n):
            _dnnl.set_handle(self.arguments[i].memory, data[i])
        _dnnl.set_handle(self.arguments[n].memory, scratch)
        if self.threads > 1 and not openmp_can_run(self.threads):
            with gil:
                raise CynetError(f"oneDNN: {self.implementation} was made for {self.threads} "
                                 "threads, and no more threads can be made now")
        set_openmp_single_threaded(self.threads == 1)
        status = _dnnl.execute(self.handle, _dnnl.stream, self.count, self.arguments)
        set_openmp_single_threaded(False)
        if status != 0:
            with gil:
                check(status, "execution")
        return 0


cdef bytes _implementation_name(const void* pd):
    cdef const char* name = NULL
    _dnnl.query(pd, QUERY_IMPLEMENTATION, 0, &name)
    return name if name != NULL else b""


cdef bint try_avoid_brgemm(void* pd) except -1:
    """Change a description to kernels that are freed with their primitive.

    oneDNN keeps the brgemm kernels of convolutions for ever, some 8 KB for each new shape; those of
    its other generator are as fast. False where there are none: the description is then used up.
    """
    cdef bytes name = _implementation_name(pd)
    cdef bytes level = name.rpartition(b":")[2]
    if not name.startswith(b"brg"):
        return True
    while not (name.startswith(b"jit") and name.endswith(level)):
        if _dnnl.next_implementation(pd) != 0:
            return False
        name = _implementation_name(pd)
    return True


cdef int _skip_kernel_family(void* pd, bytes family) except -1:
    """Change a description to the next implementation outside of a family."""
    while _implementation_name(pd).startswith(family):
        check(_dnnl.next_implementation(pd), "other implementation")
    return 0


cdef Primitive make_primitive(void* pd, list tensors):
    """Make the primitive of a description, and free the description.

    `tensors` are (argument number, query and index that find its layout, ...) in the order of run,
    or (argument number, Layout).
    """
    cdef Primitive self = Primitive.__new__(Primitive)
    cdef Layout layout
    cdef list layouts = []
    cdef int number, query, index
    cdef const void* desc
    cdef object tensor
    try:
        for tensor in tensors + [(ARG_SCRATCHPAD, QUERY_SCRATCHPAD, 0)]:
            number, layout = tensor[0], Layout()
            if isinstance(tensor[1], Layout):
                desc = (<Layout>tensor[1]).desc
            else:
                query, index = tensor[1], tensor[2]
                desc = _dnnl.query_md(pd, query, index)
            check(_dnnl.desc_clone(&layout.desc, desc), "layout")
            layouts.append(layout)
            self.arguments[self.count].number = number
            check(_dnnl.memory_create(&self.arguments[self.count].memory, layout.desc,
                                      _dnnl.engine, NULL), "memory")
            self.count += 1
        self.implementation = _implementation_name(pd).decode()
        self.threads = openmp_threads() if _uses_team else 1
        check(_dnnl.primitive_create(&self.handle, pd), f"primitive {self.implementation}")
    finally:
        _dnnl.pd_destroy(pd)
    self.scratch_bytes = (<Layout>layouts.pop()).nbytes()
    self.layouts = tuple(layouts)
    return self


cdef ReorderedPrimitive _chain_reorders(void* pd, list tensors, str dtype):
    """A ReorderedPrimitive with tensors (DNNL_ARG_ code, query, index, layout as given or None);
    the last tensor is the output."""
    return ReorderedPrimitive(make_primitive(pd, tensors), tuple([t[3] for t in tensors]),
                              len(tensors) - 1, dtype)


cdef class _Attributes:  # options of a oneDNN primitive
    """Attributes of a primitive: scratch memory from the caller, and operations after the
    computation (post-ops)."""

    cdef void* attr

    def __cinit__(self, activation=None, add=False):
        cdef void* post = NULL
        check(_dnnl.attr_create(&self.attr), "attributes")
        check(_dnnl.attr_scratchpad(self.attr, USER_SCRATCHPAD), "scratchpad")
        if activation is None and not add:
            return
        check(_dnnl.post_create(&post), "post-ops")
        try:
            if add:
                check(_dnnl.post_sum(post, 1, 0, 0), "sum")
            if activation is not None:
                # softrelu is log(1 + exp(alpha x)) / alpha; the others have no alpha
                check(_dnnl.post_eltwise(post, _ALG_KINDS[activation], activation == "softrelu", 0),
                      "activation")
            check(_dnnl.attr_post_ops(self.attr, post), "post-ops")
        finally:
            _dnnl.post_destroy(post)

    def __dealloc__(self):
        if self.attr != NULL:
            _dnnl.attr_destroy(self.attr)


def has_activation(act_type):
    """True when a forward primitive can apply this act_type of Activation to its result."""
    return act_type in _ALG_KINDS


cdef class ReorderedPrimitive:
    """A primitive with reorders between the layouts given and those that it prefers."""

    def __init__(self, Primitive main, tuple given, int output, str dtype):
        cdef Layout mine, wanted
        cdef int i
        cdef Primitive step
        self.main, self.output, self._owned = main, output, []
        self.dtype = kBfloat16 if dtype == "bfloat16" else kFloat32
        self.add = find_unary(b"identity", self.dtype, True)
        for i in range(len(given)):
            mine, wanted = given[i], main.layouts[i]
            if mine is None or mine == wanted:
                continue
            step = make_reorder(wanted, mine) if i == output else make_reorder(mine, wanted)
            self._owned.append(step)
            self.reorders[i] = <void*>step
            self.offsets[i] = self.scratch_bytes
            self.inner[i] = self.scratch_bytes + aligned(wanted.nbytes())
            self.scratch_bytes = self.inner[i] + aligned(step.scratch_bytes)
        self.main_offset = self.scratch_bytes
        self.scratch_bytes += main.scratch_bytes

    cdef int run(self, void** data, void* scratch) except -1 nogil:
        cdef void* tensors[9]
        cdef void* pair[2]
        cdef char* base = <char*>scratch
        cdef int i, n = self.main.count - 1
        for i in range(n):
            tensors[i] = data[i]
            if self.reorders[i] != NULL:
                tensors[i] = base + self.offsets[i]
                if i != self.output:
                    pair[0], pair[1] = data[i], tensors[i]
                    self._run_reorder(i, pair, base)
        self.main.run(tensors, base + self.main_offset)
        if self.reorders[self.output] != NULL:
            pair[0], pair[1] = tensors[self.output], data[self.output]
            self._run_reorder(self.output, pair, base)
        return 0

    cdef size_t workspace(self, int64_t size, bint add) noexcept nogil:
        return self.scratch_bytes + (aligned(size * sizeof(float)) if add else 0)

    cdef int run_or_add(self, void** data, int64_t size, bint add, void* space) except -1 nogil:
        cdef float* target = <float*>data[self.output]
        cdef const float* found = <const float*>space
        cdef int64_t i
        if not add:
            return self.run(data, space)
        data[self.output] = space
        self.run(data, <char*>space + aligned(size * sizeof(float)))
        data[self.output] = target
        if self.dtype != kFloat32:
            run_unary(&self.add, space, target, size)
            return 0
        for i in prange(size, num_threads=threads_for(size), schedule="static"):
            target[i] += found[i]
        return 0

    cdef int _run_reorder(self, int i, void** pair, char* base) except -1 nogil:
        return (<Primitive>self.reorders[i]).run(pair, base + self.inner[i])


def make_reorder(Layout source, Layout target):
    """A Primitive (source, target) that copies between layouts of one shape."""
    cdef void* pd = NULL
    cdef _Attributes attributes = _Attributes()
    check(_dnnl.reorder(&pd, source.desc, _dnnl.engine, target.desc, _dnnl.engine,
                        attributes.attr), "reorder")
    return make_primitive(pd, [(ARG_SRC, QUERY_SRC, 0), (ARG_DST, QUERY_DST, 0)])


cdef class WindowGeometry:
    """Stride, dilate and pad of a convolution in oneDNN's convention (dilate counts from 0)."""

    cdef Dims stride, dilate, pad

    def __cinit__(self, stride, dilate, pad):
        for i, values in enumerate(zip(stride, dilate, pad)):
            self.stride[i], self.dilate[i], self.pad[i] = values[0], values[1] - 1, values[2]


cdef class Convolution:  # makes the primitives of one layer
    """The three primitives of one convolution over channels-last data; row-major data are
    reordered.

    data, weight, out (tuple of int): Shapes (N, C, *size), (F, C, *kernel) or (G, F/G, C/G,
        *kernel), (N, F, *size').
    stride, dilate, pad: tuple of int
    bias: bool
    dtype (str): Of all tensors: ``'float32'`` or ``'bfloat16'``.
    last (bool): Whether data and out are channels-last.
    """

    cdef WindowGeometry window
    cdef bint thin           # strided 1x1 windows over few channels
    cdef Layout data, weight, out, plain_weight, bias
    cdef Layout row_data, row_out  # None if data and out are channels-last
    cdef str dtype
    cdef tuple shape  # shape of the weight
    cdef int filters
    cdef void* hint  # the forward description, which backward descriptions need

    def __init__(self, data, weight, out, stride, dilate, pad, bias, dtype="float32", last=True):
        self.window, self.dtype = WindowGeometry(stride, dilate, pad), dtype
        if last:
            self.data, self.out = as_channels_last(data, dtype), as_channels_last(out, dtype)
        else:
            self.data, self.out = Layout(data, None, dtype), Layout(out, None, dtype)
            self.row_data, self.row_out = as_row_major(data, dtype), as_row_major(out, dtype)
        self.weight, self.plain_weight = Layout(weight, None, dtype), as_row_major(weight, dtype)
        self.bias = as_row_major((out[1],), dtype) if bias else None
        self.shape, self.filters = tuple(weight), out[1]
        sizes = list(weight)[len(weight) - len(stride) - 1:]  # channels, *kernel
        self.thin = max(sizes[1:]) == 1 and max(stride) > 1 and sizes[0] < SIMD_FLOATS

    def __dealloc__(self):
        if self.hint != NULL:
            _dnnl.pd_destroy(self.hint)

    cdef void* _describe_forward(self, _Attributes attributes) except NULL:
        cdef void* pd = NULL
        cdef WindowGeometry w = self.window
        for chosen in (False, True):
            check(_dnnl.convolution(
                &pd, _dnnl.engine, FORWARD_TRAINING, CONVOLUTION_DIRECT, self.data.desc,
                self.weight.desc, self.bias.desc if self.bias is not None else NULL, self.out.desc,
                w.stride, w.dilate, w.pad, w.pad, attributes.attr), "convolution forward")
            if chosen or try_avoid_brgemm(pd):
                return pd
            _dnnl.pd_destroy(pd)

    def make_packing(self, activation=None, add=False):
        """(elements, Primitive): the size of the weight in the order of `make_forward`, and the
        primitive that reorders a row-major weight; None if the order is row-major."""
        cdef void* pd = self._describe_forward(_Attributes(activation, add))
        cdef Layout wanted = Layout()
        try:
            check(_dnnl.desc_clone(&wanted.desc, _dnnl.query_md(pd, QUERY_WEIGHTS, 0)), "layout")
        finally:
            _dnnl.pd_destroy(pd)
        if wanted == self.plain_weight:
            return None
        size = 2 if self.dtype == "bfloat16" else 4
        return (wanted.nbytes() + size - 1) // size, make_reorder(self.plain_weight, wanted)

    def make_forward(self, activation=None, packed=False, add=False):
        """A ReorderedPrimitive (data, weight[, bias], out). `activation` (an act_type) is applied
        to out; `packed`: the weight was reordered by `make_packing`; `add`: the old value of out is
        added before the activation."""
        cdef void* pd = self._describe_forward(_Attributes(activation, add))
        cdef list tensors = [(ARG_SRC, QUERY_SRC, 0, self.row_data),
                             (ARG_WEIGHTS, QUERY_WEIGHTS, 0,
                              None if packed else self.plain_weight)]
        if self.bias is not None:
            tensors.append((ARG_BIAS, QUERY_WEIGHTS, 1, None))
        tensors.append((ARG_DST, QUERY_DST, 0, self.row_out))
        return _chain_reorders(pd, tensors, self.dtype)

    cdef int _make_backward_hint(self) except -1:
        if self.hint == NULL:
            self.hint = self._describe_forward(_Attributes())
        return 0

    def make_backward_data(self):
        """A ReorderedPrimitive (out_grad, weight, data_grad). It uses one thread if oneDNN only has
        kernels whose blocks, and thus the order of sums, depend on the number of threads.
        """
        cdef void* pd = NULL
        cdef WindowGeometry w = self.window
        cdef _Attributes attributes = _Attributes()
        self._make_backward_hint()
        try:
            for alone in (False, True):
                set_openmp_single_threaded(alone)
                check(_dnnl.convolution_data(
                    &pd, _dnnl.engine, CONVOLUTION_DIRECT, self.data.desc, self.weight.desc,
                    self.out.desc, w.stride, w.dilate, w.pad, w.pad, self.hint, attributes.attr),
                    "convolution backward")
                if alone or (try_avoid_brgemm(pd) and _implementation_name(pd).startswith(b"jit")):
                    break
                _dnnl.pd_destroy(pd)
            return _chain_reorders(pd, [(ARG_DIFF_DST, QUERY_DIFF_DST, 0, self.row_out),
                                        (ARG_WEIGHTS, QUERY_WEIGHTS, 0, self.plain_weight),
                                        (ARG_DIFF_SRC, QUERY_DIFF_SRC, 0, self.row_data)],
                                   self.dtype)
        finally:
            set_openmp_single_threaded(False)

    def make_backward_weight(self, grad=None, ordered=True):
        """A ReorderedPrimitive (out_grad, data[, bias_grad], weight_grad) on one thread: several
        threads would add their parts in an order that depends on their number.

        `grad` is the Layout of out_grad where it is not that of out. With `ordered` False both
        gradients are float32, that of the weight in the primitive's order.
        """
        cdef void* pd = NULL
        cdef WindowGeometry w = self.window
        cdef _Attributes attributes = _Attributes()
        cdef str dtype = self.dtype if ordered else "float32"
        cdef Layout weight = self.weight, bias = self.bias
        if not ordered:
            weight = Layout(self.shape, None, dtype)
            bias = as_row_major((self.filters,), dtype) if bias is not None else None
        self._make_backward_hint()
        cdef list tensors = [(ARG_DIFF_DST, QUERY_DIFF_DST, 0, grad or self.row_out),
                             (ARG_SRC, QUERY_SRC, 0, self.row_data)]
        if bias is not None:
            tensors.append((ARG_DIFF_BIAS, QUERY_DIFF_WEIGHTS, 1, None))
        tensors.append((ARG_DIFF_WEIGHTS, QUERY_DIFF_WEIGHTS, 0,
                        self.plain_weight if ordered else None))
        set_openmp_single_threaded(True)
        try:
            check(_dnnl.convolution_weights(
                &pd, _dnnl.engine, CONVOLUTION_DIRECT, self.data.desc, weight.desc,
                bias.desc if bias is not None else NULL, self.out.desc, w.stride,
                w.dilate, w.pad, w.pad, self.hint, attributes.attr), "convolution weight gradient")
            if self.thin:
                # 2023.2's kernels add stale workspace below 7 channels
                _skip_kernel_family(pd, b"jit_1x1")
            return _chain_reorders(pd, tensors, dtype)
        finally:
            set_openmp_single_threaded(False)


def make_matmul(Layout a, Layout b, Layout c, Layout bias=None, activation=None, add=False):
    """A Primitive (a, b[, bias], c) on one thread: ``c = activation(a b + bias)``, or ``c +=`` with
    `add`.

    a (M, K), b (K, N), bias (1, N), c (M, N); their strides may be those of a transposed matrix.
    """
    cdef void* pd = NULL
    cdef _Attributes attributes = _Attributes(activation, add)
    cdef list tensors = [(ARG_SRC, QUERY_SRC, 0), (ARG_WEIGHTS, QUERY_WEIGHTS, 0)]
    if bias is not None:
        tensors.append((ARG_BIAS, QUERY_WEIGHTS, 1))
    tensors.append((ARG_DST, QUERY_DST, 0))
    set_openmp_single_threaded(True)
    try:
        check(_dnnl.matmul(&pd, _dnnl.engine, a.desc, b.desc,
                           bias.desc if bias is not None else NULL, c.desc, attributes.attr),
              "matrix product")
        return make_primitive(pd, tensors)
    finally:
        set_openmp_single_threaded(False)
