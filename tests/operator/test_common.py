"""Common tests: they walk the registry; a case in tests/operator/cases tests a new operator."""

import numpy as np
import pytest

from cynet.operator import OPERATORS, OperatorProperty
from cynet.operator.property import is_known, merge_shapes
from tests.operator.cases import all_cases, all_exceptions
from tests.operator.narrow import beside
from tests.operator.runner import ADD, INPLACE, NULL, WRITE, Run

CASES = all_cases()
EACH = [pytest.param(case, id=case.id) for case in CASES]
# Other tests register operators of their own; SimpleOps, whose properties are cynet's, as test_...
OWN = {
    entry
    for name, entry in OPERATORS.items()
    if entry.prop.__module__.startswith("cynet.") and not name.startswith("test_")
}
NAMES = sorted(entry.name for entry in OWN)
each_case = pytest.mark.parametrize("case", EACH)
EVERY_OP = [case for case in CASES if case.op in OPERATORS]
DIFFERENTIABLE = [c for c in EVERY_OP if OPERATORS.get(c.op).prop(**c.params).differentiable]
each_differentiable = pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in DIFFERENTIABLE]
)


def covered():
    return {OPERATORS.get(case.op).name for case in CASES if case.op in OPERATORS}


def same(found, expected, case, dtype, what, exact=False):
    rtol, atol = (0, 0) if exact else case.close(dtype)
    np.testing.assert_allclose(
        found.astype(np.float64),
        np.asarray(expected).astype(np.float64),
        rtol,
        atol,
        err_msg=f"{case.id} {dtype}: {what}",
    )


def precise(case):
    """The dtype of tests that need no second one: the widest of the case."""
    return "float64" if "float64" in case.dtypes else case.dtypes[-1]


def test_each_has_a_case():
    without = set(NAMES) - covered() - set(all_exceptions())
    assert not without, f"operators {sorted(without)} need a case in tests/operator/cases"


def test_each_is_documented():
    for name in NAMES:
        entry = OPERATORS.get(name)
        doc = (entry.doc or "").strip()
        assert doc and entry.prop.__doc__ is not OperatorProperty.__doc__, f"{name}: no docstring"
        summary = doc.split("\n\n")[0]
        assert len(summary) > 15 and summary.endswith("."), (
            f"{name}: the summary is no sentence: {summary!r}"
        )
        for field in entry.prop.fields.values():
            assert field.doc and field.expected(), f"{name}: parameter {field.name} has no doc"


def test_cases_name_registered_operators():
    unknown = [case.op for case in CASES if case.op not in OPERATORS]
    assert not unknown


def test_case_names_are_unique():
    names = [case.id for case in CASES]
    assert sorted(names) == sorted(set(names))


def test_cases_without_a_gradient_say_so():
    known = {id(case) for case in DIFFERENTIABLE}
    assert not [case.id for case in EVERY_OP if id(case) not in known and case.grad is not False]
    assert len(DIFFERENTIABLE) > len(CASES) / 2


@each_case
def test_forward(case):
    """In every dtype; the inputs stay as they are."""
    for dtype in case.dtypes:
        check_forward(case, dtype)


def check_forward(case, dtype):
    run = Run(case, dtype)
    inputs = [a.copy() for a in run.inputs]
    outputs, aux = run.forward(inputs=inputs)
    for before, after in zip(run.inputs, inputs):
        np.testing.assert_array_equal(before, after)
    for found, shape, dtype_out in zip(outputs, run.out_shapes, run.out_types):
        assert found.shape == tuple(shape) and found.dtype == dtype_out
    if case.reference is None:
        return
    expected, expected_aux = run.expected()
    assert len(expected) == run.n_visible
    for i, value in enumerate(expected):
        assert tuple(run.out_shapes[i]) == (value.shape or run.prop.no_axes), f"output {i}"
        same(outputs[i], value.reshape(run.out_shapes[i]), case, dtype, f"output {i}", case.exact)
    if expected_aux:
        for i, value in enumerate(expected_aux):
            same(aux[i], value, case, dtype, f"auxiliary state {i}", case.exact)


