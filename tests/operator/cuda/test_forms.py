"""Every GPU form on the emulated device, against the CPU operator: the cases of the registry's
operators, forward and backward, each request on each array, every dtype that the CPU takes
(bfloat16: test_bfloat16.py)."""

import re
from itertools import product

import numpy as np
import pytest
from cynet.operator._testing import prepare_op

from cynet.base.dtype import name_of
from cynet.base.errors import CynetError
from cynet.cuda import families
from cynet.operator import OPERATORS, get_operator, register_operator
from cynet.operator.cuda import build, has_form
from tests.operator.cuda.running import CASES, DeviceRun, both, device, same
from tests.operator.cuda.without import WITHOUT
from tests.operator.runner import ADD, INPLACE, NULL, WRITE

OWN = {entry for _, entry in OPERATORS.items() if entry.prop.__module__.startswith("cynet.")}


DTYPES = ("float32", "float64", "float16", "uint8", "int8", "int32", "int64")


def takes(case, dtype):
    """Whether the CPU operator takes the dtype, and the dtype the case's numbers."""
    try:
        prop = get_operator(case.op).prop(**case.params)
        with np.errstate(invalid="raise"):
            inputs = [i.make(np.random.default_rng(0), dtype) for i in case.inputs]
        prepare_op(prop, [a.shape for a in inputs], [name_of(a.dtype) for a in inputs])
    except (CynetError, FloatingPointError):
        return False
    return True


def dtypes(case):
    return [*case.dtypes, *(d for d in DTYPES if d not in case.dtypes and takes(case, d))]


def differentiable(case):
    return get_operator(case.op).prop(**case.params).differentiable


def chosen(case):
    """The dtype of this case for what one dtype is enough: each in its turn, over the cases."""
    known = dtypes(case)
    return known[case.seed % len(known)]


def requests(n, every):
    """Lists of n requests: all written, all added to; with `every` each alone added to, and each
    alone not asked for."""
    yield [WRITE] * n
    if every:
        for i, r in product(range(n), (ADD, NULL)):
            yield [r if k == i else WRITE for k in range(n)]
    else:
        yield [ADD] * n


EACH = [pytest.param(case, id=case.id) for case in CASES]
DIFFERENTIABLE = [pytest.param(case, id=case.id) for case in CASES if differentiable(case)]


def test_every_operator_has_a_form():
    missing = {entry.name for entry in OWN if not has_form(entry.prop)}
    assert not missing - set(WITHOUT), "write a form in cynet/operator/cuda"
    assert not set(WITHOUT) - missing, "these have one: take them from without.py"


@pytest.fixture(scope="module", autouse=True)
def asked():
    """(source, instance) of the kernels that the forms of this file's tests ask for."""
    found, find = set(), device().kernel

    def kernel(source, instance):
        found.add((source, instance))
        return find(source, instance)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device(), "kernel", kernel)
        yield found


@pytest.mark.parametrize("case", EACH)
def test_forward(case):
    """In every dtype, in one of them with every request, and in place."""
    for dtype in dtypes(case):
        check_forward(case, dtype)
    check_forward_in_place(case, chosen(case))


def check_forward(case, dtype):
    run = DeviceRun(case, dtype)
    # what is drawn beside the outputs is always written, as are outputs that no one else reads
    drawn = case.reference is None
    n = run.n_visible if drawn or run.prop.graph.traits.private_outputs else len(run.out_shapes)
    more = [WRITE] * (len(run.out_shapes) - n)
    for req in requests(n, dtype == chosen(case)):
        if any(r == ADD and t == "bool" for r, t in zip(req, run.out_types)):
            continue
        start = [run.rng.integers(1, 5, s) for s in run.out_shapes]
        want, want_aux = run.on_host("forward", req + more, run.outputs(start))
        got, got_aux = run.forward(req + more, run.outputs(start))
        for i in range(n):
            same(got[i], want[i], f"output {i}, requests {req}")
        for i, (a, b) in enumerate(zip(got_aux, want_aux)):
            same(a, b, f"state {i}, requests {req}")


def check_forward_in_place(case, dtype):
    run = DeviceRun(case, dtype)
    n = len(run.out_shapes)
    for i, o in run.prop.forward_inplace_option(list(range(len(run.inputs))), list(range(n))):
        want, _ = run.on_host("forward")
        inputs, outputs = [a.copy() for a in run.inputs], run.outputs()
        outputs[o] = inputs[i].view(want[o].dtype).reshape(want[o].shape)
        got, _ = run.forward([INPLACE if k == o else WRITE for k in range(n)], outputs, inputs)
        for k in range(n):
            same(got[k], want[k], f"output {k}, in place {i}->{o}")


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_backward(case):
    """In every dtype, in one of them with every request, and in place."""
    for dtype in dtypes(case):
        run = DeviceRun(case, dtype)
        outputs, aux = run.on_host("forward")
        heads = run.head_grads()
        check_backward(run, outputs, aux, heads, dtype == chosen(case))
        if dtype == chosen(case):
            check_backward_in_place(run, outputs, aux, heads)


