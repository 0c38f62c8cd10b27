"""The table of kernels (contract in table.pxd)."""

import struct
from array import array

from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool as cpp_bool

from ..base.dtype import FLAGS, NAMES
from ..base.errors import ArgumentError
from .elementwise.elementwise cimport run_binary, run_cast, run_cast_add, run_grad, run_unary
from .isa.dispatch cimport cpu_level, raise_missing_loop

cdef extern from "kernel.h" namespace "cynet" nogil:
    int N_DTYPE
    int dtype_index(int dtype) noexcept
    struct ParamField:
        const char* name
        char kind
        int count
        size_t offset
    struct KernelEntry:
        const char* name
        int cost
        size_t params_size
        const ParamField* fields
        SpaceFunction space
        KernelFunction run[9][4]
        const KernelEntry* next
    const KernelEntry* kernel_list_head() noexcept

cdef extern from "elementwise/functor_tables.h" namespace "cynet" nogil:
    struct FunctorTable:
        Functor (*find)(const char* name, int dtype, int add, int level) noexcept
        const char* (*row)(size_t i, cpp_bool* whole) noexcept
    const FunctorTable unary_functors, unary_grad_functors, binary_functors, binary_grad_functors

cdef extern from "reduce/reduce_space.h" namespace "cynet" nogil:
    ReduceLoop find_reduce_loop(const char* name, int dtype) noexcept
    const char* reducer_name(size_t i) noexcept

cdef extern from "rng/philox.h" namespace "cynet" nogil:
    cppclass Philox:
        Philox(uint64_t seed, uint64_t stream) noexcept
        void block(uint64_t number, uint32_t* words) noexcept

cdef extern from "update/update_arrays.h" namespace "cynet" nogil:
    UpdateLoop find_update_loop(const char* name, int dtype, int master, int add,
                                int level) noexcept
    bint rule_skips_zero_gradients(const char* name) noexcept
    const char* update_rule_name(size_t i, int* states, int* gpu) noexcept


cdef const KernelEntry* _find_entry(str name) noexcept:
    cdef const KernelEntry* entry = kernel_list_head()
    cdef bytes wanted = name.encode()
    while entry != NULL and wanted != entry.name:
        entry = entry.next
    return entry


cdef list _param_fields(const KernelEntry* entry):
    """Return (name, code of Python's struct module, count, offset) of each parameter."""
    cdef const ParamField* field = entry.fields
    found = []
    while field.name != NULL:
        found.append((field.name.decode(), chr(field.kind), field.count, field.offset))
        field += 1
    return found


cdef Kernel find_kernel(str name, int dtype, dict params, object prop):
    cdef const KernelEntry* entry = _find_entry(name)
    cdef Kernel found = Kernel.__new__(Kernel)
    if name == "cast":
        return _make_cast_kernel()
    if entry == NULL:
        return _make_functor_kernel(name, dtype, params)
    found.run, found.space = entry.run[dtype_index(dtype)][cpu_level()], entry.space
    if found.run == NULL:
        raise_missing_loop(entry.name, dtype)
    found.cost = entry.cost
    fields = _param_fields(entry)
    found.names = tuple(field for field, _, _, _ in fields)
    memory = bytearray(entry.params_size)
    found._arrays = []
    for field, kind, count, offset in fields:
        if field not in params and not hasattr(prop, field):
            raise ArgumentError(f"kernel {name}: expected the parameters "
                                f"{', '.join(found.names)}; got {', '.join(params)}")
        values = params[field] if field in params else getattr(prop, field)
        if count == 0:
            values = array(kind, values)
            found._arrays.append(values)
            struct.pack_into("Pq", memory, offset, *values.buffer_info())
            continue
        if count == 1:
            values = (values,)
        if len(values) > count:
            raise ArgumentError(f"kernel {name}: parameter '{field}' holds {count} numbers, got "
                                f"{len(values)}")
        struct.pack_into(f"{len(values)}{kind}", memory, offset, *values)
    _copy_params(found, memory, len(memory))
    return found


