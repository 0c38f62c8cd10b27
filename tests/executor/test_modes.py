"""Backward after ``forward(is_train=False)`` is the gradient of what forward computed: every
operator, by differences, after a run in training."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd as ag
from cynet import gluon, nd, sym
from tests.operator.cases import all_cases

STEP = 1e-6


def _suits(case):
    smooth = case.grad is True or bool(case.grad)
    return (
        smooth
        and "float64" in case.dtypes
        and case.params.get("dtype") != "float16"
        and case.params.get("mode") != "always"  # Dropout draws each time
        and case.params.get("id_index", -1) < 0  # box_nms: a class is no number to be moved
        and all(np.prod(each.shape) for each in case.inputs)
    )


EXTRA = [
    ("Dropout", [(3, 4)], {"p": 0.5}),
    ("LeakyReLU", [(3, 4)], {"act_type": "rrelu"}),
    (
        "RNN",
        [(3, 2, 3), (sum(16 * (n + 6) for n in (3, 4)),), (2, 2, 4), (2, 2, 4)],
        {"mode": "lstm", "state_size": 4, "num_layers": 2, "p": 0.5},
    ),
]


def _arrays(case, rng):
    inputs = [each.make(rng, "float64") for each in case.inputs]
    return inputs, [each.make(rng, "float64") for each in case.aux]


class Bound:
    """An operator in an executor, some inputs of which have gradients."""

    def __init__(self, op, inputs, aux, params, smooth):
        names = [f"x{i}" for i in range(len(inputs))]
        states = [sym.Variable(f"s{i}") for i in range(len(aux))]
        out = getattr(sym, op, None) or getattr(sym._internal, op)
        out = out(*map(sym.Variable, names), *states, **params)
        self.arrays = dict(zip(names, (nd.array(a, dtype=a.dtype) for a in inputs)))
        self.grads = {f"x{i}": nd.zeros(inputs[i].shape, dtype="float64") for i in smooth}
        self.executor = out.bind(
            mx.cpu(),
            self.arrays,
            self.grads,
            {n: "write" if n in self.grads else "null" for n in names},
            [nd.array(a, dtype=a.dtype) for a in aux],
        )

    def outputs(self, training):
        return [o.asnumpy() for o in self.executor.forward(is_train=training)]


def _check(op, inputs, aux, params, smooth, rng):
    bound = Bound(op, inputs, aux, params, smooth)
    bound.outputs(True)
    outs = bound.outputs(False)
    heads = [rng.uniform(0.5, 1.5, o.shape) for o in outs]
    vectors = {f"x{i}": rng.uniform(-1, 1, inputs[i].shape) for i in smooth}
    bound.executor.backward([nd.array(h, dtype=o.dtype) for h, o in zip(heads, outs)])
    got = sum((bound.grads[n].asnumpy() * v).sum() for n, v in vectors.items())

    def loss(sign):
        for n, v in vectors.items():
            bound.arrays[n][:] = inputs[int(n[1:])] + sign * STEP * v
        return sum((h * o).sum() for h, o in zip(heads, bound.outputs(False)))

    numeric = (loss(1) - loss(-1)) / (2 * STEP)
    size = max(1.0, abs(numeric), sum(np.abs(h).sum() for h in heads))
    assert abs(got - numeric) / size < 1e-5, (op, params, got, numeric)


@pytest.mark.parametrize("name", ["Dropout", "LeakyReLU", "RNN"])
def test_operators_that_draw_in_training(rng, name):
    op, shapes, params = next(each for each in EXTRA if each[0] == name)
    inputs = [rng.uniform(-1, 1, shape) for shape in shapes]
    _check(op, inputs, [], params, range(len(inputs)), rng)


def test_all_operators(rng):
    done = set()
    for case in filter(_suits, all_cases()):
        inputs, aux = _arrays(case, np.random.default_rng(case.seed))
        smooth = [
            i
            for i, array in enumerate(inputs)
            if array.dtype == "float64" and (case.grad is True or i in case.grad)
        ]
        _check(case.op, inputs, aux, case.params, smooth, rng)
        done.add(case.op)
    assert len(done) > 150 and {"BatchNorm", "_contrib_SyncBatchNorm"} <= done


@pytest.mark.parametrize("door", ["module", "train_mode", "predict_mode", "hybridized"])
def test_dropout_goes_back_as_the_identity(door):
    """After a training step, which leaves a mask."""
    x = nd.ones((4, 50))
    if door == "module":
        module = mx.mod.Module(sym.Dropout(sym.Variable("data"), p=0.5), label_names=None)
        module.bind([("data", x.shape)], inputs_need_grad=True)
        module.init_params()
        batch = mx.io.DataBatch([x])
        module.forward(batch, is_train=True)
        module.backward([nd.ones(x.shape)])
        assert set(module.get_input_grads()[0].asnumpy().ravel()) == {0, 2}
        module.forward(batch, is_train=False)
        module.backward([nd.ones(x.shape)])
        assert (module.get_input_grads()[0].asnumpy() == 1).all()
        module.forward(batch, is_train=True)
        module.backward([nd.ones(x.shape)])
        assert set(module.get_input_grads()[0].asnumpy().ravel()) == {0, 2}
        return
    net = gluon.nn.Dropout(0.5)
    if door == "hybridized":
        net.hybridize()
    x.attach_grad()
    with ag.record():
        y = net(x)
    y.backward()
    assert set(x.grad.asnumpy().ravel()) == {0, 2}
    with ag.record(train_mode=False):
        if door == "predict_mode":
            with ag.train_mode(), ag.predict_mode():
                y = net(x)
        else:
            y = net(x)
    y.backward()
    assert (x.grad.asnumpy() == 1).all()
