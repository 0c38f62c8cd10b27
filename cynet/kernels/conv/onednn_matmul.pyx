"""Products of matrices by oneDNN, the same for any number of threads.

Where rows and columns are few, oneDNN's own threads share out what is summed and add what each has
found. Here shapes alone say how a product is cut, and each part is a primitive of one thread.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from ..._typedefs cimport aligned
from ..parallel cimport threads_for
from .onednn cimport Layout, Primitive, onednn_runs_on_team

from math import prod

from ..parallel import get_num_threads
from .onednn import make_matmul
from .onednn_parts import count_matmul_parts


cdef class Matmul:
    """c = activation(a b + bias), or ``c +=`` with `add`.

    shape (tuple of int): (m, n, k), or (stack, m, n, k); c is (m, n) in row-major order.
    trans_a, trans_b (bool): Whether a lies in memory as (k, m), b as (n, k).
    dtype (str): Of all of them.
    bias (bool): Whether there is one, of n elements.
    activation (str, optional): An act_type of Activation.
    add: bool
    """

    def __init__(self, shape, trans_a, trans_b, dtype, bias=False, activation=None, add=False):
        cdef Primitive chain
        cdef int i
        stack, (m, n, k) = shape[:-3], shape[-3:]
        splits = count_matmul_parts(stack[0] if stack else 1, m, n, k)
        self.stacks, self.cuts, self.strips = splits
        part = tuple(size // self.stacks for size in stack)
        rows, columns = m // self.cuts, n // self.strips

        def layout(size, whole, transposed=False):  # of a part of a stack of matrices
            strides = [1, whole[0]] if transposed else [whole[1], 1]
            return Layout((*part, *size), [prod(whole)] * len(stack) + strides, dtype)

        tensors = [layout((rows, k), (m, k), trans_a), layout((k, columns), (k, n), trans_b),
                   layout((rows, columns), (m, n))]
        ones = len(stack) + 1
        of_bias = Layout((*[1] * ones, columns), [n] * ones + [1], dtype) if bias else None
        self.threads = min(prod(splits), get_num_threads()) if onednn_runs_on_team() else 1
        self._owned = [make_matmul(*tensors, of_bias, activation, add) for _ in range(self.threads)]
        for i in range(self.threads):
            chain = self._owned[i]
            self.chains[i] = <void*>chain
        item = 2 if dtype == "bfloat16" else 4
        each = part[0] if stack else 0
        steps = [(each * m * k, rows * (1 if trans_a else k), 0),
                 (each * k * n, 0, columns * (k if trans_b else 1)),
                 (each * m * n, rows * n, columns)]
        if bias:
            steps.insert(2, (0, 0, columns))
        self.n_tensors = len(steps)
        for i in range(self.n_tensors):
            for axis in range(3):
                self.steps[i][axis] = steps[i][axis] * item
        self.products = prod(shape)
        self.space_bytes = aligned(chain.scratch_bytes)
        self.scratch_bytes = self.threads * self.space_bytes

    cdef int run(self, void** data, void* scratch) except -1 nogil:
        cdef int i, threads = min(self.threads, threads_for(self.products))
        for i in prange(threads, num_threads=threads, schedule="static"):
            self._run_parts(i, threads, data, <char*>scratch)
        return 0

    cdef int _run_parts(self, int thread, int threads, void** data, char* scratch) except -1 nogil:
        cdef int parts = self.stacks * self.cuts * self.strips
        cdef int part, i
        cdef int64_t stack, cut, strip
        cdef void* tensors[4]
        for part in range(parts * thread // threads, parts * (thread + 1) // threads):
            strip = part % self.strips
            cut = part // self.strips % self.cuts
            stack = part // (self.strips * self.cuts)
            for i in range(self.n_tensors):
                tensors[i] = (<char*>data[i] + stack * self.steps[i][0] + cut * self.steps[i][1]
                              + strip * self.steps[i][2])
            (<Primitive>self.chains[thread]).run(tensors, scratch + thread * self.space_bytes)
        return 0
