"""Operators, called as a script calls them, against the values that MXNet 1.9.1 gave.

tests/fixtures/operators/settings holds the calls, make.py there computes the files. Each call is
made by mx.nd with autograd and by an executor of mx.sym.
"""

import json
from functools import cache
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

FOLDER = Path(__file__).parents[1] / "fixtures" / "operators"
# Arrays that differ on purpose (docs/migration.md): by file, number and array, the operator and
# what NumPy makes of the inputs and parameters. Everything else of these calls is MXNet's.
BETTER = {  # edges of integers are float64; MXNet has them in int32
    ("tensor_moments", 10, "out1"): (
        "_internal._histogram",
        lambda inputs, params: np.histogram_bin_edges(
            inputs[0].astype("float64"), params["bin_cnt"], params["range"]
        ),
    )
}


@cache
def family(name):
    """(arrays, settings) of a file."""
    with np.load(FOLDER / f"{name}.npz") as found:
        arrays = dict(found)
    return arrays, json.loads(str(arrays.pop("settings")))


def every():
    """The settings of all files."""
    found = []
    for path in sorted(FOLDER.glob("*.npz")):
        for number, each in enumerate(family(path.stem)[1]):
            words = ",".join(f"{k}={v}" for k, v in each["params"].items())
            label = f"{path.stem}-{number}-{each['op']}({words})"[:120]
            found.append(pytest.param(path.stem, number, id=label))
    return found


class Call:
    """One setting: its arrays and what MXNet made of them."""

    def __init__(self, name, number):
        arrays, settings = family(name)
        self.setting = settings[number]
        self._arrays, self._name, self._number = arrays, name, number
        self.named = self.setting["op"].rpartition(".")[2]  # in messages
        self.rtol, self.atol = self.setting["tolerance"]
        self.inputs = [self[f"in{i}"] for i in range(self.setting["inputs"])]
        self.params = {
            k: tuple(v) if isinstance(v, list) else v for k, v in self.setting["params"].items()
        }

    def __getitem__(self, key):
        return self._arrays.get(f"{self._number}/{key}")

    def compare(self, found, key, times=1):
        """`found` against MXNet's array, or BETTER's.

        Heads and gradients have the dtype of what they are of.
        """
        wanted = self[key]
        if (self._name, self._number, key) in BETTER:
            op, reference = BETTER[self._name, self._number, key]
            assert self.setting["op"] == op
            wanted = reference(self.inputs, self.params)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), key
        if found.dtype.kind != "f":
            np.testing.assert_array_equal(found, wanted, key)
        else:
            np.testing.assert_allclose(
                found, wanted, times * self.rtol, times * self.atol, err_msg=key
            )


@pytest.mark.parametrize(("name", "number"), every())
def test_imperative(name, number):
    call = Call(name, number)
    inputs = [mx.nd.array(x, dtype=x.dtype) for x in call.inputs]
    function = attrgetter(call.setting["op"])(mx.nd)
    if call.setting["refused"]:
        with pytest.raises(mx.MXNetError, match=call.named):
            made = function(*inputs, **call.params)
            for each in made if isinstance(made, (list, tuple)) else [made]:
                each.asnumpy()
        return
    for i in call.setting["grads"]:
        inputs[i].attach_grad()
    into = [inputs[i] for i in call.setting.get("out", ())]
    with mx.autograd.record(train_mode=call.setting["train"]):
        outputs = function(*inputs, **({"out": into} if into else {}), **call.params)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    assert len(outputs) == call.setting["outputs"]
    for i, y in enumerate(outputs):
        call.compare(y.asnumpy(), f"out{i}")
    if call.setting["grads"]:
        heads = [mx.nd.array(call[f"head{i}"], dtype=y.dtype) for i, y in enumerate(outputs)]
        mx.autograd.backward(outputs, heads, train_mode=call.setting["train"])
        for i in call.setting["grads"]:
            call.compare(inputs[i].grad.asnumpy(), f"grad{i}", 2)
    for i, x in enumerate(inputs):
        if call[f"after{i}"] is not None:
            call.compare(x.asnumpy(), f"after{i}")


@pytest.mark.parametrize(("name", "number"), every())
def test_symbolic(name, number):
    call = Call(name, number)
    function = attrgetter(call.setting["op"])(mx.sym)
    names = [f"in{i}" for i in range(len(call.inputs))]
    arrays = {n: mx.nd.array(x, dtype=x.dtype) for n, x in zip(names, call.inputs)}
    if call.setting["refused"]:
        with pytest.raises(mx.MXNetError, match=f"bind: args has no|{call.named}"):
            symbol = function(*map(mx.sym.var, names), **call.params)
            symbol.bind(mx.cpu(), arrays, grad_req="null").forward()[0].asnumpy()
        return
    symbol = function(*map(mx.sym.var, names), **call.params)
    states = {n: arrays.pop(n) for n in symbol.list_auxiliary_states()}
    wanted = [f"in{i}" for i in call.setting["grads"] if f"in{i}" in arrays]
    grads = {n: mx.nd.zeros_like(arrays[n]) for n in wanted}
    executor = symbol.bind(mx.cpu(), arrays, grads, aux_states=states)
    outputs = executor.forward(is_train=call.setting["train"])
    assert len(outputs) == call.setting["outputs"]
    for i, y in enumerate(outputs):
        call.compare(y.asnumpy(), f"out{i}")
    if grads and call.setting["train"]:
        executor.backward(
            [mx.nd.array(call[f"head{i}"], dtype=y.dtype) for i, y in enumerate(outputs)]
        )
        for n in wanted:
            call.compare(grads[n].asnumpy(), f"grad{n[2:]}", 2)
