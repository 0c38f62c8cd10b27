"""Random distributions: moments and laws against SciPy, same bytes on any threads, errors."""

import numpy as np
import pytest
from scipy import stats

import cynet as mx
from cynet._resource import seed_device
from cynet.kernels.table import philox_block
from cynet.operator import OPERATORS, get_operator
from tests.operator.direct import Ready

N = 40000
# name, parameters, SciPy's distribution
LAWS = [
    ("uniform", {}, stats.uniform()),
    ("uniform", {"low": -3.0, "high": 5.0}, stats.uniform(-3, 8)),
    ("normal", {}, stats.norm()),
    ("normal", {"loc": 10.0, "scale": 0.1}, stats.norm(10, 0.1)),
    ("gamma", {"alpha": 0.3, "beta": 2.0}, stats.gamma(0.3, scale=2)),
    ("gamma", {"alpha": 9.0, "beta": 0.5}, stats.gamma(9, scale=0.5)),
    ("exponential", {"lam": 4.0}, stats.expon(scale=0.25)),
    ("poisson", {"lam": 0.0}, stats.poisson(0)),
    ("poisson", {"lam": 3.5}, stats.poisson(3.5)),
    ("poisson", {"lam": 200.0}, stats.poisson(200)),
    ("negative_binomial", {"k": 5, "p": 0.3}, stats.nbinom(5, 0.3)),
    ("generalized_negative_binomial", {"mu": 4.0, "alpha": 0.25}, stats.nbinom(4, 0.5)),
]
IDS = [f"{name}-{'-'.join(map(str, kw.values()))}" for name, kw, _ in LAWS]


def draw(name, inputs=(), req=1, out=None, **kwargs):
    """The outputs of one operator run on NumPy arrays."""
    out = Ready(name, inputs, kwargs).forward(req, out, train=False)
    return out[0] if len(out) == 1 else out


