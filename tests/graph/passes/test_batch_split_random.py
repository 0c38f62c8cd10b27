"""Random networks of layers and elementwise steps: in parts of the batch as without any pass."""

import os

import numpy as np
import pytest

import cynet as mx
from cynet.graph.passes import batch_split

CASES = 3000 if "CYNET_STRESS_ITERATIONS" in os.environ else 30
WIDTH = 24  # of the first value, and of the weight that layers share


class Network:
    """Random steps over values of as many rows; each is (symbol, columns)."""

    def __init__(self, rng):
        self.rng, self.rows = rng, int(rng.choice([64, 96, 130]))
        first = mx.sym.broadcast_mul(mx.sym.var("data"), mx.sym.var("start"))
        self.values = [(first, WIDTH)]
        self.shared = mx.sym.var("shared", shape=(WIDTH, WIDTH))
        kinds = [getattr(self, name) for name in dir(self) if name.startswith("step_")]
        for n in range(int(rng.integers(5, 18))):
            recent = self.values[-4:]
            x, columns = recent[rng.integers(len(recent))]
            kinds[rng.integers(len(kinds))](x, columns, f"n{n}")

    def loss(self):
        """The last value against a label, and two of the others."""
        last = mx.sym.LinearRegressionOutput(self.values[-1][0], mx.sym.var("label"))
        others = [self.values[i][0] for i in self.rng.integers(0, len(self.values), 2)]
        means = [mx.sym.make_loss(mx.sym.mean(mx.sym.square(x)) * self.rows) for x in others]
        return mx.sym.Group([last, *means])

    def another(self, columns):
        """A value of as many columns."""
        fitting = [x for x, n in self.values if n == columns]
        return fitting[self.rng.integers(len(fitting))]

    def step_layer(self, x, columns, name):
        units = int(self.rng.choice([16, WIDTH, 48]))
        options = {"no_bias": bool(self.rng.random() < 0.3)}
        if units == columns == WIDTH and self.rng.random() < 0.5:
            options = {"weight": self.shared, "no_bias": True}
        x = mx.sym.FullyConnected(x, num_hidden=units, name=name, **options)
        self.values.append((x, units))

    def step_activation(self, x, columns, name):
        kind = str(self.rng.choice(["tanh", "sigmoid", "softrelu"]))
        self.values.append((mx.sym.Activation(x, act_type=kind), columns))

    def step_rectifier(self, x, columns, name):
        kind = str(self.rng.choice(["gelu", "selu", "elu"]))
        self.values.append((mx.sym.LeakyReLU(x, act_type=kind), columns))

    def step_sum(self, x, columns, name):
        self.values.append((x + self.another(columns), columns))

    def step_product(self, x, columns, name):
        self.values.append((mx.sym.tanh(x) * self.another(columns) * 0.7, columns))

    def step_halves(self, x, columns, name):
        if columns % 2 == 0 and columns >= 16:
            left, right = mx.sym.SliceChannel(x, num_outputs=2, axis=1)
            self.values += [(left, columns // 2), (mx.sym.tanh(right) * 0.5, columns // 2)]

    def step_joined(self, x, columns, name):
        other, more = self.values[self.rng.integers(len(self.values))]
        if columns + more <= 96:
            self.values.append((mx.sym.concat(x, mx.sym.sin(other), dim=1), columns + more))

    def step_bias(self, x, columns, name):
        bias = mx.sym.var(f"{name}_b", shape=(1, columns))
        self.values.append((mx.sym.broadcast_add(mx.sym.tanh(x), bias), columns))

    def step_scale_of_rows(self, x, columns, name):
        scale = mx.sym.var(f"{name}_r", shape=(self.rows, 1))
        self.values.append((mx.sym.broadcast_mul(x, scale), columns))

    def step_groups(self, x, columns, name):
        if columns % 8 == 0:
            x = mx.sym.tanh(mx.sym.reshape(x, shape=(self.rows, 8, columns // 8))) * 0.9
            self.values.append((mx.sym.reshape(x, shape=(self.rows, columns)), columns))

    def step_softmax(self, x, columns, name):
        self.values.append((mx.sym.softmax(x), columns))

    def step_norm(self, x, columns, name):
        self.values.append((mx.sym.LayerNorm(x, name=name), columns))


def run(seed, passes, monkeypatch):
    """(outputs, gradients by name, number of splits)."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
    rng = np.random.default_rng(seed)
    network = Network(rng)
    executor = network.loss().simple_bind(
        mx.cpu(),
        grad_req=str(rng.choice(["write", "add"])),
        data=(network.rows, WIDTH),
        start=(1, WIDTH),
    )
    for _, array in sorted(executor.arg_dict.items()):
        array[:] = rng.uniform(-0.5, 0.5, array.shape)
    for grad in executor.grad_arrays:
        grad[:] = 0.25
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward()
    outputs = {f"output {i}": out.asnumpy() for i, out in enumerate(executor.outputs)}
    grads = {key: grad.asnumpy() for key, grad in executor.grad_dict.items()}
    return {**outputs, **grads}, len(executor._graph.splits)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_random_networks(seed, monkeypatch, threads, n_threads):
    monkeypatch.setattr(batch_split, "LEAST_WORK", 0)
    threads(n_threads)
    splits = 0
    for case in range(CASES):
        (found, n), (wanted, _) = (run([seed, case], p, monkeypatch) for p in ("all", "none"))
        splits += n
        for key, want in wanted.items():
            size = np.abs(want).max() + 1e-3
            assert np.abs(found[key] - want).max() <= 1e-5 * size, (case, key)
    assert splits > CASES / 2
