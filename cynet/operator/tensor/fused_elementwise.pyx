"""Chains: loops of several elementwise operators, run over the arrays together.

The chain pass (graph/passes/fuse_elementwise.py) makes the property; no user does: it is not
registered.
"""

from libc.string cimport memset
from libcpp.vector cimport vector

from ..._typedefs cimport TBlob, dtype_size, kUint8
from ...kernels.elementwise.fused cimport (
    FROM_INT8, FROM_UINT8, FUSED_REGISTERS, TO_INT8, TO_UINT8, FusedLoop, FusedLoops,
    FusedOperand, FusedStep, plan_chain, run_fused_blocks
)
from ...kernels.elementwise.elementwise cimport Kernel
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext
from .._elementwise cimport find_kernels, store_scalar

from typing import NamedTuple

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError
from ..elementwise_loop import BYTE_LOOPS, CHEAP_FUNCTORS, fold_out_of_range_scalar
from ..graph_hooks import GraphHooks
from ..property import OperatorProperty

REGISTER_COUNT = FUSED_REGISTERS  # number of registers of a chain
cdef enum:
    MAX_ARRAYS = 64  # maximum number of arrays of a chain
MAX_CHAIN_ARRAYS = MAX_ARRAYS  # maximum number of arrays of a chain, for Python

cdef enum:
    COSTLY_TIME = 6  # time of a functor outside CHEAP_FUNCTORS, in units of an addition
_OPERAND_KINDS = {  # (loop family, functor) -> kind of operand
    ("floats_of_bytes", "uint8"): FROM_UINT8, ("floats_of_bytes", "int8"): FROM_INT8,
    ("bytes_of_floats", "uint8"): TO_UINT8, ("bytes_of_floats", "int8"): TO_INT8,
}


class Memory(NamedTuple):  # where an operand lies in its array
    """The location of an operand of a chain: `array` is an index into the inputs followed by the
    outputs.

    Element (i, j) of the chain's rows and columns is element ``offset + i * row + j * column``;
    `column` is 1, or 0 where an element repeats along a row.
    """

    array: int
    offset: int
    row: int
    column: int


class Register(NamedTuple):  # operand that only a register holds
    """An operand that only passes from loop to loop, in register `index`, below REGISTER_COUNT."""

    index: int


class ChainLine(NamedTuple):  # one loop of a chain
    """One loop of a chain: a Loop whose operands are Memory, Register or float, and whose target is
    Memory or Register; `add` adds to the target."""

    loop: object
    add: bool


class ChainProperty(OperatorProperty):
    """Several elementwise operators, fused into one.

    Attributes
    ----------
    rows, columns : int
        The space that the loops run over.
    dtype : str
        Of all arrays, but for those of 8 bits that a loop makes floats of, or makes of floats.
    lines : list of ChainLine
    in_shapes, out_shapes : list of tuple of int
    in_types, out_types : list of str
    inplace : list of (int, int)
        Inputs and outputs that may share memory.
    """

    differentiable = False
    graph = GraphHooks(bfloat16_loops=True)

    def __init__(self, op_name, rows, columns, dtype, lines, in_shapes, out_shapes, in_types,
                 out_types, inplace):
        super().__init__()
        self.op_name = op_name
        self.rows, self.columns, self.dtype, self.lines = rows, columns, dtype, lines
        self.in_shapes, self.out_shapes, self.inplace = in_shapes, out_shapes, inplace
        self.in_types, self.out_types = in_types, out_types

    def list_arguments(self):
        return [f"arg{i}" for i in range(len(self.in_shapes))]

    def list_outputs(self):
        return [f"output{i}" for i in range(len(self.out_shapes))]

    def infer_shape(self, in_shapes, out_shapes):
        return list(self.in_shapes), list(self.out_shapes), []

    def infer_type(self, in_types, out_types):
        return list(self.in_types), list(self.out_types), []

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[i], out_data[o]) for i, o in self.inplace]

    def create_operator(self, ctx, in_shapes, in_types):
        for shape, whole in zip(in_shapes, self.in_shapes):
            if shape != whole:  # a part of the batch
                size = "columns" if self.rows == 1 else "rows"
                part = getattr(self, size) // whole[0] * shape[0]
                return ChainOperator(self.changed(**{size: part}))
        return ChainOperator(self)


cdef class ChainOperator(Operator):
    """Runs a chain. The requests are those known to the pass: they are part of the lines."""

    cdef FusedLoops chain
    cdef vector[FusedLoop] loops
    cdef vector[FusedOperand] operands
    cdef vector[FusedStep] steps
    cdef str name

    def __init__(self, prop):
        cdef int dtype = dtype_flag(prop.dtype), registers = 1, kind, of_bytes
        cdef FusedLoop native
        cdef Kernel write, add
        self.name, self.chain.work = prop.op_name, 0
        for line in prop.lines:
            loop, of_bytes = line.loop, -1
            memset(&native, 0, sizeof(native))
            if loop.family in BYTE_LOOPS:
                kind, of_bytes = dtype, BYTE_LOOPS[loop.family]
                native.kind = _OPERAND_KINDS[loop.family, loop.functor]
            else:
                loop = fold_out_of_range_scalar(loop, prop.dtype)
                kind = find_kernels(loop, dtype, &write, &add)
                native.kernel = add if line.add else write
            native.reads = len(loop.reads)
            for i, each in enumerate((*loop.reads, loop.target)):
                if isinstance(each, Register):
                    registers = max(registers, each.index + 1)
                operand = self._add_operand(each, prop, kind)
                self.operands[operand].bytes = <int>dtype_size(kUint8 if i == of_bytes else dtype)
                if i < native.reads:
                    native.operand[i] = operand
                else:
                    native.target = operand
                if isinstance(each, Memory) and (each.row, each.column) not in (
                        (prop.columns, 1), (0, 0)):
                    native.by_rows = prop.rows > 1
            self.loops.push_back(native)
            self.chain.work += 1 if of_bytes >= 0 or loop.functor in CHEAP_FUNCTORS else COSTLY_TIME
        # a second thread starts at the same work as for the separate loops, since starting it costs
        # the same
        self.chain.work = max(self.chain.work // COSTLY_TIME, 1)
        self.chain.rows, self.chain.columns = prop.rows, prop.columns
        self.chain.element = <int>dtype_size(dtype)
        self.chain.n_loops = <int>self.loops.size()
        self.chain.operands = self.operands.data()
        self.steps.resize(3 * self.loops.size())
        plan_chain(&self.chain, self.loops.data(), self.steps.data(), registers)

    cdef int _add_operand(self, each, prop, int kind) except -1:  # returns the operand's index
        cdef FusedOperand operand
        memset(&operand, 0, sizeof(operand))
        if isinstance(each, Memory):
            operand.array, operand.offset = each.array, each.offset
            operand.row, operand.column = each.row, each.column
        elif isinstance(each, Register):
            operand.array, operand.index = -1, each.index
        else:
            operand.array = -2
            store_scalar(each, kind, operand.number)
        self.operands.push_back(operand)
        return <int>self.operands.size() - 1

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef void* arrays[MAX_ARRAYS]
        cdef int i
        for i in range(ctx.n_in):
            arrays[i] = in_data[i].data
        for i in range(ctx.n_out):
            arrays[ctx.n_in + i] = out_data[i].data
        if run_fused_blocks(threads_for(self.chain.rows * self.chain.columns * self.chain.work),
                            &self.chain, arrays):
            with gil:
                raise ArgumentError(f"{self.name}: an element is nan, of which no integer of 8 "
                                    "bits can be made")
        return 0
