"""Runs one Case on NumPy arrays: the arrays of a run, its forward and backward calls."""

import numpy as np
from cynet.operator._testing import prepare_op, run_backward, run_forward

from cynet._resource import seed_device
from cynet.base.dtype import BFLOAT16, name_of
from cynet.operator import get_operator
from cynet.operator.property import ResourceRequest
from tests.bfloat16 import as_type

NULL, WRITE, INPLACE, ADD = 0, 1, 2, 3


def filler(shape, dtype):
    """An output array full of what must not be left: NaN, or the largest integer."""
    if dtype in ("bfloat16", BFLOAT16):
        return as_type(np.full(shape, np.nan), "bfloat16")
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return np.full(shape, np.nan, dtype)
    return np.full(shape, True if dtype.kind == "b" else np.iinfo(dtype).max // 2, dtype)


class Run:
    """One operator made for one case and dtype, with its arrays."""

    def __init__(self, case, dtype):
        rng = np.random.default_rng(case.seed)
        print(f"case {case.id}, dtype {dtype}, seed {case.seed}")
        self.case, self.rng, self.dtype = case, rng, dtype
        self.prop = get_operator(case.op).prop(**case.params)
        self.inputs = [i.make(rng, dtype) for i in case.inputs]
        self.aux = [i.make(rng, dtype) for i in case.aux]
        self.in_shapes = [a.shape for a in self.inputs]
        self.op, self.out_shapes, self.out_types, self.aux_shapes, self.aux_types = prepare_op(
            self.prop, self.in_shapes, [name_of(a.dtype) for a in self.inputs]
        )
        self.n_visible = self.prop.num_visible_outputs()

    def expected(self, inputs=None):
        """(outputs, aux after) of the reference; aux is None when it says nothing of them."""
        inputs = self.inputs if inputs is None else inputs
        found = self.case.reference(
            *[a.copy() for a in inputs], *[a.copy() for a in self.aux], **self.case.params
        )
        found = [np.asarray(a) for a in (found if isinstance(found, tuple) else (found,))]
        outputs, aux = found[: self.n_visible], found[self.n_visible :]
        return outputs, aux if self.aux else None

    def outputs(self, values=None):
        """Fresh output arrays, filled with `values` (one array an output) or with garbage."""
        if values is not None:
            return [
                np.ascontiguousarray(as_type(v, t)).reshape(s)
                for v, t, s in zip(values, self.out_types, self.out_shapes)
            ]
        return [filler(s, t) for s, t in zip(self.out_shapes, self.out_types)]

    def forward(self, req=WRITE, outputs=None, inputs=None, aux=None):
        """Run forward; returns (outputs, aux after). `req` is one number or a list."""
        outputs = self.outputs() if outputs is None else outputs
        inputs = [a.copy() for a in self.inputs] if inputs is None else inputs
        aux = [a.copy() for a in self.aux] if aux is None else aux
        req = [req] * len(outputs) if isinstance(req, int) else req
        resources = self.prop.forward_resource(self.in_shapes)
        if ResourceRequest.random in resources:  # every run of a case draws the same numbers
            seed_device(self.case.seed)
        run_forward(self.op, inputs, req, outputs, aux, self.case.is_train, resources)
        return outputs, aux

    def backward(self, out_grads, outputs, req=WRITE, in_grads=None, inputs=None, aux=None):
        """Run backward with the arrays that declare_backward_dependency names; returns in_grads."""
        n_out, n_in = len(outputs), len(self.inputs)
        inputs = [a.copy() for a in self.inputs] if inputs is None else inputs
        in_grads = [filler(a.shape, a.dtype) for a in inputs] if in_grads is None else in_grads
        aux = [a.copy() for a in self.aux] if aux is None else aux
        req = [req] * n_in if isinstance(req, int) else req
        named = set(
            self.prop.declare_backward_dependency(
                list(range(self.n_visible)),
                list(range(100, 100 + n_in)),
                list(range(200, 200 + n_out)),
            )
        )
        out_grads = [
            g if i in named and i < self.n_visible else None for i, g in enumerate(out_grads)
        ]
        inputs = [a if 100 + i in named else None for i, a in enumerate(inputs)]
        outputs = [a if 200 + i in named else None for i, a in enumerate(outputs)]
        run_backward(
            self.op,
            out_grads,
            inputs,
            outputs,
            req,
            in_grads,
            aux,
            self.case.is_train,
            self.prop.backward_resource(self.in_shapes),
        )
        return in_grads

    def head_grads(self):
        """Random out_grads of the visible outputs (zeros for the hidden ones)."""
        return [
            as_type(self.rng.uniform(-1, 1, s) if i < self.n_visible else np.zeros(s), t)
            for i, (s, t) in enumerate(zip(self.out_shapes, self.out_types))
        ]

    def has_gradient(self, index):
        """Whether the case promises the numeric gradient for input `index`."""
        grad = self.case.grad
        if grad is True:
            return self.inputs[index].dtype.kind == "f"
        return grad is not False and index in grad

    def numeric_gradient(self, index, out_grads, aux, eps=1e-6):
        """Central differences of sum(out_grads * outputs) by input `index`, in float64."""
        base = [a.copy() for a in self.inputs]
        x = base[index].reshape(-1)
        found = np.empty(x.size)
        for k in range(x.size):
            keep, sums = x[k], []
            for value in (keep + eps, keep - eps):
                x[k] = value
                outputs, _ = self.forward(inputs=base, aux=[a.copy() for a in aux])
                sums.append(
                    sum(float((g * o).sum()) for g, o in zip(out_grads[: self.n_visible], outputs))
                )
            x[k] = keep
            found[k] = (sums[0] - sums[1]) / (2 * eps)
        return found.reshape(base[index].shape)
