"""The table of kernels (contract in table.pxd)."""

import struct

from ..base.dtype import NAMES
from ..base.errors import ArgumentError
from .isa.dispatch cimport cpu_level, no_loop

cdef extern from "kernel.h" namespace "cynet" nogil:
    int N_DTYPE
    int row_of(int dtype) noexcept
    struct ParamField:
        const char* name
        char kind
        size_t offset
    struct KernelEntry:
        const char* name
        int cost
        size_t params_size
        const ParamField* fields
        KernelFunction run[9][4]
        const KernelEntry* next
    const KernelEntry* first_kernel() noexcept


cdef const KernelEntry* _entry(str name) except NULL:
    cdef const KernelEntry* entry = first_kernel()
    cdef bytes wanted = name.encode()
    while entry != NULL:
        if wanted == entry.name:
            return entry
        entry = entry.next
    raise ArgumentError(f"expected the name of a kernel, got '{name}'")


cdef list _fields(const KernelEntry* entry):
    """(name, code of Python's struct module, offset) of each parameter."""
    cdef const ParamField* field = entry.fields
    found = []
    while field.name != NULL:
        found.append((field.name.decode(), chr(field.kind), field.offset))
        field += 1
    return found


cdef Kernel find_kernel(str name, int dtype, dict params):
    cdef const KernelEntry* entry = _entry(name)
    cdef Kernel found = Kernel.__new__(Kernel)
    found.run = entry.run[row_of(dtype)][cpu_level()]
    if found.run == NULL:
        no_loop(entry.name, dtype)
    found.cost = entry.cost
    fields = _fields(entry)
    names = [field for field, _, _ in fields]
    if sorted(names) != sorted(params):
        raise ArgumentError(
            f"kernel {name}: expected the parameters {', '.join(names)}; got {', '.join(params)}")
    memory = bytearray(entry.params_size)
    for field, kind, offset in fields:
        struct.pack_into(kind, memory, offset, params[field])
    found._memory = bytes(memory)
    found.params = <const char*>found._memory
    return found


cdef class Kernel:
    """A kernel for one dtype, and its parameters; `kernels` lists what there is."""

    def __init__(self):
        raise ArgumentError("a Kernel is found by its name; it cannot be made")


def kernels():
    """What is in the table.

    Returns
    -------
    dict
        Name of each kernel to (names of its parameters, dtypes that it has a form for).

    >>> kernels()["l2_norm"]
    (('outer', 'n', 'inner', 'eps'), ('float32', 'float64'))
    """
    cdef const KernelEntry* entry = first_kernel()
    found = {}
    while entry != NULL:
        dtypes = [each for flag, each in NAMES.items() if entry.run[row_of(flag)][0] != NULL]
        found[entry.name.decode()] = tuple(n for n, _, _ in _fields(entry)), tuple(dtypes)
        entry = entry.next
    return found