def check_backward(run, outputs, aux, heads, every):
    kept = run.forward()[0] if run.prop.graph.traits.private_outputs else outputs
    n = len(run.inputs)
    for req in requests(n, every):
        start = [run.rng.integers(1, 5, a.shape).astype(a.dtype) for a in run.inputs]
        want = run.on_host("backward", heads, outputs, req, [a.copy() for a in start], aux=aux)
        got = run.backward(heads, kept, req, [a.copy() for a in start], aux=aux)
        for i in range(n):
            same(got[i], want[i], f"gradient {i}, requests {req}")


def test_a_declaration_of_several_kernels():
    """Each writes an array, and serves its request; what is declared as zeros is zeros."""

    class Parts(get_operator("L2Normalization").prop):
        """Two inputs, the second of which is not looked at."""

        op_name = "parts"
        inputs_doc = {"data": "Lines.", "other": "Not read."}
        backward = (get_operator("L2Normalization").prop.backward,)
        zeros = ("d_other",)

        def infer_shape(self, in_shapes, out_shapes):
            return [in_shapes[0]] * 2, [in_shapes[0]], []

    x, dy = np.array([[3.0, 4.0], [0.0, 2.0]], "float32"), np.ones((2, 2), "float32")
    register_operator("parts", Parts)
    try:
        found, wanted = both("parts", x, x, heads=[dy])
    finally:
        OPERATORS.remove("parts")
    assert len(found) == 3 and found[1].any() and not found[2].any()
    for mine, theirs in zip(found, wanted):
        same(mine, theirs, "declared")
    Parts.backward = (Parts.backward[0]._replace(writes=("d_data", "d_other")),)
    Parts.zeros = ()
    with pytest.raises(CynetError, match="parts: kernel l2_norm_grad writes d_data, d_other; on a"):
        build(Parts(), [(2, 3)] * 2, ["float32"] * 2, device())


def check_backward_in_place(run, outputs, aux, heads):
    n, first = len(run.inputs), {0: heads, 1: run.inputs, 2: outputs}
    pairs = run.prop.backward_inplace_option(
        list(range(run.n_visible)),
        list(range(100, 100 + n)),
        list(range(200, 200 + len(outputs))),
        list(range(300, 300 + n)),
    )
    want = run.on_host("backward", heads, outputs, aux=aux) if pairs else None
    for source, target in pairs:
        groups = {k: [a.copy() for a in arrays] for k, arrays in first.items()}
        grads, i = [np.full_like(a, 7) for a in run.inputs], target - 300
        grads[i] = groups[source // 100][source % 100].reshape(grads[i].shape)
        req = [INPLACE if k == i else WRITE for k in range(n)]
        got = run.backward(groups[0], groups[2], req, grads, groups[1], aux)
        for k in range(n):
            same(got[k], want[k], f"gradient {k}, in place {source}->{target}")


# Instances that no form of a case asks for in its dtypes, and what launches them.
ELSEWHERE = {
    "elementwise": "",
    "broadcast": "",
    "update": "",  # tests/cuda/test_kernels.py, each of them
    "strided": "",  # tests/cuda/test_strided_kernels.py
    "reduce": "merge_parts|<cynet::nan",  # test_reduce.py: much is reduced, or numbers are missing
    "random": "integers|weight_sums|log_probability",  # test_random.py
    "sort": "sort_pass",  # test_maps.py
    "fill": "eye",
    "index": "one_hot",  # their dtype is a parameter
    "where_clip": "hard_sigmoid",  # the CPU takes floats alone
}


def test_every_instance_is_launched(asked, request):
    """By the tests above, which have run."""
    if sum(i.path == request.path for i in request.session.items) < len(EACH + DIFFERENTIABLE):
        pytest.skip("needs every test of its file")
    for source in families.cu_sources():
        names = {i for i in families.kernel_instances(source) if "bfloat16" not in i}
        left = names - {i for s, i in asked if s == source}
        others = {i for i in left if source in ELSEWHERE and re.search(ELSEWHERE[source], i)}
        assert left == others, f"{source}.cu: a case or a test is to launch these"
        assert not (source in ELSEWHERE and not others), "take it from ELSEWHERE"