def follows(sample, law, seed):
    """A fit test whose false alarm is one in 100,000."""
    sample = np.asarray(sample, "float64").ravel()
    if isinstance(law.dist, stats.rv_continuous):
        assert stats.kstest(sample, law.cdf).pvalue > 1e-5, seed
        return
    assert (sample == np.round(sample)).all() and (sample >= 0).all()
    low, high = (int(law.ppf(q)) for q in (0.0005, 0.9995))
    counts = np.bincount(np.clip(sample, low, high).astype(int) - low, minlength=high - low + 1)
    inner = law.pmf(np.arange(low + 1, high))
    expected = np.array([law.cdf(low), *inner, law.sf(high - 1)]) if high > low else np.ones(1)
    if high > low:
        assert stats.chisquare(counts, expected / expected.sum() * len(sample)).pvalue > 1e-5, seed


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, params, law", LAWS, ids=IDS)
def test_numbers_follow_the_law(name, params, law, dtype, seed):
    seed_device(seed)
    sample = draw(f"_random_{name}", shape=(N // 200, 200), dtype=dtype, **params)
    assert sample.shape == (N // 200, 200)
    assert sample.dtype == dtype
    follows(sample, law, seed)


@pytest.mark.parametrize("name, params, law", LAWS, ids=IDS)
def test_like_takes_shape_and_type_of_its_input(name, params, law, seed):
    seed_device(seed)
    sample = draw(f"_random_{name}_like", [np.zeros((N // 2, 2), "float64")], **params)
    assert (sample.shape, sample.dtype) == ((N // 2, 2), np.float64)
    follows(sample, law, seed)


@pytest.mark.parametrize("name", sorted({name for name, _, _ in LAWS}))
def test_sample_takes_parameters_from_arrays(name, seed):
    seed_device(seed)
    rows = [(params, law) for n, params, law in LAWS if n == name and params]
    prop = get_operator(f"_sample_{name}").prop
    inputs = [
        np.array([[float(list(params.values())[i])] for params, _ in rows])
        for i in range(len(prop().list_arguments()))
    ]
    sample = draw(f"_sample_{name}", inputs, shape=(N // 4, 4))
    assert sample.shape == (len(rows), 1, N // 4, 4)
    assert sample.dtype == np.float32
    for row, (_, law) in zip(sample, rows):
        follows(row, law, seed)


def test_sample_without_shape_draws_one_each():
    out = draw("_sample_uniform", [np.array([0, 10.0]), np.array([1, 11.0])])
    assert out.shape == (2,)
    assert 0 <= out[0] < 1 and 10 <= out[1] < 11


def test_float16(seed):
    seed_device(seed)
    sample = draw("_random_uniform", shape=(N,), low=-1, high=3, dtype="float16")
    assert sample.dtype == np.float16
    assert sample.min() >= -1 and sample.max() < 3
    assert abs(sample.astype("float64").mean() - 1) < 0.05
    seed_device(seed)
    normal = draw("_random_normal", shape=(N,), dtype="float16")
    seed_device(seed)
    np.testing.assert_array_equal(
        normal, draw("_random_normal", shape=(N,), dtype="float32").astype("float16")
    )


def test_float32_uniforms_are_the_words_of_the_stream():
    """What a stream holds is told in kernels/rng/philox.h; element i is word i, 24 bits of it."""
    seed_device(99)
    draw("_random_uniform", shape=(1,))  # stream 0
    sample = draw("_random_uniform", shape=(2500,))  # stream 1
    words = np.array([philox_block(99, 1, i) for i in range(625)], np.uint32).ravel()
    np.testing.assert_array_equal(sample, (words >> 8).astype("float32") / np.float32(2**24))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", sorted({name for name, _, _ in LAWS}))
def test_bytes_do_not_depend_on_threads(name, dtype):
    before = mx.get_num_threads()
    try:
        drawn = []
        for threads in (1, 2, 3):
            mx.set_num_threads(threads, beyond_cores=True)
            seed_device(5)
            drawn.append(draw(f"_random_{name}", shape=(50001,), dtype=dtype).tobytes())
    finally:
        mx.set_num_threads(before)
    assert drawn[0] == drawn[1] == drawn[2]


@pytest.mark.parametrize("name", ["_random_uniform", "_random_normal", "_random_poisson"])
@pytest.mark.parametrize("n", [1, 2, 3, 1023, 1024, 1025, 2049])
def test_a_longer_array_begins_with_the_shorter(name, n):
    for dtype in ("float32", "float64"):
        seed_device(3)
        short = draw(name, shape=(n,), dtype=dtype)
        seed_device(3)
        np.testing.assert_array_equal(short, draw(name, shape=(5000,), dtype=dtype)[:n])


def _draws(name):
    """Whether it is one of those that take a shape: no density, no categories, no zipfian."""
    others = ("multi", "_pdf_", "zipfian")
    return name.startswith(("_random_", "_sample_")) and not any(o in name for o in others)


def random_operators():
    names = {entry.name for _, entry in OPERATORS.items()}
    return sorted(n for n in names if _draws(n))


@pytest.mark.parametrize("name", random_operators())
def test_requests(name):
    inputs = []
    kwargs = {}
    if name.startswith("_sample_"):
        inputs = [np.full(3, 0.5, "float32")] * len(get_operator(name).prop().list_arguments())
        kwargs["shape"] = (5,)
    elif name.endswith("_like"):
        inputs = [np.zeros((3, 5), "float32")]
    else:
        kwargs["shape"] = (3, 5)
    if name == "_random_randint":
        kwargs.update(low=5, high=100)
    seed_device(1)
    written = draw(name, inputs, **kwargs)
    out = np.full((3, 5), 7, written.dtype)
    seed_device(1)
    draw(name, inputs, req=0, out=[out], **kwargs)
    assert (out == 7).all()
    seed_device(1)
    draw(name, inputs, req=2, out=[out], **kwargs)
    np.testing.assert_array_equal(out, written)
    out[:] = 7
    seed_device(1)
    draw(name, inputs, req=3, out=[out], **kwargs)
    np.testing.assert_array_equal(out, written + np.asarray(7, written.dtype))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_randint(dtype, seed):
    seed_device(seed)
    sample = draw("_random_randint", low=-3, high=8, shape=(N,), dtype=dtype)
    assert sample.dtype == dtype
    counts = np.bincount(sample + 3)
    assert len(counts) == 11
    assert stats.chisquare(counts).pvalue > 1e-5, seed


def test_randint_far_range():
    sample = draw("_random_randint", low=-(2**63), high=2**63 - 1, shape=(1000,), dtype="int64")
    assert sample.min() < -(2**61) and sample.max() > 2**61
    assert (
        draw("_random_randint", low=2**40, high=2**40 + 1, shape=(9,), dtype="int64") == 2**40
    ).all()


def test_uniform_of_no_width_is_its_end():
    assert (draw("_random_uniform", low=2.5, high=2.5, shape=(9,)) == 2.5).all()


@pytest.mark.parametrize(
    "name, params, found",
    [
        ("uniform", {"low": 1.0, "high": 0.0}, "high"),
        ("uniform", {"low": float("nan")}, "low"),
        ("normal", {"scale": 0.0}, "scale"),
        ("normal", {"scale": -1.0}, "scale"),
        ("gamma", {"alpha": 0.0}, "alpha"),
        ("gamma", {"beta": -1.0}, "beta"),
        ("exponential", {"lam": 0.0}, "lam"),
        ("poisson", {"lam": -1.0}, "lam"),
        ("negative_binomial", {"p": 0.0}, "p"),
        ("negative_binomial", {"p": 1.5}, "p"),
        ("negative_binomial", {"k": -1}, "k"),
        ("generalized_negative_binomial", {"mu": -1.0}, "mu"),
        ("randint", {"low": 3, "high": 3}, "high"),
    ],
)
def test_wrong_parameters_are_named(name, params, found):
    with pytest.raises(ValueError, match=rf"_random_{name}: {found} "):
        get_operator(f"_random_{name}").prop(shape=(2,), **params)


def test_wrong_types_are_refused():
    with pytest.raises(ValueError, match="'dtype' takes one of 'bfloat16', 'float16'"):
        get_operator("_random_uniform").prop(shape=(2,), dtype="int32")
    with pytest.raises(ValueError, match="'dtype' takes one of 'int32', 'int64'"):
        get_operator("_random_randint").prop(low=0, high=2, dtype="float32")
    with pytest.raises(ValueError, match="does not fit int32"):
        draw("_random_randint", low=0, high=2**40, shape=(2,))
    with pytest.raises(ValueError, match="data is int32"):
        draw("_random_uniform_like", [np.zeros(3, "int32")])


def test_invalid_array_parameters_give_nan():
    with np.errstate(all="ignore"):
        out = draw("_sample_gamma", [np.array([-1.0, 1]), np.array([1.0, 1])])
    assert np.isnan(out[0]) and not np.isnan(out[1])


def test_shape_inference_both_ways():
    prop = get_operator("_random_normal").prop()
    assert prop.infer_shape([], [(2, 3)])[1] == [(2, 3)]
    assert prop.infer_shape([], [None])[1] == [None]
    prop = get_operator("_sample_normal").prop(shape=(4,))
    assert prop.infer_shape([None, None], [(2, 4)]) == ([(2,), (2,)], [(2, 4)], [])
    assert prop.infer_shape([(2,), None], [None]) == ([(2,), (2,)], [(2, 4)], [])
    with pytest.raises(ValueError, match="do not agree"):
        prop.infer_shape([(2,), (3,)], [None])


@pytest.mark.parametrize(
    "alias, name",
    [
        ("uniform", "_random_uniform"),
        ("random_uniform", "_random_uniform"),
        ("normal", "_random_normal"),
        ("random_randint", "_random_randint"),
        ("sample_gamma", "_sample_gamma"),
        ("sample_multinomial", "_sample_multinomial"),
        ("shuffle", "_shuffle"),
    ],
)
def test_aliases(alias, name):
    assert get_operator(alias) is get_operator(name)
