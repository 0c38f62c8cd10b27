"""Runs an operator on NumPy arrays through the direct runner, with every request, and checks gradients."""

import numpy as np

from cynet.operator import get_operator
from cynet.operator._direct import prepare, run_backward, run_forward

NULL, WRITE, INPLACE, ADD = range(4)


class Ready:
    """One operator made for the shapes and types of `inputs`."""

    def __init__(self, op, inputs, params=None, aux=()):
        self.prop = get_operator(op).prop(**(params or {}))
        self.inputs = [np.array(x, order="C") for x in inputs]
        self.aux = [np.array(x) for x in aux]
        shapes = [x.shape for x in self.inputs]
        made = prepare(self.prop, shapes, [str(x.dtype) for x in self.inputs])
        self.operator, self.out_shapes, self.out_types, aux_shapes, aux_types = made
        for x, shape, dtype in zip(self.aux, aux_shapes, aux_types):
            assert x.shape == tuple(shape) and x.dtype == dtype
        assert len(self.aux) == len(aux_shapes)
        self.resources = (self.prop.forward_resource(shapes), self.prop.backward_resource(shapes))

    def blank(self, value=np.nan):
        """Output arrays filled with `value`, so that what is not written shows."""
        return [np.full(s, value if np.dtype(t).kind == "f" else 99, t)
                for s, t in zip(self.out_shapes, self.out_types)]

    def forward(self, req=WRITE, out=None, train=True):
        """The outputs; `out` are the arrays to write to."""
        out = self.blank() if out is None else out
        run_forward(self.operator, self.inputs, [req] * len(out), out, self.aux, train, self.resources[0])
        return out

    def backward(self, out_grad, out, req=WRITE, grads=None, train=True):
        """Gradients of all inputs; only what declare_backward_dependency names is handed over."""
        n_in, n_out = len(self.inputs), len(out)
        visible = self.prop.num_visible_outputs()
        ids = ([f"g{i}" for i in range(n_out)], [f"i{i}" for i in range(n_in)], [f"o{i}" for i in range(n_out)])
        needed = self.prop.declare_backward_dependency(*ids)
        give = [[x if name in needed else None for name, x in zip(names, arrays)]
                for names, arrays in zip(ids, ([*out_grad, *[None] * (n_out - visible)], self.inputs, out))]
        if grads is None:
            grads = [np.full(x.shape, np.nan if x.dtype.kind == "f" else 99, x.dtype) for x in self.inputs]
        reqs = [req] * n_in if isinstance(req, int) else req
        run_backward(self.operator, *give, reqs, grads, self.aux, train, self.resources[1])
        return grads


def check_requests(op, inputs, params=None, aux=(), train=True, rng=None, rtol=1e-9):
    """Null leaves arrays as they are, add adds, in-place options give the same: forward and backward."""
    rng = rng or np.random.default_rng(0)
    ready = Ready(op, inputs, params, aux)
    visible = ready.prop.num_visible_outputs()
    out = ready.forward(train=train)
    assert all(np.isfinite(y).all() for y in out)
    grad = [rng.standard_normal(y.shape).astype(y.dtype) for y in out[:visible]]
    grads = ready.backward(grad, out, train=train)
    assert all(np.isfinite(g).all() for g in grads)

    fresh = Ready(op, inputs, params, aux)
    for y in fresh.forward(NULL, fresh.blank(3), train):
        assert (y == (3 if y.dtype.kind == "f" else 99)).all()
    fresh = Ready(op, inputs, params, aux)
    sums = fresh.forward(ADD, fresh.blank(3), train)
    for y, wanted in zip(sums[:visible], out):
        np.testing.assert_allclose(y, wanted + 3, rtol=rtol, atol=rtol)

    for g in ready.backward(grad, out, NULL, [np.full_like(g, 3) for g in grads], train):
        assert (g == 3).all()
    sums = ready.backward(grad, out, ADD, [np.full_like(g, 3) for g in grads], train)
    for g, wanted in zip(sums, grads):
        np.testing.assert_allclose(g, wanted + 3, rtol=rtol, atol=rtol)
    for only in range(len(grads)):  # one gradient asked for, the others left alone
        reqs = [WRITE if i == only else NULL for i in range(len(grads))]
        some = ready.backward(grad, out, reqs, [np.full_like(g, 3) for g in grads], train)
        for i, g in enumerate(some):
            np.testing.assert_allclose(g, grads[i] if i == only else 3, rtol=rtol, atol=rtol)

    n = len(inputs)
    ids = [f"i{i}" for i in range(n)], [f"o{i}" for i in range(len(out))]
    for source, target in ready.prop.forward_inplace_option(*ids):
        fresh = Ready(op, inputs, params, aux)
        shared = fresh.blank()
        shared[int(target[1:])] = fresh.inputs[int(source[1:])].reshape(out[int(target[1:])].shape)
        for y, wanted in zip(fresh.forward(INPLACE, shared, train)[:visible], out):
            np.testing.assert_allclose(y, wanted, rtol=rtol, atol=rtol)
    names = [f"g{i}" for i in range(len(out))]
    for source, target in ready.prop.backward_inplace_option(names, *ids, [f"d{i}" for i in range(n)]):
        fresh = Ready(op, inputs, params, aux)
        given = {"g": [g.copy() for g in grad], "i": fresh.inputs, "o": [y.copy() for y in out]}
        memory = given[source[0]][int(source[1:])]
        wanted = grads[int(target[1:])]
        got = [np.full_like(g, 99) for g in grads]
        got[int(target[1:])] = memory.reshape(wanted.shape)
        fresh.backward(given["g"], given["o"], WRITE, got, train)
        np.testing.assert_allclose(got[int(target[1:])], wanted, rtol=rtol, atol=rtol)


def check_gradient(op, inputs, params=None, aux=(), train=True, wrt=None, rng=None, step=1e-6, tol=1e-6):
    """Gradients against central differences of sum(out * random), in float64."""
    rng = rng or np.random.default_rng(0)
    ready = Ready(op, inputs, params, aux)
    visible = ready.prop.num_visible_outputs()
    out = ready.forward(train=train)
    grad = [rng.standard_normal(y.shape) for y in out[:visible]]
    grads = ready.backward(grad, out, train=train)
    for i in range(len(inputs)) if wrt is None else wrt:
        numeric = np.zeros(inputs[i].shape)
        for at in np.ndindex(inputs[i].shape):
            values = []
            for sign in (1, -1):
                moved = [np.array(x) for x in inputs]
                moved[i][at] += sign * step
                result = Ready(op, moved, params, aux).forward(train=train)
                values.append(sum((y * g).sum() for y, g in zip(result, grad)))
            numeric[at] = (values[0] - values[1]) / (2 * step)
        np.testing.assert_allclose(grads[i], numeric, rtol=tol * 10, atol=tol)
