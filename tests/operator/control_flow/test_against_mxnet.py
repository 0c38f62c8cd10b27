"""Loops and branches: JSON, outputs and gradients are those of MXNet 1.9.1
(tests/fixtures/control_flow/make.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.control_flow.programs import PREDICTED, PROGRAMS, REFUSED

FOUND = np.load(Path(__file__).parents[2] / "fixtures/control_flow/programs.npz")
TEXTS = json.loads(str(FOUND["json"]))
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)


def made(program):
    with mx.name.NameManager():
        return program(mx)


def found(program, kind):
    start = f"{program.__name__}/{kind}/"
    return {key[len(start) :]: FOUND[key] for key in FOUND.files if key.startswith(start)}


@each_program
def test_text(program):
    # subgraphs are numbered on from program to program, in MXNet's process and in this one
    def unnumbered(text):
        graph = json.loads(text)

        def walk(node):
            if isinstance(node, dict):
                for key, value in node.items():
                    if key == "__subgraph_name__":
                        node[key] = "$".join(part.rstrip("0123456789") for part in value.split("$"))
                    walk(value)
            elif isinstance(node, list):
                for each in node:
                    walk(each)

        walk(graph)
        return graph

    text = TEXTS[program.__name__]
    symbol, _ = made(program)
    assert unnumbered(symbol.tojson()) == unnumbered(text)
    assert mx.sym.load_json(text).tojson() == text
    assert mx.sym.load_json(symbol.tojson()).tojson() == symbol.tojson()


@pytest.mark.parametrize("loaded", [False, True], ids=["made", "loaded"])
@pytest.mark.parametrize("add", [False, True], ids=["write", "add"])
@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.__name__ not in REFUSED], ids=lambda p: p.__name__
)
def test_values(program, add, loaded):
    symbol, _ = made(program)
    if loaded:
        symbol = mx.sym.load_json(TEXTS[program.__name__])
    values = found(program, "in")
    trains = program.__name__ not in PREDICTED
    args = {name: mx.nd.array(value) for name, value in values.items()}
    grads = {name: mx.nd.ones(value.shape) for name, value in values.items()} if trains else None
    executor = symbol.bind(mx.cpu(), args, grads, "add" if add else "write")
    for _ in range(2):  # the second run finds the memory of the first
        outs = executor.forward(is_train=trains)
        for k, want in found(program, "out").items():
            np.testing.assert_allclose(outs[int(k)].asnumpy(), want, 2e-5, 1e-5, err_msg=k)
        if trains:
            heads = [mx.nd.array(each) for each in found(program, "head").values()]
            executor.backward(heads)
    for name, want in found(program, "grad").items():
        got = executor.grad_dict[name].asnumpy()
        if add:
            got = (got - 1) / 2
        np.testing.assert_allclose(got, want, 1e-4, 2e-5, err_msg=name)