@each_case
def test_forward_requests(case):
    """Each output alone null, then each alone add; the others are written. And in place."""
    dtype = precise(case)
    run = Run(case, dtype)
    plain, plain_aux = run.forward()
    for i in range(len(plain)):
        if i >= run.n_visible and case.reference is None:
            continue  # what was drawn, which backward reads: no graph asks for anything else
        if plain[i].dtype.kind != "b":
            start = [np.asarray(run.rng.integers(1, 5, o.shape)) for o in plain]
            outputs = run.outputs(start)
            base = outputs[i].copy()
            run.forward([ADD if k == i else WRITE for k in range(len(plain))], outputs)
            same(outputs[i], base + plain[i], case, dtype, f"output {i} added to")
        outputs = run.outputs()
        keep = outputs[i].copy()
        run.forward([NULL if k == i else WRITE for k in range(len(plain))], outputs)
        np.testing.assert_array_equal(
            outputs[i], keep, err_msg=f"output {i} was written despite null"
        )
        for k in range(len(plain)):
            if k != i and k < run.n_visible:
                np.testing.assert_array_equal(outputs[k], plain[k])
    pairs = run.prop.forward_inplace_option(list(range(len(run.inputs))), list(range(len(plain))))
    for i, o in pairs:
        inputs = [a.copy() for a in run.inputs]
        assert inputs[i].nbytes == plain[o].nbytes, "memory of another size cannot be shared"
        outputs = run.outputs()
        outputs[o] = inputs[i].view(plain[o].dtype).reshape(plain[o].shape)
        _, aux = run.forward(
            [INPLACE if k == o else WRITE for k in range(len(plain))], outputs, inputs
        )
        for k in range(len(plain)):
            np.testing.assert_array_equal(
                outputs[k], plain[k], err_msg=f"output {k}, in place {i}->{o}"
            )
        for before, after in zip(plain_aux, aux):
            np.testing.assert_array_equal(before, after)


def differentiated(case):
    """A float64 run of a differentiable case with its outputs, head gradients and in_grads."""
    run = Run(case, precise(case))
    outputs, aux = run.forward()
    heads = run.head_grads()
    return run, outputs, heads, run.backward(heads, outputs, aux=aux), aux


@each_differentiable
def test_gradient(case):
    run, _, heads, in_grads, _ = differentiated(case)
    wanted = [None] * len(in_grads)
    if case.reference_grad is not None:
        wanted = case.reference_grad(
            heads[: run.n_visible], *[a.copy() for a in run.inputs], **case.params
        )
    for i, found in enumerate(in_grads):
        if case.reference_grad is not None:
            if wanted[i] is not None:
                same(found, wanted[i], case, run.dtype, f"gradient of input {i}")
        elif run.has_gradient(i):
            numeric = run.numeric_gradient(i, heads, run.aux)
            np.testing.assert_allclose(
                found, numeric, 1e-5, 1e-6, err_msg=f"{case.id}: gradient of input {i}"
            )
        else:
            np.testing.assert_array_equal(
                found, 0, err_msg=f"{case.id}: gradient of input {i} is not zero"
            )


@each_differentiable
def test_gradient_requests(case):
    run, outputs, heads, plain, aux = differentiated(case)
    for i in range(len(plain)):
        base = [run.rng.integers(1, 5, g.shape).astype(g.dtype) for g in plain]
        grads = [b.copy() for b in base]
        run.backward(
            heads, outputs, [ADD if k == i else WRITE for k in range(len(plain))], grads, aux=aux
        )
        same(grads[i], base[i] + plain[i], case, run.dtype, f"gradient {i} added to")
        grads = [b.copy() for b in base]
        run.backward(
            heads, outputs, [NULL if k == i else WRITE for k in range(len(plain))], grads, aux=aux
        )
        np.testing.assert_array_equal(
            grads[i], base[i], err_msg=f"gradient {i} was written despite null"
        )
        alone = [None if k == i else np.full_like(g, 7) for k, g in enumerate(plain)]
        run.backward(  # as from an executor: what nobody asks for has no array
            heads, outputs, [NULL if k == i else WRITE for k in range(len(plain))], alone, aux=aux
        )
        for k in range(len(plain)):
            if k != i:
                same(grads[k], plain[k], case, run.dtype, f"gradient {k} beside a null one")
                same(alone[k], plain[k], case, run.dtype, f"gradient {k} beside one without array")
    check_gradients_in_place(run, outputs, heads, plain, aux)


