"""Every public function of mx.sym.np and mx.sym.npx, bound: shapes, dtypes and values are those of
mx.np and of NumPy, after a round trip through JSON as well. F.np in hybrid_forward, and its export.
"""

import types

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import CynetError
from tests.numpy.test_every_function import OLD, TABLE, compare, given, names_in, table
from tests.numpy.test_every_graph import ASIDE, CALLS, REFUSED, apart, put
from tests.numpy.test_gradients import every_name, listed
from tests.numpy.test_symbols import NAMES

DTYPES = {"bool", "int32", "int64", "float32", "float64"}
FUNCTION = "is given a Python function, of which a node has no word"
COUNT = "how many arrays it gives depends on a shape"
REASONS = {
    **listed(FUNCTION, "np.apply_along_axis np.apply_over_axes"),
    **listed(
        "says something of dtypes, shapes and memory, takes no symbol",
        "np.broadcast_shapes np.can_cast np.min_scalar_type np.promote_types np.shares_memory "
        "np.may_share_memory",
    ),
    **listed(COUNT, "np.unstack np.histogramdd"),
    "npx.roi_pooling": "its row asks for the dtype of an array",
    "npx.batch_norm": "writes its running averages, which are variables: test_layers_of_symbols",
    "np.intersect1d": "its row detaches an array; values of another shape, as of np.union1d",
    "np.diag_indices_from": "one array of MXNet's operator, whose rows are the places",
}
WALKED = sorted({*(f"np.{name}" for name in TABLE), *CALLS} - {*ASIDE, *REASONS})
BOXES = ("npx.multibox_prior", "npx.multibox_target", "npx.multibox_detection")  # of float32 alone


@pytest.fixture(autouse=True)
def semantics():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def test_every_name_is_walked_or_has_a_reason():
    assert not {*WALKED} & {*ASIDE, *REASONS}
    assert every_name() == {*WALKED, *ASIDE, *REASONS}
    assert len({*WALKED} - {*REFUSED}) >= 365


class Face:
    """What a row calls ``mx`` in, with functions of symbols."""

    np, npx, random = mx.sym.np, mx.sym.npx, mx.random


def of_symbols(run, face, name):
    """The row's function with the functions of a face."""
    if run.__name__ != "<lambda>":
        for word in name.split("."):
            face = getattr(face, word)
        return face
    short = {"N": face.np, "L": face.np.linalg, "R": face.np.random, "X": face.npx}
    names = {**run.__globals__, "mx": face, **short}
    return types.FunctionType(run.__code__, names, "row", run.__defaults__, run.__closure__)


