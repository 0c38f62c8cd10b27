"""Every form of an operator for sparse arrays: the values and gradients of the dense operator."""

import itertools

import numpy as np
import pytest
from cynet.ndarray._call import invoke

from cynet import autograd, nd
from cynet.base.errors import ArgumentError
from cynet.operator import get_operator
from tests.ndarray.sparse.declared import FORMS, SCALARS, ZERO_STAYS

SHAPE = (5, 4)
BOTH = ("csr", "row_sparse")
# Which numbers make what f(0) is stay 0.
NUMBERS = dict.fromkeys(("_plus_scalar", "_minus_scalar", "_not_equal_scalar"), 0.0)
PARAMS = {"Cast": {"dtype": "float64"}}


def cases():
    """(operator, storage types of its inputs or arrays, parameters)."""
    for name in ZERO_STAYS:
        for stype in BOTH:
            yield name, (stype,), PARAMS.get(name, {})
    for name in SCALARS:
        number = NUMBERS.get(name, -1.5 if "lesser" in name else 1.5)
        for stype in BOTH:
            yield name, (stype,), {"scalar": number}
    for stype in BOTH:
        yield "clip", (stype,), {"a_min": -0.5, "a_max": 0.6}
        yield "_contrib_quadratic", (stype,), {"a": 2, "b": -3}
        for name in ("elemwise_add", "elemwise_sub", "elemwise_mul"):
            yield name, (stype, stype), {}
            yield name.replace("elemwise", "broadcast"), (stype, stype), {}
        yield "add_n", (stype, stype, stype), {}
        for axis in ((), 0, 1, (0, 1)):
            for name in ("sum", "mean"):
                yield name, (stype,), {"axis": axis} if axis != () else {}
        yield "norm", (stype,), {}
    for name in ("elemwise_mul", "broadcast_mul"):
        for stype in BOTH:
            yield name, (stype, "default"), {}
            yield name, ("default", stype), {}
    for shape in ((5, 1), (1, 4), (4,)):
        yield "broadcast_mul", ("csr", shape), {}
        yield "broadcast_div", ("csr", shape), {}
        yield "broadcast_mul", ("row_sparse", shape), {}
    yield "broadcast_div", ("csr", "default"), {}
    for width in ((4, 3), (4,)):
        yield "dot", ("csr", width), {}
    yield "dot", ("csr", (5, 3)), {"transpose_a": True}
    yield "dot", ((3, 5), "csr"), {}
    yield "dot", ((3, 5), "csr"), {"forward_stype": "default"}
    yield "dot", ("csr", "rows of 4"), {}
    yield "dot", ("csr", "row_sparse"), {"transpose_a": True}
    yield "FullyConnected", ("csr", (3, 4), (3,)), {"num_hidden": 3}
    yield "FullyConnected", ("csr", (3, 4)), {"num_hidden": 3, "no_bias": True}
    yield "slice", ("csr",), {"begin": (1, 1), "end": (4, None)}
    yield "slice", ("csr",), {"begin": (2,), "end": (None,)}
    yield "Concat", ("csr", "csr", "csr"), {"dim": 0}
    yield "take", ("csr", [3, 0, 3, 9]), {}
    yield "take", ("csr", [3, -1, 7]), {"mode": "wrap"}
    yield "_sparse_retain", ("row_sparse", [3, 1, 3]), {}
    for stype in BOTH:
        yield "cast_storage", (stype,), {"stype": stype}
        yield "cast_storage", (stype,), {"stype": "default"}
    yield "Embedding", ([[4, 0], [4, 3]], "row_sparse"), {"input_dim": 5, "output_dim": 4}


CASES = list(cases())
SETTINGS = [("float32", "some"), ("float64", "empty rows"), ("float32", "nothing")]
STYPES = ("default", "csr", "row_sparse")


def test_every_form_is_here():
    assert {name for name, _, _ in CASES} == FORMS


