"""Every public function of mx.np and mx.npx in a hybridized Block and as symbols: results of graphs
are those of calls. What has no graph is listed, each with its reason."""

import numpy as np
import pytest

import cynet as mx
from tests.numpy.test_every_function import TABLE, given, table
from tests.numpy.test_gradients import OTHERS, every_name, listed

VALUES = "the shape of its result depends on values"
PYTHON = "gives a Python object, not an array"
NOTHING = "takes no array"
OUTSIDE = "reads or writes files, memory of others or the state of a thread"

# Without a graph: a hybridized Block runs it operator by operator, with a warning that says why.
REFUSED = {
    **listed(
        VALUES,
        "np.argwhere np.bincount np.compress np.extract np.flatnonzero np.intersect1d np.nonzero "
        "np.polydiv np.polymul np.roots np.setdiff1d np.setxor1d np.trim_zeros np.union1d "
        "np.unique np.unique_all np.unique_counts np.unique_inverse np.unique_values npx.nonzero "
        "np.linalg.lstsq",
    ),
    **listed(
        PYTHON,
        "np.allclose np.array_equal np.array_equiv np.array_repr np.iscomplexobj np.isrealobj "
        "np.ndim np.shape np.size np.result_type np.can_cast np.promote_types "
        "np.min_scalar_type np.broadcast_shapes np.shares_memory np.may_share_memory",
    ),
}
# Nothing to trace.
ASIDE = {
    **listed(
        NOTHING,
        "np.arange np.bartlett np.blackman np.hamming np.hanning np.empty np.zeros np.ones np.full "
        "np.eye np.identity np.tri np.indices np.linspace np.logspace np.tril_indices "
        "np.triu_indices np.mirr np.npv np.ppmt np.pv np.rate np.random.rand np.random.randn "
        "np.random.random np.random.random_sample np.random.ranf np.random.standard_normal "
        "np.random.randint np.random.multinomial npx.constraint_check",
    ),
    **listed(
        OUTSIDE,
        "np.genfromtxt np.from_dlpack np.set_printoptions np.fill_diagonal np.random.shuffle "
        "np.random.seed npx.random.seed npx.load npx.save npx.savez npx.from_dlpack "
        "npx.from_numpy npx.to_dlpack_for_read npx.to_dlpack_for_write npx.waitall npx.set_np "
        "npx.reset_np npx.set_np_shape npx.use_np npx.use_np_array npx.use_np_shape "
        "npx.is_np_array npx.is_np_shape npx.cpu npx.cpu_pinned npx.gpu npx.gpu_memory_info "
        "npx.num_gpus npx.current_context npx.current_device",
    ),
    "np.trapz": "is np.trapezoid",
    "np.in1d": "np.isin in one axis, which is walked",
}
_BOXES = np.array([[[0.1, 0.1, 0.4, 0.4], [0.5, 0.5, 0.9, 0.8]]])
MORE = {
    "np.linalg.eig": (lambda a: [abs(e) for e in mx.np.linalg.eig(a)], np.diag([3.0, 1, 2])),
    "np.linalg.eigh": (lambda a: [abs(e) for e in mx.np.linalg.eigh(a)], np.diag([3.0, 1, 2])),
    "npx.nonzero": (mx.npx.nonzero, np.eye(2)),
    "np.linalg.matrix_rank": (mx.np.linalg.matrix_rank, np.eye(3)),
    "np.random.beta": (lambda a: mx.np.random.beta(a, 2.0), np.ones(3)),
    "np.random.chisquare": (mx.np.random.chisquare, np.ones(3) * 4),
    "np.random.f": (lambda a: mx.np.random.f(a, 3.0), np.ones(3) * 4),
    "npx.arange_like": (lambda a: mx.npx.arange_like(a, axis=1), np.ones((2, 3))),
    "npx.multibox_detection": (
        lambda p, o, a: mx.npx.multibox_detection(p, o, a),
        np.array([[[0.2, 0.6], [0.8, 0.4]]]),
        np.zeros((1, 8)),
        _BOXES,
    ),
    "npx.multibox_prior": (lambda a: mx.npx.multibox_prior(a, (0.5,)), np.ones((1, 3, 2, 2))),
    "npx.multibox_target": (
        lambda a, y, p: mx.npx.multibox_target(a, y, p),
        _BOXES,
        np.array([[[0, 0.1, 0.1, 0.4, 0.5]]]),
        np.ones((1, 2, 2)),
    ),
    "npx.one_hot": (lambda a: mx.npx.one_hot(a, 4), np.arange(3.0)),
    "npx.random.bernoulli": (mx.npx.random.bernoulli, np.ones(3) / 2),
    "npx.shape_array": (lambda a: mx.npx.shape_array(a) + a.sum().astype("int64"), np.ones((2, 3))),
    "npx.stop_gradient": (mx.npx.stop_gradient, np.ones(3)),
}
CALLS = OTHERS | MORE
WALKED = sorted({*(f"np.{name}" for name in TABLE), *CALLS} - {*ASIDE})


