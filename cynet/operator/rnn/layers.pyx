# cython: wraparound=True
"""RNN on the CPU: matrix products over all steps, then one step after the other."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from ..._resource cimport get_space
from ..._typedefs cimport (
    TBlob, aligned, dtype_size, kAddTo, kFloat32, kFloat64, kInt64, kNullOp
)
from ...kernels.gemm.blas cimport gemm
from ...kernels.elementwise.dropout cimport dropout_factors
from ...kernels.elementwise.elementwise cimport Kernel, run_binary, run_cast, run_unary
from ...kernels.parallel cimport threads_for
from ...kernels.gemm.small cimport Product, ProductKernel, run_product, product_workspace_bytes
from ...kernels.rnn.recurrent cimport (
    GRU, LSTM, RNN_RELU, RNN_TANH, Recurrence, is_first_gradient_zero, recurrent_backward,
    recurrent_forward, pack_recurrence, recurrent_packed_size
)
from ...kernels.reduce.row_sums cimport broadcast_rows, sum_rows
from ...kernels.table cimport find_binary, find_unary
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError
from ..products import PRODUCTS, ProductDesc, kernel_code
from .layout import GATES
from .layout import saved_values_layout as lay_out

MODES = {"rnn_relu": RNN_RELU, "rnn_tanh": RNN_TANH, "lstm": LSTM, "gru": GRU}  # kernel codes

cdef struct PassOffsets:  # offsets in bytes, from a Pass of layout.py
    int64_t inputs  # a number
    int64_t i2h_weight, h2h_weight, i2h_bias, h2h_bias, projection
    int64_t gates, h, c, n, full
    # Algorithms of the products: forward, and the gradients of both weights, of the inputs and of
    # the projection: a ProductKernel, or -1 for BLAS.
    int forward, i2h_gradient, h2h_gradient, inputs_gradient, projection_gradient

cdef struct Matrix:  # operand of a matrix product
    const void* data
    int64_t row
    bint transposed

cdef struct Workspace:  # parts of the temporary space
    int64_t* lengths
    char* bias    # (gates, hidden)
    char* weight  # packed
    char* scratch  # scratch of matrix products
    char* reserve    # the reserve of forward if the output must stay
    char* dh
    char* dc
    char* sums
    char* sums_h
    char* dfull
    char* dprojected
    char* gradient[2]  # gradients of the layers' inputs, used alternately


cdef class LayersOperator(Operator):  # runs RNN layers on the CPU
    """Runs, for each layer and direction, one product over the inputs of all steps, then the steps.

    Backward goes through the steps first, then has two products for the weights and one for the
    inputs, of all steps each.
    """

    cdef Recurrence shape
    cdef vector[PassOffsets] passes
    cdef vector[int64_t] inputs  # offset of a layer's input in the saved values, or -1
    cdef vector[int64_t] masks
    cdef int dtype
    cdef int64_t item, layers, directions, width, reserve_size, state_size, cell_size
    cdef bint projects, has_lengths, state_outputs, drops
    cdef double p
    cdef Kernel write, add, multiply
    cdef object name

    def __init__(self, prop, data, dtype):
        cdef PassOffsets at
        cdef int64_t item = 4 if dtype == "float32" else 8
        memset(&self.shape, 0, sizeof(Recurrence))
        self.shape.steps, self.shape.batch, _ = data
        self.shape.hidden, self.shape.mode = prop.state_size, MODES[prop.mode]
        self.shape.state, self.projects = prop.out_size, prop.projection_size is not None
        if self.projects:  # not NULL, so that workspace is reserved; set later
            self.shape.projection = &self.shape
        self.shape.wide = dtype == "float64"
        self.shape.clip = prop.lstm_state_clip_min is not None
        if self.shape.clip:
            self.shape.clip_min = prop.lstm_state_clip_min
            self.shape.clip_max = prop.lstm_state_clip_max
            self.shape.clip_nan = prop.lstm_state_clip_nan
        self.dtype, self.item = kFloat64 if self.shape.wide else kFloat32, item
        self.layers, self.directions = prop.num_layers, prop.direction_count
        self.width = GATES[prop.mode] * prop.state_size
        self.state_size = self.shape.batch * self.shape.state
        self.cell_size = self.shape.batch * self.shape.hidden
        self.has_lengths, self.state_outputs = prop.use_sequence_length, prop.state_outputs
        self.p, self.drops, self.name = prop.p, prop.has_dropout, prop.op_name
        passes, inputs, masks, self.reserve_size = lay_out(prop, data)
        for one in passes:
            at.inputs = one.inputs
            at.i2h_weight, at.h2h_weight = one.i2h_weight * item, one.h2h_weight * item
            at.i2h_bias, at.h2h_bias = one.i2h_bias * item, one.h2h_bias * item
            at.gates, at.h = one.gates * item, one.h * item
            at.c, at.n, at.full = one.c * item, one.n * item, one.full * item
            at.projection = one.projection * item
            (at.forward, at.i2h_gradient, at.h2h_gradient, at.inputs_gradient,
             at.projection_gradient) = self._product_algorithms(one.inputs, dtype)
            self.passes.push_back(at)
        self.inputs = [offset * item for offset in inputs]
        self.masks = [offset * item for offset in masks]
        self.write = find_unary(b"identity", self.dtype, False)
        self.add = find_unary(b"identity", self.dtype, True)
        self.multiply = find_binary(b"mul", self.dtype, False)

    def _product_algorithms(self, int64_t inputs, dtype):
        """Return the algorithms of the products of a pass over inputs of this length."""
        cdef int64_t rows = self.shape.steps * self.shape.batch, width = self.width
        products = [
            ProductDesc(rows, width, inputs, dtype, b_transposed=True, weight=True),
            ProductDesc(width, inputs, rows, dtype, a_transposed=True, weight=True),
            ProductDesc(width, self.shape.state, rows, dtype, a_transposed=True, weight=True),
            ProductDesc(rows, inputs, width, dtype, weight=True),
            ProductDesc(self.shape.state, self.shape.hidden, rows, dtype, a_transposed=True,
                        weight=True),
        ]
        return [kernel_code(PRODUCTS.choose(product)) for product in products]

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int last = ctx.n_out - 1, direction
        cdef int64_t layer, size = self.shape.steps * self.state_size * self.directions
        cdef bint keeps = req[last] != kNullOp and req[last] != kAddTo
        cdef Workspace space
        cdef const char* x = <const char*>in_data[0].data
        cdef char* reserve
        self._request_workspace(ctx, False, keeps, &space)
        self._read_lengths(&in_data[ctx.n_in - 1], space.lengths)
        reserve = <char*>out_data[last].data if keeps else space.reserve
        for layer in range(self.layers):
            for direction in range(self.directions):
                self._forward_pass(layer, direction, x, in_data, req, out_data, reserve, &space)
            if layer + 1 < self.layers:
                x = self._layer_input(layer + 1, reserve)
                if self.drops:
                    self._apply_dropout(ctx, layer + 1, size, reserve)
        if req[last] == kAddTo:
            run_unary(&self.add, reserve, out_data[last].data, self.reserve_size)
        return 0

    cdef void _forward_pass(self, int64_t layer, int direction, const char* x, const TBlob* in_data,
                            const int* req, TBlob* out_data, char* reserve,
                            Workspace* space) noexcept nogil:
        cdef int64_t number = layer * self.directions + direction
        cdef int64_t states = self.state_size * self.item, cells = self.cell_size * self.item
        cdef int64_t bias_n = 0
        cdef const PassOffsets* at = &self.passes[number]
        cdef const char* parameters = <const char*>in_data[1].data
        cdef Recurrence r = self._recurrence_of(number, direction, reserve, space)
        cdef bint top = layer + 1 == self.layers
        memcpy(space.bias, parameters + at.i2h_bias, self.width * self.item)
        if r.mode == GRU:
            bias_n = 2 * r.hidden
            run_unary(&self.add, parameters + at.h2h_bias, space.bias, bias_n)
            r.bias_n = parameters + at.h2h_bias + bias_n * self.item
        else:
            run_unary(&self.add, parameters + at.h2h_bias, space.bias, self.width)
        self._multiply(at.forward, r.steps * r.batch, self.width, at.inputs,
                       Matrix(x, at.inputs, False),
                       Matrix(parameters + at.i2h_weight, at.inputs, True), r.gates, False,
                       space.bias, NULL, space.scratch)
        memcpy(<char*>r.h + self._initial_state_offset(direction, states),
               <char*>in_data[2].data + number * states, states)
        if r.mode == LSTM:
            memcpy(<char*>r.c + self._initial_state_offset(direction, cells),
                   <char*>in_data[3].data + number * cells, cells)
        r.weight = parameters + at.h2h_weight
        r.projection = parameters + at.projection if self.projects else NULL
        pack_recurrence(&r, False, space.weight)
        r.y_row = self.directions * r.state
        if top and req[0] != kNullOp:
            r.y, r.y_add = out_data[0].data, req[0] == kAddTo
        elif not top and self.inputs[layer + 1] >= 0:
            r.y = reserve + self.inputs[layer + 1]
        if r.y != NULL:
            r.y = <char*>r.y + direction * r.state * self.item
        recurrent_forward(&r)
        if self.state_outputs:
            self._write_states(req[1], <char*>r.h + self._final_state_offset(direction, states),
                               &out_data[1], number, self.state_size)
            if r.mode == LSTM:
                self._write_states(req[2], <char*>r.c + self._final_state_offset(direction, cells),
                                   &out_data[2], number, self.cell_size)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int direction
        cdef int64_t layer, size = self.shape.steps * self.state_size * self.directions
        cdef Workspace space
        cdef char* reserve = <char*>out_data[ctx.n_out - 1].data
        cdef const char* dy = <const char*>out_grad[0].data
        cdef const char* x
        cdef char* dx
        cdef bint add
        if self.has_lengths and req[ctx.n_in - 1] != kNullOp and req[ctx.n_in - 1] != kAddTo:
            memset(in_grad[ctx.n_in - 1].data, 0,
                   self.shape.batch * dtype_size(in_grad[ctx.n_in - 1].dtype))
        self._request_workspace(ctx, True, True, &space)
        self._read_lengths(&in_data[ctx.n_in - 1], space.lengths)
        for layer in range(self.layers - 1, -1, -1):
            x = self._layer_input(layer, reserve) if layer else <char*>in_data[0].data
            dx, add = space.gradient[layer % 2], False
            if layer == 0:
                dx = <char*>in_grad[0].data if req[0] != kNullOp else NULL
                add = req[0] == kAddTo
            for direction in range(self.directions):
                self._backward_pass(layer, direction, x, dy, dx, add or direction > 0, out_grad,
                                    in_data, req, in_grad, reserve, &space)
            if layer and self.drops:
                run_binary(&self.multiply, dx, 1, reserve + self.masks[layer], 1, dx, size)
            dy = dx
        return 0

    cdef void _backward_pass(self, int64_t layer, int direction, const char* x, const char* dy,
                             char* dx, bint add, const TBlob* out_grad, const TBlob* in_data,
                             const int* req, TBlob* in_grad, char* reserve,
                             Workspace* space) noexcept nogil:
        cdef int64_t number = layer * self.directions + direction
        cdef const PassOffsets* at = &self.passes[number]
        cdef const char* parameters = <const char*>in_data[1].data
        cdef char* gradient = <char*>in_grad[1].data
        cdef Recurrence r = self._recurrence_of(number, direction, reserve, space)
        cdef int64_t rows = r.steps * r.batch, left = rows, skipped = 0
        cdef const char* h
        cdef bint sums = req[1] == kAddTo
        if dy != NULL:
            r.dy, r.y_row = dy + direction * r.state * self.item, self.directions * r.state
        r.wants_dh = req[2] != kNullOp
        self._write_final_grad(1, number, out_grad, space.dh, self.state_size)
        if r.mode == LSTM:
            self._write_final_grad(2, number, out_grad, space.dc, self.cell_size)
        r.weight = parameters + at.h2h_weight
        r.projection = parameters + at.projection if self.projects else NULL
        pack_recurrence(&r, True, space.weight)
        recurrent_backward(&r)
        if req[1] != kNullOp:
            self._multiply(at.i2h_gradient, self.width, at.inputs, rows,
                           Matrix(r.dgates, self.width, True), Matrix(x, at.inputs, False),
                           gradient + at.i2h_weight, sums, NULL, space.bias, space.scratch)
            h = <char*>r.h + (self.state_size * self.item if r.reverse else 0)
            if r.steps > 1 and is_first_gradient_zero(&r):
                left, skipped = rows - r.batch, 0 if r.reverse else r.batch * self.item
            self._multiply(at.h2h_gradient, self.width, r.state, left,
                           Matrix(<char*>r.dgates_h + skipped * self.width, self.width, True),
                           Matrix(h + skipped * r.state, r.state, False),
                           gradient + at.h2h_weight, sums, NULL, NULL, space.scratch)
            if self.projects:
                self._multiply(at.projection_gradient, r.state, r.hidden, rows,
                               Matrix(r.dprojected, r.state, True), Matrix(r.full, r.hidden, False),
                               gradient + at.projection, sums, NULL, NULL, space.scratch)
            self._assign_values(sums, space.bias, gradient + at.i2h_bias, self.width)
            if r.mode == GRU:
                self._sum_rows(r.dgates_h, rows, space.bias)
            self._assign_values(sums, space.bias, gradient + at.h2h_bias, self.width)
        if dx != NULL:
            self._multiply(at.inputs_gradient, rows, at.inputs, self.width,
                           Matrix(r.dgates, self.width, False),
                           Matrix(parameters + at.i2h_weight, at.inputs, False), dx, add, NULL,
                           NULL, space.scratch)
        self._write_states(req[2], space.dh, &in_grad[2], number, self.state_size)
        if r.mode == LSTM:
            self._write_states(req[3], space.dc, &in_grad[3], number, self.cell_size)

    # ----- where things are

    cdef int _request_workspace(self, OpContext* ctx, bint backward, bint keeps,
                                Workspace* space) except -1 nogil:
        """Request the temporary space once, since growing moves it, and split it into parts."""
        cdef int64_t cells = self.shape.steps * self.state_size, i
        cdef int64_t each = self.directions * cells if self.layers > 1 else 0
        cdef int64_t sums = self.shape.steps * self.shape.batch * self.width
        cdef int64_t sizes[12]  # bytes of each part, in the order of Workspace
        cdef char** parts[12]
        cdef char* base
        memset(sizes, 0, sizeof(sizes))
        sizes[0] = self.shape.batch * sizeof(int64_t) if self.has_lengths else 0
        sizes[1] = self.width * self.item
        sizes[2] = self.item * recurrent_packed_size(&self.shape)
        sizes[3] = product_workspace_bytes(threads_for(1 << 40)) if self.dtype == kFloat32 else 0
        if backward:
            sizes[5], sizes[6] = self.state_size * self.item, self.cell_size * self.item
            sizes[7] = sums * self.item
            sizes[8] = sizes[7] if self.shape.mode == GRU else 0
            sizes[9] = self.cell_size * self.item if self.projects else 0
            sizes[10] = cells * self.item if self.projects else 0
            sizes[11] = 2 * each * self.item
        elif not keeps:
            sizes[4] = self.reserve_size * self.item
        cdef int64_t total = 0
        for i in range(12):
            sizes[i] = aligned(sizes[i])
            total += sizes[i]
        base = <char*>get_space(&ctx.requested[0], total)
        parts[0], parts[1], parts[2] = <char**>&space.lengths, &space.bias, &space.weight
        parts[3], parts[4], parts[5] = &space.scratch, &space.reserve, &space.dh
        parts[6], parts[7], parts[8] = &space.dc, &space.sums, &space.sums_h
        parts[9], parts[10], parts[11] = &space.dfull, &space.dprojected, &space.gradient[0]
        for i in range(12):
            parts[i][0] = base
            base += sizes[i]
        space.gradient[1] = space.gradient[0] + each * self.item
        return 0

    cdef Recurrence _recurrence_of(self, int64_t number, int direction, char* reserve,
                                   const Workspace* space) noexcept nogil:
        """Return the recurrence of one direction of one layer: its shape, and its arrays."""
        cdef Recurrence r = self.shape
        cdef const PassOffsets* at = &self.passes[number]
        r.reverse, r.lengths = direction == 1, space.lengths if self.has_lengths else NULL
        r.gates, r.h, r.c, r.n = reserve + at.gates, reserve + at.h, reserve + at.c, reserve + at.n
        r.dh, r.dc, r.dgates = space.dh, space.dc, space.sums
        r.dgates_h = space.sums_h if r.mode == GRU else space.sums
        r.full, r.dfull, r.dprojected = reserve + at.full, space.dfull, space.dprojected
        return r

    cdef int64_t _initial_state_offset(self, int direction, int64_t each) noexcept nogil:
        """Return the offset of the initial state among the states, or cells, of `each` bytes."""
        return self.shape.steps * each if direction else 0

    cdef int64_t _final_state_offset(self, int direction, int64_t each) noexcept nogil:
        return 0 if direction else self.shape.steps * each

    cdef char* _layer_input(self, int64_t layer, char* reserve) noexcept nogil:
        """Return the input of a layer after layer 0, (steps, batch, directions * state)."""
        if self.inputs[layer] >= 0:
            return reserve + self.inputs[layer]
        return reserve + self.passes[layer - 1].h + self.state_size * self.item

    cdef int _read_lengths(self, const TBlob* given, int64_t* lengths) except -1 nogil:
        cdef int64_t i
        if not self.has_lengths:
            return 0
        run_cast(given.dtype, kInt64, given.data, lengths, self.shape.batch)
        for i in range(self.shape.batch):
            if not 0 <= lengths[i] <= self.shape.steps:
                with gil:
                    raise ArgumentError(
                        f"operator {self.name}: sequence_length[{i}] is {lengths[i]}, outside of 0 "
                        f"to {self.shape.steps}")
        return 0

    # ----- small steps

    cdef void _apply_dropout(self, OpContext* ctx, int64_t layer, int64_t size,
                             char* reserve) noexcept nogil:
        """Draw the factors of a layer's input (all 1 in prediction) and multiply by them."""
        cdef char* factor = reserve + self.masks[layer]
        cdef double p = self.p if ctx.is_train else 0
        # layers use disjoint ranges of the random stream, counted in blocks of four words
        cdef int64_t first = (layer - 1) * ((size + 3) // 4)
        cdef char* x = reserve + self.inputs[layer]
        if self.dtype == kFloat32:
            dropout_factors(ctx.requested[1].seed, ctx.requested[1].stream, first, p,
                            <float*>factor, <float*>x, size)
        else:
            dropout_factors(ctx.requested[1].seed, ctx.requested[1].stream, first, p,
                            <double*>factor, <double*>x, size)

    cdef void _write_states(self, int req, const char* state, TBlob* to, int64_t number,
                            int64_t size) noexcept nogil:
        """Write states, or their gradients, of one direction of one layer."""
        if req != kNullOp:
            self._assign_values(req == kAddTo, state, <char*>to.data + number * size * self.item,
                                size)

    cdef void _assign_values(self, bint add, const void* x, void* y, int64_t n) noexcept nogil:
        run_unary(&self.add if add else &self.write, x, y, n)

    cdef void _write_final_grad(self, int output, int64_t number, const TBlob* out_grad, char* to,
                                int64_t count) noexcept nogil:
        """Write the gradient of the last state: the output's, or zeros if it is no output."""
        cdef int64_t size = count * self.item
        if self.state_outputs and out_grad[output].data != NULL:
            memcpy(to, <const char*>out_grad[output].data + number * size, size)
        else:
            memset(to, 0, size)

    cdef void _sum_rows(self, const void* x, int64_t rows, char* to) noexcept nogil:
        if self.dtype == kFloat32:
            sum_rows(<const float*>x, rows, self.width, <float*>to, False)
        else:
            sum_rows(<const double*>x, rows, self.width, <double*>to, False)

    cdef void _multiply(self, int algorithm, int64_t m, int64_t n, int64_t k, Matrix a, Matrix b,
                        void* c, bint add, const char* bias, char* sums,
                        char* scratch) noexcept nogil:
        """c (m, n) = a b + bias, or c += that; the sums of the rows of a transposed a to `sums`,
        where it is not NULL."""
        cdef Product p
        if algorithm >= 0:
            p.m, p.n, p.k, p.relu, p.add = m, n, k, False, add
            p.a, p.a_row, p.a_transposed = <const float*>a.data, a.row, a.transposed
            p.b, p.b_row, p.b_transposed = <const float*>b.data, b.row, b.transposed
            p.c, p.c_row, p.bias, p.sums = <float*>c, n, <const float*>bias, <float*>sums
            run_product(&p, <ProductKernel>algorithm, threads_for(m * n * k // 8), scratch)
            return
        if sums != NULL:
            self._sum_rows(a.data, k, sums)
        if self.dtype == kFloat32:
            if bias != NULL:
                broadcast_rows(<const float*>bias, m, n, <float*>c, add)
            gemm(a.transposed, b.transposed, m, n, k, <float>1, <const float*>a.data, a.row,
                 <const float*>b.data, b.row, <float>(add or bias != NULL), <float*>c, n)
        else:
            if bias != NULL:
                broadcast_rows(<const double*>bias, m, n, <double*>c, add)
            gemm(a.transposed, b.transposed, m, n, k, <double>1, <const double*>a.data, a.row,
                 <const double*>b.data, b.row, <double>(add or bias != NULL), <double*>c, n)