def rows_of(name, most=24):
    """(function of a face and arrays, arrays, call of NumPy or None) of some rows."""
    if name in CALLS:
        run, *values = CALLS[name]
        for dtype in ("float32", "float64")[: 1 if name in BOXES else 2]:
            arrays = [np.asarray(each, dtype) for each in values]
            yield lambda face, *x: of_symbols(run, face, name)(*x), arrays, None
        return
    word = name[3:]
    rows = [row for row in table()[word] if apart(row[0])[1]]
    rows = [row for row in rows if {*names_in(row[0])} <= DTYPES] or rows
    for args, kwargs in rows[:: max(1, len(rows) // most)]:
        words = [key for key, value in kwargs.items() if isinstance(value, np.ndarray)]
        places, arrays = apart((*args, *(kwargs[key] for key in words)))
        plain = {key: value for key, value in kwargs.items() if key not in words}

        def run(face, *x, places=places, words=words, plain=plain):
            filled = [put(each, x) for each in places]
            count = len(places) - len(words)
            more = dict(zip(words, filled[count:]))
            return getattr(face.np, word)(*filled[:count], **more, **plain)

        own = {"axis": 0} if word == "msort" else kwargs
        host = getattr(np, OLD.get(word, word), None)
        yield run, arrays, host and (lambda host=host, args=args, own=own: host(*args, **own))


def flat(value):
    return (
        [e for each in value for e in flat(each)] if isinstance(value, (list, tuple)) else [value]
    )


def alike(found, expected):
    assert (found.shape, np.dtype(found.dtype)) == (expected.shape, expected.dtype)
    a, b = (each.asnumpy().astype("float64") for each in (found, expected))
    np.testing.assert_allclose(a, b, 2e-5, 2e-5)


def variables(arrays):
    return [mx.sym.var(f"x{i}").as_np_ndarray() for i in range(len(arrays))]


def outputs_of(symbol, arrays):
    """Outputs of a bound symbol; what inference says of them alone is checked."""
    names = {f"x{i}": given(each) for i, each in enumerate(arrays)}
    names = {name: each for name, each in names.items() if name in symbol.list_arguments()}
    kinds = symbol.infer_type_partial(**{name: each.dtype for name, each in names.items()})[1]
    arrays = {name: each.as_nd_ndarray() for name, each in names.items()}
    mx.random.seed(3)
    found = symbol.bind(mx.cpu(), arrays).forward()
    assert symbol.infer_shape(**{k: v.shape for k, v in arrays.items()})[1] == [
        each.shape for each in found
    ]
    for kind, each in zip(kinds, found, strict=True):
        assert kind is None or np.dtype(kind) == each.dtype
    return [each.as_np_ndarray() for each in found]


@pytest.mark.parametrize("name", WALKED)
@pytest.mark.filterwarnings("ignore")
def test_a_bound_symbol_gives_what_the_call_gives(name):
    tried = 0
    for run, arrays, host in rows_of(name):
        mx.random.seed(3)
        expected = run(mx, *map(given, arrays))
        made = run(Face, *variables(arrays))
        several = isinstance(expected, (list, tuple))
        symbol = mx.sym.Group(made) if isinstance(made, (list, tuple)) else made
        if name in REFUSED or (name == "np.where" and several):
            with pytest.raises(CynetError, match=r"in a graph"):
                outputs_of(symbol, arrays)
            tried += 1
            continue
        assert isinstance(made, (list, tuple)) is several
        for each in (symbol, mx.sym.load_json(symbol.tojson())):
            found = outputs_of(each, arrays)
            for pair in zip(found, flat(expected), strict=True):
                alike(*pair)
            if host is not None:
                with np.errstate(all="ignore"):
                    compare(found if several else found[0], host(), [a.dtype.name for a in arrays])
        tried += 1
    assert tried


# --- the same in hybrid_forward, hybridized and exported ------------------------------------------
class Calls(mx.gluon.HybridBlock):
    """A Block that runs a row with the functions of F."""

    def __init__(self, run):
        super().__init__()
        self._run_it = run

    def hybrid_forward(self, F, *arrays):
        faced = types.SimpleNamespace(np=F.np, npx=F.npx, random=mx.random)
        return self._run_it(faced, *arrays)


@pytest.mark.parametrize("name", sorted({*WALKED} - {*REFUSED}))
@pytest.mark.filterwarnings("ignore")
def test_hybrid_forward_and_its_export(name, tmp_path):
    tried = 0
    for run, arrays, _ in rows_of(name, 5):
        inputs = [given(each) for each in arrays]
        mx.random.seed(3)
        expected = run(mx, *inputs)
        if name == "np.where" and isinstance(expected, (list, tuple)):
            continue
        expected = flat(expected)
        for hybridized in (False, True):
            net = Calls(run)
            if hybridized:
                net.hybridize()
            mx.random.seed(3)
            for pair in zip(flat(net(*inputs)), expected, strict=True):
                alike(*pair)
        if net._cached.why_no_graph() != "hybridize it and call it once":
            continue
        tried += 1
        if any(0 in each.shape for each in (*inputs, *expected)):
            continue  # in a file a length of 0 is one that is not known
        path = str(tmp_path / f"net{tried}")
        net.export(path)
        said = mx.sym.load(f"{path}-symbol.json").list_arguments()
        places = {"data" if len(inputs) == 1 else f"data{i}": x for i, x in enumerate(inputs)}
        names = [each for each in places if each in said]
        if not names:
            continue  # of shapes alone
        again = mx.gluon.SymbolBlock.imports(f"{path}-symbol.json", names, f"{path}-0000.params")
        mx.random.seed(3)
        for pair in zip(flat(again(*map(places.get, names))), expected, strict=True):
            alike(*pair)
    assert tried


# --- members of symbols ---------------------------------------------------------------------------
# What a member is given; of those that are not here nothing.
GIVEN = {
    **dict.fromkeys(("__add__", "__sub__", "__mul__", "__rsub__"), (2.5,)),
    **dict.fromkeys(("__truediv__", "__mod__", "__pow__", "__rpow__", "__rtruediv__"), (2,)),
    **dict.fromkeys(("__eq__", "__ne__", "__gt__", "__ge__", "__lt__", "__le__"), (2,)),
    **dict.fromkeys(("__rmod__", "__rmul__", "one_hot"), (7,)),
    **dict.fromkeys(("__getitem__", "argsort", "sort", "flip", "cumsum", "expand_dims"), (0,)),
    **dict.fromkeys(("repeat", "tile", "split_v2"), (2,)),
    "split": (1,),
    "astype": ("int32",),
    "reshape": (-1,),
    "swapaxes": (0, 1),
    "clip": (1, 2),
    "broadcast_to": ((4, 2, 3),),
    "slice": {"begin": (0,), "end": (1,)},
    "slice_axis": {"axis": 0, "begin": 0, "end": 1},
    "topk": {"k": 1, "axis": 0},
}
APART = {
    "T __deepcopy__ __doc__ __hash__ __iter__ __len__ __module__ __repr__ as_nd_ndarray "
    "as_np_ndarray name num_outputs": "says what the symbol is: test_the_classes, test_members",
    "__div__ __idiv__ __itruediv__ __rdiv__ __setitem__": "of Python 2, or writes: test_members",
    "broadcast_axes broadcast_like reshape_like slice_like dot take pick": "takes more arrays",
    "pad depth_to_space space_to_depth": "of four axes: test_members_of_several_arrays",
}
MEMBERS = sorted({*NAMES["members"]} - {name for names in APART for name in names.split()})


def own_member(name, array, args, kwargs):
    """What the array gives, or the function of its name, or mx.nd's, which np arrays have not."""
    if name == "sort":
        return mx.np.sort(array, *args)
    spaces = ((array, ()), (mx.np, (array,)), (mx.npx, (array,)), (array.as_nd_ndarray(), ()))
    for space, own in spaces:
        if hasattr(space, name):
            return getattr(space, name)(*own, *args, **kwargs)
    raise AttributeError(name)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_of_a_symbol(name):
    said = GIVEN.get(name, ())
    args, kwargs = (said, {}) if isinstance(said, tuple) else ((), said)
    tried = 0
    for dtype in sorted(DTYPES):
        for shape in ((), (0, 3), (2, 3)):
            x = (np.arange(int(np.prod(shape))) % 4 + 1).reshape(shape)
            x = (x / 8 if name in ("arcsin", "arccos", "arctanh") else x).astype(dtype)
            array = given(np.asarray(x))
            try:
                expected = flat(own_member(name, array, args, kwargs))
                [each.asnumpy() for each in expected]
            except (CynetError, ValueError, TypeError, IndexError, AttributeError):
                continue
            if name.endswith("softmax") and not shape:
                continue  # the operator's axis is one of the array's
            made = getattr(mx.sym.var("x0").as_np_ndarray(), name)(*args, **kwargs)
            symbol = mx.sym.Group(made) if isinstance(made, (list, tuple)) else made
            for each in (symbol, mx.sym.load_json(symbol.tojson())):
                found = each.bind(mx.cpu(), {"x0": array.as_nd_ndarray()}).forward()
                for pair in zip(found, expected, strict=True):
                    alike(pair[0], given(np.asarray(pair[1].asnumpy())))
            tried += 1
    assert tried >= 4


def test_members_of_several_arrays():
    x, y = variables("ab")
    a, b = np.arange(24, dtype="float32").reshape(2, 3, 4), np.array([1, 0], "int64")
    q = np.arange(16, dtype="float32").reshape(1, 4, 2, 2)
    rows = [
        (x.broadcast_like(y), (a[:, :1], a), np.broadcast_to(a[:, :1], a.shape)),
        (x.broadcast_axes(axis=1, size=3) + y.sum() * 0, (a[:, :1], b), a[:, [0, 0, 0]]),
        (x.reshape_like(y), (a, a.reshape(6, 4)), a.reshape(6, 4)),
        (x.slice_like(y, axes=(1,)), (a, a[:, :2]), a[:, :2]),
        (x.dot(y), (a[0], a[0].T.copy()), a[0] @ a[0].T),
        (x.take(y, axis=1), (a, b), a[:, b]),
        (x.pick(y, axis=-1), (a[0, :2], b), a[0, [0, 1], b]),
        (x.depth_to_space(2) + y.sum() * 0, (q, b), mx.nd.depth_to_space(mx.nd.array(q), 2)),
        (x.space_to_depth(2) + y.sum() * 0, (q, b), mx.nd.space_to_depth(mx.nd.array(q), 2)),
    ]
    for symbol, arrays, expected in rows:
        for each in (symbol, mx.sym.load_json(symbol.tojson())):
            (found,) = outputs_of(each, arrays)
            expected = expected.asnumpy() if isinstance(expected, mx.nd.NDArray) else expected
            np.testing.assert_allclose(found.asnumpy(), expected)


def test_layers_of_symbols():
    x, g, b, m, v = (mx.sym.var(name).as_np_ndarray() for name in "xgbmv")
    made = mx.sym.npx.batch_norm(x, g, b, m, v, fix_gamma=False)
    assert made.list_auxiliary_states() == ["m", "v"]
    arrays = {name: mx.nd.array([0.5, 2.0, 1.0]) for name in "gb"}
    states = {"m": mx.nd.zeros(3), "v": mx.nd.ones(3)}
    data = mx.nd.array(np.arange(6).reshape(2, 3))
    (found,) = made.bind(mx.cpu(), {"x": data, **arrays}, aux_states=states).forward()
    expected = data.asnumpy() / np.sqrt(1 + 1e-3) * [0.5, 2, 1] + [0.5, 2, 1]
    np.testing.assert_allclose(found.asnumpy(), expected, 1e-5)
    with pytest.raises(CynetError, match="'moving_mean' is written"):
        mx.sym.npx.batch_norm(x, g, b, mx.sym.np.zeros_like(g), v)
    w = mx.sym.var("w").as_np_ndarray()
    for layer in (
        mx.sym.npx.convolution,
        mx.sym.npx.deconvolution,
    ):  # without bias where none is given
        assert layer(x, w, kernel=(2, 2), num_filter=1).list_arguments() == ["x", "w"]
    assert mx.sym.npx.fully_connected(x, w).infer_shape(x=(2, 3), w=(4, 3))[1] == [(2, 4)]
    pooled = mx.sym.npx.roi_pooling(x, w, (2, 2), 1.0)
    assert pooled.infer_shape(x=(1, 2, 4, 4), w=(3, 5))[1] == [(3, 2, 2, 2)]
    places = mx.sym.np.diag_indices_from(x)
    found = places.bind(mx.cpu(), {"x": mx.nd.zeros((3, 3))}).forward()[0]
    assert found.asnumpy().tolist() == [[0, 1, 2]] * 2


def test_how_many_arrays_there_are_is_known():
    x = mx.sym.var("x").as_np_ndarray()
    for name, cure in (("unstack", "np.split"), ("histogramdd", "histogram2d")):
        with pytest.raises(CynetError, match=rf"mx\.sym\.np\.{name}: how many.*{cure}"):
            getattr(mx.sym.np, name)(x)
    with pytest.raises(CynetError, match="outputs are arrays, got 2"):
        mx.sym.np.ndim(x).infer_shape(x=(2, 3))


def test_random_orders_are_new_each_time():
    """As numbers that are drawn, also in a graph."""
    x = mx.np.arange(40.0)
    rows = (
        lambda F, a: F.np.random.permutation(a),
        lambda F, a: a + F.np.random.permutation(40),
        lambda F, a: F.np.random.choice(a, 20, replace=False),
        lambda F, a: a[:3] + F.np.random.multinomial(1000, a[:3] + 1),
    )
    for row in rows:
        net = Calls(row)
        net.hybridize()
        found = {tuple(net(x).tolist()) for _ in range(5)}
        assert net._cached.why_no_graph() == "hybridize it and call it once" and len(found) == 5
