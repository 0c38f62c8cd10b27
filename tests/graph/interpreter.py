"""Small operators computed with NumPy, and a slow interpreter of Graphs: the passes' independent
reference."""

import numpy as np

from cynet.context import cpu
from cynet.graph.ir import ADD, FORWARD, NULL, TEMP
from cynet.operator import GraphHooks, OperatorProperty


class _Numpy(OperatorProperty):
    """Base: `compute` and `grads` are NumPy functions."""

    op_name = "numpy"

    def __init__(self, n_in=1):
        self.n_in = n_in

    def list_arguments(self):
        return [f"arg{i}" for i in range(self.n_in)]


class Multiply(_Numpy):
    """Product of two; gradients read both inputs."""

    def __init__(self):
        super().__init__(2)

    def compute(self, a, b):
        return a * b

    def grads(self, og, ins, out):
        return og * ins[1], og * ins[0]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0], in_data[1]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]


class Add(_Numpy):
    """Sum of two; gradients need nothing but the output's."""

    graph = GraphHooks(passes_gradient=True)

    def __init__(self):
        super().__init__(2)

    def compute(self, a, b):
        return a + b

    def grads(self, og, ins, out):
        return og, og

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0]), (in_data[1], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]


class Tanh(_Numpy):
    """tanh; the gradient reads the output only."""

    def compute(self, a):
        return np.tanh(a)

    def grads(self, og, ins, out):
        return (og * (1 - out[0] ** 2),)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], out_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]


class Fold(_Numpy):
    """Reverses the axes' order of a (2, 8) or (8, 2) shape without moving a byte."""

    graph = GraphHooks(view=True)

    def compute(self, a):
        return a.reshape(a.shape[::-1])

    def grads(self, og, ins, out):
        return (og.reshape(og.shape[::-1]),)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0]]


class Constant(_Numpy):
    """Like tanh forward, but no gradient flows."""

    differentiable = False

    def compute(self, a):
        return np.sign(a)


def run(graph, arrays, isolated=False):
    """Run all steps. `arrays` has NumPy arrays for args, head gradients and gradients to add to.

    Temporaries live in one poisoned arena as the memory pass placed them, or (isolated) each in
    memory of its own.
    """
    arena = np.full(graph.memory.planned if graph.memory else 0, 0xA5, np.uint8)
    own = {}

    def view(value):
        root = value.root
        if root.kind != TEMP or isolated:
            if root not in own:
                own[root] = arrays.get(root, np.full(root.shape, np.nan)).copy()
            return own[root].reshape(value.shape)
        size = int(np.prod(value.shape)) * 8
        return arena[root.offset : root.offset + size].view(np.float64).reshape(value.shape)

    for step in graph.steps:
        prop = step.prop
        if step.direction == FORWARD:
            results = _forward(prop, [view(v).copy() for v in step.in_data], step.out_data)
            targets = step.out_data
        else:

            def given(values):
                return [None if v is None else view(v).copy() for v in values]

            og = given(step.out_grad)[0]
            if prop.op_name == "_copy":
                results = (og,)
            else:
                results = prop.grads(og, given(step.in_data), given(step.out_data))
            targets = step.in_grad
        for target, req, result in zip(targets, step.req, results):
            if target is None or req == NULL:
                continue
            if req == ADD:
                view(target)[...] += result
            else:
                view(target)[...] = result
    outputs = [view(v).copy() for v in graph.outputs]
    return outputs, {name: view(v).copy() for name, v in graph.grads.items()}


def _forward(prop, ins, outs):
    if prop.op_name == "_zeros":
        return [np.zeros(outs[0].shape)]
    if prop.op_name == "_copy":
        return ins
    return [prop.compute(*ins)]


CPU = cpu()