cdef struct FunctorParams:
    Functor write
    Functor add
    int reads     # 1: an array; 2: an array and a number; 3: a gradient of these
    bint copies
    char number[8]


cdef void _run_functor(const Args& args) noexcept nogil:
    cdef const FunctorParams* f = <const FunctorParams*>args.params
    cdef const Functor* functor = &f.add if args.add[0] else &f.write
    cdef const void* x = args.in_[0].data
    cdef void* y = args.out[0].data
    if f.reads == 1:
        if args.add[0] or not (f.copies and x == y):
            run_unary(functor, x, y, args.out[0].size)
    elif f.reads == 2:
        run_binary(functor, x, 1, f.number, 0, y, args.out[0].size)
    else:
        run_grad(functor, x, 1, args.in_[1].data, 1, f.number, 0, y, args.out[0].size)


cdef Kernel _make_functor_kernel(str name, int dtype, dict params):
    cdef Kernel found = Kernel.__new__(Kernel)
    cdef FunctorParams both
    cdef bytes known = name.encode()
    cdef double number = params.get("number", 0.0)
    families = [family for family in ("unary", "binary", "binary_grad") if name in functors(family)]
    if not families:
        raise ArgumentError(f"expected the name of a kernel, got '{name}'")
    if families[0] == "unary":
        both.reads, both.copies = 1, name == "identity"
        both.write, both.add = find_unary(known, dtype, False), find_unary(known, dtype, True)
    elif families[0] == "binary":
        both.reads = 2
        both.write, both.add = find_binary(known, dtype, False), find_binary(known, dtype, True)
    else:
        both.reads = 3
        both.write = find_binary_grad(known, dtype, False)
        both.add = find_binary_grad(known, dtype, True)
    run_cast(FLAGS["float64"], dtype, &number, both.number, 1)
    found.run, found.names = _run_functor, () if both.reads == 1 else ("number",)
    _copy_params(found, <const char*>&both, sizeof(FunctorParams))
    return found


cdef void _run_cast(const Args& args) noexcept nogil:
    cdef const Functor* adding = <const Functor*>args.params
    cdef const Blob* x = args.in_[0]
    cdef const Blob* y = args.out[0]
    if args.add[0]:
        run_cast_add(&adding[dtype_index(y.dtype)], x.dtype, x.data, y.data, y.size)
    else:
        run_cast(x.dtype, y.dtype, x.data, y.data, y.size)


cdef Kernel _make_cast_kernel():
    """Return the kernel that converts numbers of any dtype to any other."""
    cdef Kernel found = Kernel.__new__(Kernel)
    cdef Functor adding[9]
    for dtype in NAMES:
        adding[dtype_index(dtype)] = find_unary(b"identity", dtype, True)
    found.run, found.names = _run_cast, ()
    _copy_params(found, <const char*>adding, sizeof(adding))
    return found


cdef int _copy_params(Kernel kernel, const char* params, size_t n) except -1:
    kernel._memory = params[:n]
    kernel.params = <const char*>kernel._memory
    return 0


cdef class Kernel:
    """A kernel for one dtype, and its parameters; `kernels` lists the existing ones."""

    def __init__(self):
        raise ArgumentError("a Kernel is found by its name; it cannot be made")


def kernels():
    """Return the names of all kernels.

    Returns dict: name of each kernel to (names of its parameters, dtypes that it has a form for).
    Returns >>> kernels()["l2_norm"]. Returns (('outer', 'n', 'inner', 'eps'), ('float32',
    'float64')).
    """
    cdef const KernelEntry* entry = kernel_list_head()
    found = {}
    while entry != NULL:
        dtypes = [each for flag, each in NAMES.items() if entry.run[dtype_index(flag)][0] != NULL]
        found[entry.name.decode()] = tuple(n for n, _, _, _ in _param_fields(entry)), tuple(dtypes)
        entry = entry.next
    return found