def test_every_function_is_walked_or_listed():
    assert not {*WALKED} & {*ASIDE} and {*REFUSED} <= {*WALKED}
    assert every_name() == {*WALKED, *ASIDE}
    assert len({*WALKED} - {*REFUSED}) >= 350


@pytest.fixture(autouse=True)
def semantics():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


class Calls(mx.gluon.HybridBlock):
    """A Block that runs a function."""

    def __init__(self, run):
        super().__init__()
        self._run_it = run

    def forward(self, *arrays):
        return self._run_it(*arrays)


def apart(args):
    """(arguments with arrays named by number, the arrays)."""
    arrays = []

    def named(value):
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return slice(len(arrays) - 1)
        return [named(e) for e in value] if isinstance(value, list) else value

    return [named(each) for each in args], arrays


def put(value, inputs):
    if isinstance(value, slice):
        return inputs[value.stop]
    return [put(e, inputs) for e in value] if isinstance(value, list) else value


def calls_of(name, most=8):
    """(function of arrays, the arrays) of some rows of the table."""
    if name in CALLS:
        run, *values = CALLS[name]
        yield run, [np.asarray(each, "float32") for each in values]
        return
    rows = [row for row in table()[name[3:]] if apart(row[0])[1]]
    for args, kwargs in rows[:: max(1, len(rows) // most)]:
        places, arrays = apart(args)
        own = {k: given(v) for k, v in kwargs.items()}
        run = getattr(mx.np, name[3:])
        yield (lambda *x, p=places, k=own, f=run: f(*(put(e, x) for e in p), **k)), arrays


def alike(found, expected):
    if isinstance(expected, (list, tuple)):
        assert isinstance(found, (list, tuple)) and len(found) == len(expected)
        for pair in zip(found, expected):
            alike(*pair)
    elif isinstance(expected, mx.np.ndarray):
        assert type(found) is mx.np.ndarray
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        loose = 4e-3 if expected.dtype == "float16" else 1e-5
        np.testing.assert_allclose(
            found.asnumpy().astype("float64"), expected.asnumpy().astype("float64"), loose, loose
        )
    else:
        assert found == expected


@pytest.mark.parametrize("name", WALKED)
@pytest.mark.filterwarnings("ignore")
def test_a_hybridized_block_gives_what_calls_give(name):
    tried = 0
    for run, arrays in calls_of(name):
        inputs = [given(each) for each in arrays]
        mx.random.seed(3)
        expected = run(*inputs)
        net = Calls(run)
        net.hybridize()
        mx.random.seed(3)
        found = net(*inputs)
        alike(found, expected)
        why = net._cached.why_no_graph()
        if name not in REFUSED:
            assert why == "hybridize it and call it once"
        elif REFUSED[name] is VALUES and why != "hybridize it and call it once":
            assert "in a graph: " in why and "mx.np" in why
        tried += 1
    assert tried or not any(apart(args)[1] for args, _ in table()[name[3:]])
