"""Random numbers on a device are the CPU's, byte for byte; and what refuses its parameters."""

import numpy as np
import pytest
from cynet.operator._testing import run_forward

import cynet as mx
from cynet.base.errors import ArgumentError
from cynet.operator import get_operator
from cynet.operator.cuda import build
from cynet.operator.random.distributions import DISTRIBUTIONS
from tests.operator.cuda.running import SEED, both, device, same
from tests.pairs import pairwise

PARAMETERS = {
    "uniform": (-1.5, 2.25),
    "normal": (0.5, 3.0),
    "gamma": (0.7, 2.0),
    "exponential": (1.7,),
    "poisson": (14.0,),
    "negative_binomial": (3, 0.4),
    "generalized_negative_binomial": (5.0, 0.3),
}
DTYPES = ("float32", "float64", "float16")


def bytes_of(name, params, inputs, out_type, shape, add=False):
    """The output of the GPU form and of the CPU operator."""
    prop = get_operator(name).prop(**params)
    shapes, types = [a.shape for a in inputs], [str(a.dtype) for a in inputs]
    found = []
    for made in (
        build(prop, shapes, types, device()),
        prop.create_operator(mx.cpu(), shapes, types),
    ):
        mx.random.seed(SEED)
        out = np.ones(shape, out_type)
        run_forward(made, inputs, [3 if add else 1], [out], [], True, prop.forward_resource(shapes))
        found.append(out)
    return found


@pytest.mark.parametrize(
    "row, dtype, add",
    pairwise(DISTRIBUTIONS, DTYPES, [False, True]),
    ids=lambda value: getattr(value, "name", None),
)
def test_distribution(row, dtype, add):
    params = dict(zip([p[0] for p in row.parameters], PARAMETERS[row.name]))
    calls = [
        (f"_random_{row.name}", {**params, "shape": (3, 427), "dtype": dtype}, [], (3, 427)),
        (f"_random_{row.name}", {**params, "shape": (9,)}, [], (9,)),  # dtype by what it is for
        (f"_random_{row.name}", {}, [], (9,)),
        (f"_random_{row.name}_like", params, [np.zeros((5, 7), dtype)], (5, 7)),
    ]
    for kind in ("float32", "float16"):
        sets = [
            np.array([v, v / 2 if row.name != "uniform" else v], kind) for v in PARAMETERS[row.name]
        ]
        calls.append((f"_sample_{row.name}", {"shape": (5,), "dtype": dtype}, sets, (2, 5)))
    for name, given, inputs, shape in calls:
        found, wanted = bytes_of(name, given, inputs, dtype, shape, add)
        assert found.tobytes() == wanted.tobytes(), (name, given)


@pytest.mark.parametrize(
    "low, high, dtype", [(-5, 17, "int32"), (-(2**63), 2**63 - 1, "int64"), (0, 2**40, "int64")]
)
def test_integers(low, high, dtype):
    params = {"low": low, "high": high, "shape": (1001,), "dtype": dtype}
    found, wanted = bytes_of("_random_randint", params, [], dtype, (1001,))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(1, 3), (200,), (37, 2, 3)])
@pytest.mark.parametrize("add", [False, True])
def test_shuffle(shape, add, rng):
    x = rng.standard_normal(shape).astype("f")
    found, wanted = bytes_of("_shuffle", {}, [x], "float32", shape, add)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape, draws", [((5,), (7,)), ((3, 40), (11,)), ((2, 3, 4), ())])
@pytest.mark.parametrize("dtype", DTYPES)
def test_multinomial(shape, draws, dtype, rng):
    x = rng.uniform(0, 1, shape).astype(dtype)
    x[..., 1] = 0
    out = (*shape[:-1], *draws) or (1,)
    heads = [np.zeros(out, "int32"), rng.standard_normal(out).astype(dtype)]
    found, wanted = both("_sample_multinomial", x, heads=heads, shape=draws, get_prob=True)
    np.testing.assert_array_equal(found[0], wanted[0])
    for a, b in zip(found[1:], wanted[1:]):
        same(a, b, "probabilities and their gradient")


def test_no_table_of_probabilities():
    x = np.array([[0.2, 0.8], [0.5, -0.1]], "f")
    with pytest.raises(ArgumentError, match="expected probabilities in row 1 of data"):
        bytes_of("_sample_multinomial", {}, [x], "int32", (2,))


@pytest.mark.parametrize(
    "op, params",
    [
        ("Dropout", {"p": 0.3}),
        ("Dropout", {"p": 0.3, "axes": 1}),
        ("LeakyReLU", {"act_type": "rrelu"}),
    ],
)
@pytest.mark.parametrize("train", [False, True])
def test_layers_that_draw(op, params, train, rng):
    x, head = (rng.standard_normal((4, 33, 5)).astype("f") for _ in range(2))
    found, wanted = both(op, x, heads=[head, None], train=train, **params)
    for a, b in zip(found, wanted):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("to_last", [False, True])
def test_channels_last(to_last, rng):
    x, head = (rng.standard_normal((2, 3, 4, 5)).astype("f") for _ in range(2))
    found, wanted = both("_channels_last", x, heads=[head], to_last=to_last)
    for a, b in zip(found, wanted):
        np.testing.assert_array_equal(a, b)
