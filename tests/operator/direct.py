"""Runs one operator on NumPy arrays, for tests."""

import numpy as np
from cynet.operator._testing import prepare_op, run_backward, run_forward

from cynet.base.dtype import name_of
from cynet.operator import get_operator
from cynet.operator.cuda import build
from tests.bfloat16 import as_type

WRITE = 1  # an OpReq number


def turned(x):
    """The bytes of x, (N, C, *size), in channels-last order under the same shape."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)).reshape(x.shape)


def turned_back(x):
    n, c, *size = x.shape
    return np.moveaxis(x.reshape(n, *size, c), -1, 1)


def _full(shape, dtype, value=np.nan):
    dtype = name_of(dtype)
    return as_type(np.full(shape, value if "float" in dtype else 99), dtype)


class Ready:
    """One operator made for the shapes and types of `inputs`; with `device` its GPU form."""

    def __init__(self, op, inputs, params=None, aux=(), device=None):
        self.prop = get_operator(op).prop(**(params or {}))
        self.inputs = [np.array(x, order="C") for x in inputs]
        self.aux = [np.array(x) for x in aux]
        shapes = [x.shape for x in self.inputs]
        types = [name_of(x.dtype) for x in self.inputs]
        made = prepare_op(self.prop, shapes, types)
        self.operator, self.out_shapes, self.out_types, aux_shapes, aux_types = made
        if device is not None:
            self.operator = build(self.prop, shapes, types, device)
        for x, shape, dtype in zip(self.aux, aux_shapes, aux_types):
            assert x.shape == tuple(shape) and name_of(x.dtype) == dtype
        assert len(self.aux) == len(aux_shapes)
        self.resources = (self.prop.forward_resource(shapes), self.prop.backward_resource(shapes))

    def channels_last(self):
        """Take the operator for channels-last data: arrays are to be `turned`."""
        shapes, types = [x.shape for x in self.inputs], [name_of(x.dtype) for x in self.inputs]
        self._take(self.prop.graph.channels_last_form(self.prop, shapes, types)[0])

    def switch(self, **attributes):
        """Take the operator of a property with these attributes, as a pass switches them on."""
        self._take(self.prop.changed(**attributes))

    def _take(self, prop):
        self.prop = prop
        shapes, types = [x.shape for x in self.inputs], [name_of(x.dtype) for x in self.inputs]
        self.operator = prepare_op(self.prop, shapes, types)[0]
        self.resources = (self.prop.forward_resource(shapes), self.prop.backward_resource(shapes))

    def blank(self, value=np.nan):
        """Output arrays filled with `value`, so that what is not written shows."""
        return [_full(s, t, value) for s, t in zip(self.out_shapes, self.out_types)]

    def forward(self, req=WRITE, out=None, train=True):
        """The outputs; `out` are the arrays to write to."""
        out = self.blank() if out is None else out
        reqs = [req] * len(out)
        run_forward(self.operator, self.inputs, reqs, out, self.aux, train, self.resources[0])
        return out

    def backward(self, out_grad, out, req=WRITE, grads=None, train=True):
        """Gradients of all inputs; only what declare_backward_dependency names is handed over."""
        n_in, n_out = len(self.inputs), len(out)
        visible = self.prop.num_visible_outputs()
        lengths = {"g": n_out, "i": n_in, "o": n_out}
        ids = [[f"{kind}{i}" for i in range(n)] for kind, n in lengths.items()]
        needed = self.prop.declare_backward_dependency(*ids)
        have = ([*out_grad, *[None] * (n_out - visible)], self.inputs, out)
        give = [
            [x if name in needed else None for name, x in zip(names, arrays)]
            for names, arrays in zip(ids, have)
        ]
        if grads is None:
            grads = [_full(x.shape, x.dtype) for x in self.inputs]
        reqs = [req] * n_in if isinstance(req, int) else req
        run_backward(self.operator, *give, reqs, grads, self.aux, train, self.resources[1])
        return grads


def call(op, *inputs, **params):
    """The visible outputs of operator `op` (one array, or a list of them)."""
    ready = Ready(op, inputs, params)
    outputs = ready.forward(train=False)[: ready.prop.num_visible_outputs()]
    return outputs[0] if len(outputs) == 1 else outputs


def gradients(op, heads, *inputs, **params):
    """The in_grads of operator `op` for the out_grads `heads`."""
    ready = Ready(op, inputs, params)
    return ready.backward(heads, ready.forward())
