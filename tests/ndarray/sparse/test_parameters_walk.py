"""Operators on sparse arrays are the dense ones whatever their parameters: shape, dtype, values,
and what is refused."""

import itertools

import numpy as np
import pytest
from cynet.ndarray._call import invoke

from cynet import nd
from cynet.base.errors import CynetError
from cynet.operator import get_operator
from tests.ndarray.sparse.declared import FORMS, SCALARS, ZERO_STAYS

STYPES = {2: ("csr", "row_sparse"), 1: ("row_sparse",), 3: ("row_sparse",)}
AXES = (None, (), 0, 1, -1, -2, 2, -3, 3, (0,), (1,), (-2,))
AXES += ((0, 1), (1, 0), (-1, 0), (0, 0), (0, 2))
ENDS = (None, 0, 1, 2, -1, 9)


def settings(**choices):
    """Every combination of these parameters; ... is left out."""
    for values in itertools.product(*choices.values()):
        yield {k: v for k, v in zip(choices, values) if v is not ...}


BOTH = (False, True)
MATRIX = [(5, 4)]
SHAPES = [(5, 4), (5,), (3, 2, 4), (1, 4), (5, 1)]
WALK = {
    **{
        name: (SHAPES, [()], list(settings(axis=AXES, keepdims=BOTH, exclude=BOTH)))
        for name in ("sum", "mean")
    },
    "norm": (SHAPES, [()], list(settings(axis=(None, 0, 1, (0, 1)), keepdims=BOTH, ord=(1, 2)))),
    "_square_sum": (SHAPES, [()], list(settings(axis=AXES, keepdims=BOTH))),
    "Concat": (
        MATRIX,
        [[(5, 4)], [(2, 4)], [(5, 2)], []],
        list(settings(dim=(..., 0, 1, 2, -1, -2, -3, -4, 4))),
    ),
    "slice": (
        SHAPES,
        [()],
        [
            *settings(begin=[(b,) for b in ENDS], end=[(e,) for e in ENDS], step=(..., (1,), (2,))),
            *settings(begin=[(0, b) for b in ENDS], end=[(3, e) for e in ENDS]),
        ],
    ),
    "clip": (MATRIX, [()], list(settings(a_min=(-1, 0, 0.2), a_max=(-0.2, 0, 1)))),
    "Cast": (SHAPES, [()], list(settings(dtype=("float64", "float16", "int32", "uint8", "bool")))),
    "_contrib_quadratic": (SHAPES, [()], list(settings(a=(0, 2), b=(0, 3), c=(0, 1)))),
    "take": (
        MATRIX,
        [[np.array(each)] for each in ([0, 4, 9], [-1, -9], [[1, 2], [3, 0]], [1.7])],
        list(settings(axis=(0, 1, -1, 2), mode=("clip", "wrap", "raise"))),
    ),
    "dot": (
        MATRIX,
        [[(4, 3)], [(4,)], [(5, 3)], [(5,)], [(3, 4)], [(2, 4, 3)]],
        list(
            settings(
                transpose_a=BOTH,
                transpose_b=BOTH,
                forward_stype=(..., "default", "csr", "row_sparse"),
            )
        ),
    ),
    "FullyConnected": (
        MATRIX,
        [[(3, 4), (3,)], [(3, 4)], [(3, 5), (3,)]],
        list(settings(num_hidden=(3, 4), no_bias=BOTH, flatten=BOTH)),
    ),
    "add_n": (SHAPES, [[], ["same"], ["same", "same"], [(5, 3)]], [{}]),
    **{
        name: (SHAPES, [["same"], [(5, 3)], [(1,)], [(4,)], [(5, 1)]], [{}])
        for name in (
            "elemwise_add",
            "elemwise_sub",
            "elemwise_mul",
            "broadcast_add",
            "broadcast_sub",
            "broadcast_mul",
            "broadcast_div",
        )
    },
    **{name: (SHAPES, [()], list(settings(scalar=(0, -1.5, 2, float("inf"))))) for name in SCALARS},
    **{name: (SHAPES, [()], [{}]) for name in ZERO_STAYS if name != "Cast"},
    "_sparse_retain": (SHAPES, [[np.array(each)] for each in ([0, 2], [2, 0, 2], [9], [-1])], [{}]),
    "cast_storage": (SHAPES, [()], [{"stype": "default"}]),
    "Embedding": (MATRIX, [], []),  # its own test below: the sparse array is the second input
}


def test_every_form_is_here():
    assert WALK.keys() >= FORMS


def outcome(call):
    """What a call gives, or that it refuses."""
    try:
        out = call()
        out.wait_to_read()
    except CynetError as error:
        return error
    return out


def compare(what, sparse, dense):
    """A sparse result beside that of dense arrays."""
    if isinstance(dense, CynetError):
        assert isinstance(sparse, CynetError), (what, dense)
        return
    assert not isinstance(sparse, CynetError), (what, sparse)
    assert (sparse.shape, sparse.dtype) == (dense.shape, dense.dtype), what
    np.testing.assert_allclose(sparse.asnumpy(), dense.asnumpy(), 2e-5, 1e-6, err_msg=what)
    if sparse.stype != "default":
        sparse.check_format()


def made(rng, shape, share=0.5):
    values = rng.uniform(0.1, 0.9, shape) * (rng.random(shape) < share)
    return nd.array(values)


def call(name, inputs, params):
    if name == "_square_sum":
        return nd._internal._square_sum(*inputs, **params)
    entry = get_operator(name)
    if entry.prop.key_var_num_args:
        params = {entry.prop.key_var_num_args: len(inputs), **params}
    return invoke(entry, tuple(inputs), params)


@pytest.mark.filterwarnings("ignore:operator", "ignore:the operator")
@pytest.mark.parametrize("name", WALK)
def test_every_setting(name, rng):
    shapes, others, params = WALK[name]
    for shape, more, given in itertools.product(shapes, others, params):
        more = [shape if isinstance(each, str) else each for each in more]
        plain = [
            made(rng, shape),
            *(
                nd.array(each) if isinstance(each, np.ndarray) else made(rng, each, 1)
                for each in more
            ),
        ]
        for stype, of_others in itertools.product(STYPES[len(shape)], ("default", "same")):
            inputs = [
                plain[0].tostype(stype),
                *(
                    x
                    if of_others == "default"
                    or isinstance(each, np.ndarray)
                    or (stype == "csr" and x.ndim != 2)
                    else x.tostype(stype)
                    for x, each in zip(plain[1:], more)
                ),
            ]
            what = f"{name} of {stype} {shape}, {more} {of_others}, {given}"
            want = outcome(lambda: call(name, plain, given))  # noqa: B023
            compare(what, outcome(lambda: call(name, inputs, given)), want)  # noqa: B023


@pytest.mark.filterwarnings("ignore:operator")
@pytest.mark.parametrize("ids", [[[4, 0], [4, 1]], [0.9], [[3]], 2])
@pytest.mark.parametrize("sizes", [(5, 4), (5, 3), (4, 4)])
def test_embedding(rng, ids, sizes):
    weight, data = made(rng, (5, 4)), nd.array(ids)
    params = dict(zip(("input_dim", "output_dim"), sizes))
    want = outcome(lambda: nd.Embedding(data, weight, **params))
    compare("", outcome(lambda: nd.Embedding(data, weight.tostype("row_sparse"), **params)), want)
