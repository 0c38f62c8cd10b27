"""ONNX's own suite for backends: what is read computes what the suite says, the rest is refused.

Each run takes every third of the cases, from another start; make stress takes all, and those whose
names end in _expanded: functions of ONNX written out, which the others hold already.
"""

import collections
import os
import re
import warnings

import numpy as np
import pytest

import cynet as mx
from tests.long_runs import STRESS

onnx = pytest.importorskip("onnx")
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
# two units in the last place of what both sides round to after each operator
UNITS = {"bfloat16": 2**-6, "float16": 2**-9}
LEAST = 0.55  # of all cases, as they are given
LEAST_HELD = 0.65  # with inputs held constant that networks in files have as constants


def suite():
    loader = pytest.importorskip("onnx.backend.test.loader")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, in what the suite computes
        cases = [case for kind in KINDS for case in loader.load_model_tests(kind=kind)]
    return [case for case in cases if STRESS or "_expanded" not in case.name]


def array(value):
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else value


def stored(folder, word):
    found = []
    while os.path.exists(path := os.path.join(folder, f"{word}_{len(found)}.pb")):
        with open(path, "rb") as file:
            found.append(array(onnx.TensorProto.FromString(file.read())))
    return found


def model_and_data(case):
    """The model, and lists of inputs and outputs."""
    if case.data_sets is not None:
        return case.model, [[array(x) for x in part] for part in case.data_sets[0]]
    folder = os.path.join(case.model_dir, "test_data_set_0")
    model = onnx.load(os.path.join(case.model_dir, "model.onnx"))
    return model, [stored(folder, "input"), stored(folder, "output")]


def holding(model, names, inputs, held):
    """The model with some inputs held constant."""
    if not held:
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    kept = [each for each in made.graph.input if each.name not in held]
    del made.graph.input[:]
    made.graph.input.extend(kept)
    values = dict(zip(names, inputs))
    made.graph.initializer.extend(onnx.numpy_helper.from_array(values[n], n) for n in held)
    return made


def name_of(dtype):
    return "bfloat16" if "bfloat16" in str(dtype) else np.dtype(dtype).name


def difference(found, wanted, case):
    """What is wrong with an output, or None; a number is an array of one element here."""
    shape = wanted.shape or (1,)
    if found.shape != shape or name_of(found.dtype) != name_of(wanted.dtype):
        return f"{found.dtype} {found.shape} for {wanted.dtype} {shape}"
    rtol = max(case.rtol, UNITS.get(name_of(wanted.dtype), 0))
    found, wanted = (np.float64(x) for x in (found.asnumpy(), wanted.reshape(shape)))
    if np.allclose(found, wanted, rtol=rtol, atol=max(case.atol, 1e-6), equal_nan=True):
        return None
    return f"{found.ravel()[:4]} for {wanted.ravel()[:4]}"


def outcome(case, model, inputs, outputs, held, path):
    """('right' or 'wrong' or 'refused', text)."""
    constants = {each.name for each in model.graph.initializer}
    names = [each.name for each in model.graph.input if each.name not in constants]
    path.write_bytes(holding(model, names, inputs, held).SerializeToString())
    try:
        network, args, states = mx.onnx.import_model(path)
    except mx.errors.CynetError as error:
        return "refused", str(error)
    feeds = {n: x for n, x in zip(names, inputs) if n not in held}
    needed = [*network.list_arguments(), *network.list_auxiliary_states()]
    feeds = {
        n: mx.nd.array(x.reshape(x.shape or (1,)), dtype=x.dtype)
        for n, x in feeds.items()
        if n in needed
    }
    everything = {**args, **states, **feeds}
    args, states = (
        {n: everything[n] for n in names}
        for names in (network.list_arguments(), network.list_auxiliary_states())
    )
    try:
        found = network.bind(mx.cpu(), args, grad_req="null", aux_states=states).forward()
        mx.nd.waitall()
    except mx.errors.ArgumentError as error:
        if re.search("takes float32 or float64|computes in float32 or float64", str(error)):
            return "refused", str(error)
        raise
    told = [difference(f, np.asarray(w), case) for f, w in zip(found, outputs)]
    if len(found) != len(outputs) or any(told):
        return "wrong", f"{len(found)} outputs for {len(outputs)}; {told}"
    return "right", ""


def judged(case, path):
    """The outcome as given, and that with constants where the file needs them."""
    model, (inputs, outputs) = model_and_data(case)
    first = last = outcome(case, model, inputs, outputs, set(), path)
    names = [each.name for each in model.graph.input]
    held = set()
    if not all(isinstance(x, np.ndarray) for x in inputs):
        return first, first
    for _ in range(4):
        asked = re.search(r"its input (\S+) must be a constant", last[1])
        if last[0] != "refused" or not asked or asked[1] in held:
            break
        more = (
            {asked[1]}
            if asked[1] in names
            else {n for n, x in zip(names, inputs) if x.dtype.kind in "iub"}
        )
        if more <= held:
            break
        held |= more
        last = outcome(case, model, inputs, outputs, held, path)
    return first, last


@pytest.mark.timeout(900)
def test_suite(tmp_path, seed):
    cases = suite()
    assert len(cases) > 1200
    cases = cases if STRESS else cases[seed % 3 :: 3]
    pairs = {case.name: judged(case, tmp_path / "m.onnx") for case in cases}
    wrong = {n: (a, b) for n, (a, b) in pairs.items() if "wrong" in (a[0], b[0])}
    assert not wrong, "\n".join(f"{n}: {a} {b}" for n, (a, b) in wrong.items())
    first, last = (collections.Counter(pair[i][0] for pair in pairs.values()) for i in (0, 1))
    print(f"{len(cases)} cases: {dict(first)}; with constants held: {dict(last)}")
    assert first["right"] >= LEAST * len(cases), first
    assert last["right"] >= LEAST_HELD * len(cases), last
    # a refusal names the node or value, and what of it
    unnamed = [a for a, _ in pairs.values() if a[0] == "refused" and "'" not in a[1]]
    assert not unnamed, unnamed[:5]