def arrays_of(kinds, fill, dtype, rng):
    """Pairs (array, dense array), and whether a gradient goes to each."""
    for kind in kinds:
        if isinstance(kind, list):
            yield nd.array(kind), nd.array(kind), False
            continue
        shape = (4, 3) if kind == "rows of 4" else SHAPE if isinstance(kind, str) else kind
        dense = rng.uniform(0.1, 0.9, shape)
        stype = "default" if not isinstance(kind, str) else kind.replace("rows of 4", "row_sparse")
        if stype != "default":
            dense *= rng.choice([-1, 1], shape)
            keep = rng.random(shape if stype == "csr" else (shape[0], 1)) < 0.6
            dense = np.where(keep, dense, 0.0) if fill != "nothing" else np.zeros(shape)
            if fill == "empty rows":
                dense[[0, 2]] = 0
        dense = nd.array(dense, dtype=dtype)
        yield dense.tostype(stype).copy(), dense.copy(), True


def run(name, params, arrays, wants, req, heads):
    """The result, and the gradients after two backwards."""
    for array, wanted in zip(arrays, wants):
        if wanted:
            array.attach_grad(req)
    grads = []
    for head in heads:
        with autograd.record():
            out = invoke(get_operator(name), tuple(arrays), params)
            result = out[0] if isinstance(out, list) else out
        if head is None:
            head = nd.ones(result.shape, dtype=result.dtype)
        else:
            head = nd.array(head(result.shape), dtype=result.dtype)
        if name not in ("zeros_like", "BlockGrad"):
            result.backward(head)
        grads = [a.grad.asnumpy() if wanted else None for a, wanted in zip(arrays, wants)]
    return result, grads


@pytest.mark.parametrize("dtype, fill", SETTINGS)
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{i}")
def test_a_form_is_its_dense_operator(rng, number, dtype, fill):
    name, kinds, params = CASES[number]
    given = list(arrays_of(kinds, fill, dtype, rng))
    wants = [wanted for _, _, wanted in given]
    seed = int(rng.integers(1 << 30))
    for req in ("write", "add"):
        found = []
        for side in (0, 1):
            heads = [np.random.default_rng(seed).random] * 2
            found.append(run(name, params, [each[side] for each in given], wants, req, heads))
        check(name, params, kinds, [array for array, _, _ in given], fill, dtype, found)


def check(name, params, kinds, inputs, fill, dtype, found):
    """What `run` gives for sparse arrays and for dense ones is the same."""
    (result, grads), (want, want_grads) = found
    close = {"rtol": 1e-5 if dtype == "float32" else 1e-9, "atol": 1e-6}
    assert result.shape == want.shape and result.dtype == want.dtype
    np.testing.assert_allclose(result.asnumpy(), want.asnumpy(), **close)
    if result.stype != "default":
        result.check_format()
    assert inferred(name, params, [array.stype for array in inputs]) == [result.stype]
    for grad, want_grad in zip(grads, want_grads):
        if grad is not None and not (name == "norm" and fill == "nothing"):  # NaN at 0
            np.testing.assert_allclose(grad, want_grad, **close)


def inferred(name, params, stypes):
    prop = get_operator(name).prop
    more = {prop.key_var_num_args: len(stypes)} if prop.key_var_num_args else {}
    inputs, outputs = prop(**params, **more).infer_storage_type(stypes)
    assert inputs == [*stypes]
    return outputs


@pytest.mark.filterwarnings("ignore:operator")
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{i}")
def test_every_combination_of_storage_types(rng, number):
    """Where there is a form, and where dense copies are taken: values and storage types."""
    name, kinds, params = CASES[number]
    dense = [each for _, each, _ in arrays_of(kinds, "some", "float32", rng)]
    want = invoke(get_operator(name), tuple(dense), params)
    free = [
        STYPES if x.ndim == 2 and not isinstance(k, list) else STYPES[:1]
        for x, k in zip(dense, kinds)
    ]
    for stypes in itertools.product(*free):
        given = tuple(x.tostype(stype) for x, stype in zip(dense, stypes))
        if {*stypes} == {"default"}:
            continue
        if name == "cast_storage" and len({*stypes, params["stype"], "default"}) == 3:
            with pytest.raises(ArgumentError, match="go through 'default'"):
                invoke(get_operator(name), given, params)
            continue
        result = invoke(get_operator(name), given, params)
        np.testing.assert_allclose(result.asnumpy(), want.asnumpy(), 1e-5, 1e-6, err_msg=stypes)
        spread = any(
            stype != "default" and x.shape != want.shape for x, stype in zip(dense, stypes)
        )
        if "broadcast" in name and spread:  # inference does not know shapes
            assert result.stype == "default"
        else:
            assert [result.stype] == inferred(name, params, stypes), stypes