def check_gradients_in_place(run, outputs, heads, plain, aux):
    n_in, n_out = len(plain), len(outputs)
    first = {"grad": 0, "in": 100, "out": 200, "in_grad": 300}
    pairs = run.prop.backward_inplace_option(
        list(range(run.n_visible)),
        list(range(first["in"], first["in"] + n_in)),
        list(range(first["out"], first["out"] + n_out)),
        list(range(300, 300 + n_in)),
    )
    for source, target in pairs:
        heads_now, ins, outs = (
            [a.copy() for a in arrays] for arrays in (heads, run.inputs, outputs)
        )
        groups = {0: heads_now, 1: ins, 2: outs}
        shared = groups[source // 100][source % 100]
        grads = [np.full_like(g, 7) for g in plain]
        i = target - 300
        assert shared.nbytes == grads[i].nbytes, "memory of another size cannot be shared"
        grads[i] = shared.reshape(grads[i].shape)
        run.backward(
            heads_now, outs, [INPLACE if k == i else WRITE for k in range(n_in)], grads, ins, aux
        )
        for k in range(n_in):
            what = f"gradient {k}, in place {source}->{target}"
            same(grads[k], plain[k], run.case, run.dtype, what)


# In training rrelu draws other slopes for float64 than for float32.
TWICE = [
    pytest.param(case, id=case.id)
    for case in CASES
    if {"float32", "float64"} <= {*case.dtypes} and not case.id.endswith("rrelu-train")
]


@pytest.mark.parametrize("case", TWICE)
def test_float32_as_float64(case):
    """Forward and backward on the same numbers, under every request."""
    narrow, wide = Run(case, "float32"), Run(case, "float64")
    for a, b in zip((*narrow.inputs, *narrow.aux), (*wide.inputs, *wide.aux)):
        b[...] = a

    def close(found, wanted, what, req=WRITE):
        wanted = wanted.astype("d")
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
        rtol, atol = (10 * part for part in case.close("float32"))
        np.testing.assert_allclose(
            found.astype("d"), wanted, rtol, atol + rtol * largest, err_msg=what
        )

    beside(narrow, wide, close, close)


@each_case
def test_inference(case):
    check_types(case)
    run = Run(case, precise(case))
    prop, n_in, n_out = run.prop, len(run.inputs), len(run.out_shapes)
    assert len(prop.list_arguments()) == n_in, "inputs of the case"
    assert len(prop.list_auxiliary_states()) == len(run.aux), "auxiliary states of the case"
    assert [tuple(s) for s in run.aux_shapes] == [a.shape for a in run.aux]
    assert all(is_known(s) for s in run.out_shapes)
    complete = (run.in_shapes, [tuple(s) for s in run.out_shapes], [a.shape for a in run.aux])
    assert agreed(prop.infer_shape(*map(list, complete[:2])), complete) == complete
    # nothing known, then one input at a time unknown, then each input's leading axis unknown
    agreed(prop.infer_shape([None] * n_in, [None] * n_out), complete)
    for i in range(n_in):
        shapes = list(run.in_shapes)
        shapes[i] = None
        agreed(prop.infer_shape(shapes, [None] * n_out), complete)
        shapes[i] = (0, *run.in_shapes[i][1:])
        agreed(prop.infer_shape(shapes, [None] * n_out), complete)
    if case.back:
        found, _, _ = prop.infer_shape([None] * n_in, list(complete[1]))
        assert [found[i] for i in case.back] == [run.in_shapes[i] for i in case.back]
    if case.infers:
        found, _, _ = prop.infer_shape([run.in_shapes[0]] + [None] * (n_in - 1), [None] * n_out)
        assert [found[i] for i in case.infers] == [run.in_shapes[i] for i in case.infers]


def agreed(found, complete):
    """`found` as three lists of tuples; it must contradict nothing in `complete`."""
    for some, whole in zip(found, complete):
        assert len(some) == len(whole)
        for a, b in zip(some, whole):
            assert merge_shapes(a, b) == b, f"inferred {a} where {b} is right"
    return tuple([None if s is None else tuple(s) for s in part] for part in found)


def check_types(case):
    for dtype in case.dtypes:
        run = Run(case, dtype)
        n_in, n_out = len(run.inputs), len(run.out_types)
        in_types = [str(a.dtype) for a in run.inputs]
        found = run.prop.infer_type(list(in_types), [None] * n_out)
        assert list(found[0]) == in_types
        assert [str(t) for t in found[2]] == [str(a.dtype) for a in run.aux]
        unknown = run.prop.infer_type([None] * n_in, [None] * n_out)
        assert [len(part) for part in unknown] == [n_in, n_out, len(run.aux)]
