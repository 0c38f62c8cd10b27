"""Random networks over images: training and prediction with every pass, and with none.

In float64 both are the same but for the order of sums. In float32 a rounding may decide another
element of a relu or a maximum, and gradients may cancel (of a shift in front of a BatchNorm): there
passes may not be much further from float64 than float32 is without them.
"""

import os

import numpy as np
import pytest

import cynet as mx
from cynet.graph import split

CASES = 3000 if "CYNET_STRESS_ITERATIONS" in os.environ else 60
MOST = 20000  # elements of a value
NEAR = {"float64": 1e-9, "float32": 2e-2}
CLASSES = 5


class Network:
    """Random steps, each over one of the last four values; `values` are (symbol, shape)."""

    def __init__(self, rng):
        self.rng, self.values, self.shared = rng, [], {}
        side = self.pick(1, 4, 6, 7, 8, 9, 12)
        shape = (self.pick(1, 2, 3, 4, 6), self.pick(1, 2, 3, 4, 8, 16, 20), side, side)
        self.batch, self.shapes = shape[0], {"data": shape}
        self.values.append((mx.sym.var("data"), shape))
        kinds = [getattr(self, name) for name in dir(self) if name.startswith("step_")]
        # steps that many passes look at
        kinds += 2 * [self.step_convolution, self.step_sum] + [self.step_norm, self.step_activation]
        for n in range(int(rng.integers(3, 22))):
            x, shape = self.pick(*self.values[-4:])
            made = self.pick(*kinds)(x, shape, f"n{n}")
            for each in made if isinstance(made, list) else [made]:
                self.add(each)

    def add(self, x):
        if x is not None:
            shape = tuple(x.infer_shape(**self.shapes)[1][0])
            if np.prod(shape) <= MOST:
                self.values.append((x, shape))

    def pick(self, *of):
        return of[self.rng.integers(len(of))]

    def chance(self, p):
        return bool(self.rng.random() < p)

    def another(self, shape):
        return self.pick(*[x for x, s in self.values if s == shape])

    def outputs(self):
        """A loss or a plain value, and up to two values on the way."""
        last, _ = self.values[-1]
        kind = self.pick("softmax", "linear", "loss", "plain")
        if kind == "softmax":
            last = mx.sym.FullyConnected(last, num_hidden=CLASSES, name="fc")
            last = mx.sym.SoftmaxOutput(last, name="softmax")
        elif kind == "linear":
            last = mx.sym.LinearRegressionOutput(mx.sym.Flatten(last), name="linear")
        elif kind == "loss":
            last = mx.sym.make_loss(mx.sym.mean(mx.sym.square(last)))
        found = [last]
        for i in self.rng.integers(0, len(self.values), self.pick(0, 1, 2)):
            x, _ = self.values[i]
            loss = mx.sym.make_loss(mx.sym.mean(mx.sym.square(x)) * 3)
            found.append(self.pick(x, loss, mx.sym.BlockGrad(x)))
        return mx.sym.Group(found)

    # --- layers -----------------------------------------------------------------------------------
    def step_convolution(self, x, shape, name):
        kernel = self.pick((1, 1), (1, 1), (3, 3), (3, 3), (3, 3), (5, 5), (1, 3), (3, 1), (2, 2))
        half = tuple(k // 2 for k in kernel)
        pad = self.pick((0, 0), half, half, (1, 1))
        dilate = self.pick((1, 1), (1, 1), (1, 1), (2, 2))
        spans = [d * (k - 1) + 1 for d, k in zip(dilate, kernel)]
        if any(n + 2 * p < span for n, p, span in zip(shape[2:], pad, spans)):
            return None
        filters = self.pick(1, 2, 4, 8, 16, 20, shape[1])
        groups = [g for g in (1, 1, 1, 2, 4, shape[1]) if shape[1] % g == filters % g == 0]
        return mx.sym.Convolution(
            x,
            kernel=kernel,
            stride=self.pick((1, 1), (1, 1), (1, 1), (2, 2), (2, 1)),
            pad=pad,
            dilate=dilate,
            num_filter=filters,
            num_group=self.pick(*groups),
            no_bias=self.chance(0.4),
            name=name,
        )

    def step_shared_convolution(self, x, shape, name):
        n = shape[1]
        weight = self.shared.setdefault(n, mx.sym.var(f"shared{n}_weight", shape=(n, n, 3, 3)))
        options = {"kernel": (3, 3), "pad": (1, 1), "num_filter": n, "no_bias": True}
        return mx.sym.Convolution(x, weight=weight, name=name, **options)

    def step_deconvolution(self, x, shape, name):
        kernel, stride = self.pick(1, 2, 3, 4), self.pick(1, 2)
        if max(shape[2:]) * stride > 14:
            return None
        return mx.sym.Deconvolution(
            x,
            kernel=(kernel, kernel),
            stride=(stride, stride),
            pad=(1, 1) if kernel > 1 and min(shape[2:]) > 2 else (0, 0),
            num_filter=self.pick(2, 4, 8, 16),
            no_bias=self.chance(0.5),
            name=name,
        )

    def step_dense(self, x, shape, name):
        units = int(np.prod(shape[1:]))
        if units > 400:
            return None
        y = mx.sym.FullyConnected(x, num_hidden=units, no_bias=self.chance(0.4), name=name)
        if self.chance(0.5):
            y = mx.sym.Activation(y, act_type=self.pick("relu", "tanh"))
        if self.chance(0.3):
            y = mx.sym.BatchNorm(y, eps=1e-2, fix_gamma=False, name=f"{name}_bn")
        return mx.sym.reshape(y, shape=shape)

    def step_norm(self, x, shape, name):
        fixed, still = self.chance(0.5), self.chance(0.15)
        return mx.sym.BatchNorm(x, fix_gamma=fixed, use_global_stats=still, eps=1e-2, name=name)

    def step_other_norm(self, x, shape, name):
        mode = self.pick("instance", "channel", "spatial")
        return self.pick(
            mx.sym.L2Normalization(x, mode=mode),
            mx.sym.LRN(x, nsize=3),
            mx.sym.InstanceNorm(x, eps=1e-2, name=name),
            mx.sym.LayerNorm(x, eps=1e-2, name=name),
        )

    def step_activation(self, x, shape, name):
        kind = self.pick("relu", "relu", "tanh", "sigmoid", "softrelu")
        return mx.sym.Activation(x, act_type=kind)

    def step_rectifier(self, x, shape, name):
        kind = self.pick("leaky", "elu", "gelu", "selu", "prelu")
        return mx.sym.LeakyReLU(x, act_type=kind, name=name)

    def step_pooling(self, x, shape, name):
        kernel, pad = self.pick(2, 3), self.pick(0, 1)
        if min(shape[2:]) + 2 * pad < kernel or (pad and min(shape[2:]) < 4):
            return None  # a window of padding alone gives the lowest number
        return mx.sym.Pooling(
            x,
            kernel=(kernel, kernel),
            stride=self.pick((1, 1), (2, 2)),
            pad=(pad, pad),
            pool_type=self.pick("max", "max", "avg", "sum"),
            pooling_convention=self.pick("valid", "full") if not pad else "valid",
        )

    def step_dropout(self, x, shape, name):
        return mx.sym.Dropout(x, p=0.3)

    def step_softmax(self, x, shape, name):
        return mx.sym.softmax(x, axis=self.pick(1, -1))

    # --- values together --------------------------------------------------------------------------
    def step_sum(self, x, shape, name):
        return x + self.another(shape)

    def step_sum_of_three(self, x, shape, name):
        return mx.sym.add_n(x, self.another(shape), self.another(shape))

    def step_product(self, x, shape, name):
        return mx.sym.tanh(x) * self.another(shape) * 0.7

    def step_product_without_gradient(self, x, shape, name):
        return mx.sym.BlockGrad(x) * self.another(shape)

    def step_concat(self, x, shape, name):
        fitting = [
            y
            for y, s in self.values
            if len(s) == 4 and (s[0], *s[2:]) == (shape[0], *shape[2:]) and s[1] + shape[1] <= 64
        ]
        return mx.sym.concat(x, self.pick(*fitting), dim=1) if fitting else None

    def step_parts(self, x, shape, name):
        count = self.pick(1, 2, 4)
        if shape[1] % count:
            return None
        parts = mx.sym.SliceChannel(x, num_outputs=count, axis=1)
        return [parts[i] for i in range(count) if self.chance(0.7)]

    def step_bias(self, x, shape, name):
        bias = mx.sym.var(f"{name}_bias", shape=(1, shape[1], 1, 1))
        return mx.sym.broadcast_add(mx.sym.tanh(x), bias)

    def step_gate(self, x, shape, name):
        mean = mx.sym.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg")
        gate = mx.sym.Activation(mean, act_type="sigmoid")
        return mx.sym.broadcast_mul(self.another(shape), gate)

    # --- elements and shapes ----------------------------------------------------------------------
    def step_scalar(self, x, shape, name):
        clipped = mx.sym.clip(x, a_min=-0.8, a_max=0.9)
        return self.pick(x * 0.5, x + 0.25, 1 - x, x * x * 0.3, clipped, mx.sym.identity(x))

    def step_slice(self, x, shape, name):
        if shape[1] == 1:
            return None
        return mx.sym.slice_axis(x, axis=1, begin=0, end=shape[1] // 2)

    def step_pad(self, x, shape, name):
        width = (0, 0, 0, 0, 1, 1, 0, 1)
        if max(shape[2:]) > 10:
            return None
        return mx.sym.Pad(x, mode="constant", constant_value=0.5, pad_width=width)

    def step_upsampling(self, x, shape, name):
        if max(shape[2:]) > 6:
            return None
        return mx.sym.UpSampling(x, scale=2, sample_type="nearest")

    def step_transpose(self, x, shape, name):
        return mx.sym.transpose(x, axes=self.pick((0, 1, 3, 2), (0, 2, 3, 1), (0, 3, 1, 2)))

    def step_reshape(self, x, shape, name):
        if shape[1] % 2:
            return None
        return mx.sym.reshape(mx.sym.tanh(mx.sym.reshape(x, shape=(0, 2, -1))), shape=shape)

    def step_shuffle(self, x, shape, name):
        n, c, *size = shape
        if c % 2:
            return None
        halves = mx.sym.reshape(x, shape=(n, 2, c // 2, *size))
        return mx.sym.reshape(mx.sym.transpose(halves, axes=(0, 2, 1, 3, 4)), shape=shape)


def bind(network, net, dtype, grad_req, seed):
    """An executor whose arrays are the same for every dtype, and the generator that filled them."""
    names, rng = net.list_arguments(), np.random.default_rng(seed)
    shapes = {name: shape for name, shape in network.shapes.items() if name in names}
    types = dict.fromkeys(names, dtype)
    executor = net.simple_bind(mx.cpu(), grad_req=grad_req, type_dict=types, **shapes)
    for name, array in sorted(executor.arg_dict.items()):
        values = rng.uniform(-0.5, 0.5, array.shape).astype("float32")
        if name == "softmax_label":
            values = rng.integers(0, CLASSES, array.shape)
        array[:] = values + 1 if name.endswith("gamma") else values
    for _, array in sorted(executor.aux_dict.items()):
        array[:] = rng.uniform(0.5, 1.5, array.shape).astype("float32")
    return executor, rng


def run(seed, passes, dtype, monkeypatch):
    """Name to array: two training steps and a prediction by one executor, two predictions by one
    without gradients, whose weights change between them."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
    rng = np.random.default_rng(seed)
    network = Network(rng)
    net = network.outputs()
    requests = str(rng.choice(["write", "add"]))
    if rng.random() < 0.5:
        kinds = ["write", "write", "add", "null"]
        requests = {name: str(rng.choice(kinds)) for name in net.list_arguments()}
    executor, rng = bind(network, net, dtype, requests, seed)
    grads = {name: g for name, g in executor.grad_dict.items() if g is not None}
    for grad in grads.values():
        grad[:] = 0.25
    mx.random.seed(7)
    for _ in range(2):
        outputs = executor.forward(is_train=True)
        if grads:
            heads = [rng.uniform(-1, 1, out.shape).astype("float32") for out in outputs]
            executor.backward([mx.nd.array(head, dtype=dtype) for head in heads])
    found = {f"output {i}": out.asnumpy() for i, out in enumerate(executor.outputs)}
    found |= {f"gradient of {name}": grad.asnumpy() for name, grad in grads.items()}
    found |= {name: array.asnumpy() for name, array in executor.aux_dict.items()}

    def predict(executor, name):
        outputs = executor.forward(is_train=False)
        found.update((f"{name} {i}", out.asnumpy()) for i, out in enumerate(outputs))

    predict(executor, "output after training")
    executor, _ = bind(network, net, dtype, "null", seed)
    predict(executor, "prediction")
    for name, array in sorted(executor.arg_dict.items()):
        if name.endswith("weight"):
            array *= 0.5
    predict(executor, "prediction with other weights")
    return found


@pytest.mark.parametrize("least_work", [None, 0], ids=["as it comes", "in parts"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_random_networks(seed, monkeypatch, threads, dtype, least_work):
    if least_work is not None:
        monkeypatch.setattr(split, "LEAST_WORK", least_work)
    for case in range(CASES):
        wanted = run([seed, case], "none", "float64", monkeypatch)
        plain = wanted if dtype == "float64" else run([seed, case], "none", dtype, monkeypatch)
        found = run([seed, case], "all", dtype, monkeypatch)
        assert found.keys() == wanted.keys()
        for key, want in wanted.items():
            near = NEAR[dtype] * (np.linalg.norm(want) + 1e-2)
            near += 10 * np.linalg.norm(plain[key] - want)
            assert np.linalg.norm(found[key] - want) <= near, (case, key)