def uses_workspace(str name):
    """True if a kernel gets workspace.

    >>> uses_workspace("l2_norm")
    False
    """
    cdef const KernelEntry* entry
    if name not in _uses_workspace:
        entry = _find_entry(name)
        _uses_workspace[name] = entry != NULL and entry.space != NULL
    return _uses_workspace[name]


cdef dict _uses_workspace = {}  # cached results of uses_workspace


cdef Functor _find_loop(const FunctorTable& table, const char* name, int dtype, bint add) except *:
    cdef Functor found = table.find(name, dtype, add, cpu_level())
    if found.loop == NULL:
        raise_missing_loop(name, dtype)
    return found


cdef Functor find_unary(const char* name, int dtype, bint add) except *:
    return _find_loop(unary_functors, name, dtype, add)


cdef Functor find_unary_grad(const char* name, int dtype, bint add) except *:
    return _find_loop(unary_grad_functors, name, dtype, add)


cdef Functor find_binary(const char* name, int dtype, bint add) except *:
    return _find_loop(binary_functors, name, dtype, add)


cdef Functor find_binary_grad(const char* name, int dtype, bint add) except *:
    return _find_loop(binary_grad_functors, name, dtype, add)


def functors(str family):
    """Return the functors of a family of elementwise loops.

    family (str): ``'unary'``, ``'unary_grad'``, ``'binary'`` or ``'binary_grad'``.

    Returns dict: name to whether integers have loops of their own. Returns >>>
    functors("unary")["exp"], functors("unary")["abs"]. Returns (False, True).
    """
    cdef const FunctorTable* table
    cdef const char* name
    cdef cpp_bool whole = False
    cdef size_t i = 0
    if family == "unary":
        table = &unary_functors
    elif family == "unary_grad":
        table = &unary_grad_functors
    elif family == "binary":
        table = &binary_functors
    elif family == "binary_grad":
        table = &binary_grad_functors
    else:
        raise ArgumentError(f"expected a family of functors, got '{family}'")
    found = {}
    while True:
        name = table.row(i, &whole)
        if name == NULL:
            return found
        found[name.decode()] = <bint>whole
        i += 1


cdef ReduceLoop find_reduce(const char* name, int dtype) except NULL:
    cdef ReduceLoop loop = find_reduce_loop(name, dtype)
    if loop == NULL:
        raise_missing_loop(name, dtype)
    return loop


def reducers():
    """Names of the reductions, a tuple.

    >>> "sum" in reducers()
    True
    """
    cdef size_t i = 0
    found = []
    while reducer_name(i) != NULL:
        found.append(reducer_name(i).decode())
        i += 1
    return tuple(found)


cdef UpdateLoop find_update(const char* rule, int dtype, bint master, bint add) except NULL:
    cdef UpdateLoop loop = find_update_loop(rule, dtype, master, add, cpu_level())
    if loop == NULL:
        raise_missing_loop(rule, dtype)
    return loop


cdef bint skips_zero_gradients(const char* rule) noexcept nogil:
    return rule_skips_zero_gradients(rule)


def update_rules():
    """Return the update rules of optimizers.

    Returns
    -------
    dict
        Name to (how many states the rule reads and moves, whether it runs on GPUs, whether it does
        so on float32 copies of float16 weights, too).

    >>> update_rules()["adam"], update_rules()["sgd_mom"]
    ((2, True, False), (1, True, True))
    """
    cdef const char* name
    cdef int states = 0, gpu = 0
    cdef size_t i = 0
    found = {}
    while True:
        name = update_rule_name(i, &states, &gpu)
        if name == NULL:
            return found
        found[name.decode()] = states, gpu > 0, gpu > 1
        i += 1


def philox_block(seed, stream, number):
    """The four 32-bit words of one block, for tests against published values.

    >>> [hex(word) for word in philox_block(0, 0, 0)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    cdef uint32_t words[4]
    cdef Philox* key = new Philox(<uint64_t>seed, <uint64_t>stream)
    key.block(<uint64_t>number, words)
    del key
    return [words[i] for i in range(4)]
