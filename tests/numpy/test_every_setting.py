"""Settings that many functions of mx.np and mx.npx take: each shows in the result or is refused."""

import inspect

import numpy as np
import pytest

import cynet as mx
from tests.numpy.test_every_function import given, table

SETTINGS = ("order", "ctx", "device", "dtype", "out", "casting", "subok", "where", "keepdims")
SETTINGS += ("initial", "like")
SPACES = ("np", "np.fft", "np.linalg", "np.random", "npx", "npx.image", "npx.random")
X = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], "float32")
WHOLE = np.array([[1, 2, 3], [4, 5, 6]], "int32")
ERRORS = (TypeError, ValueError, IndexError, mx.MXNetError)

# Arguments of functions that do not take X alone; a name without a dot is that of its kind.
TAKEN = {
    "np.random.beta": (2.0, 3.0),
    "np.random.choice": (5,),
    "np.random.f": (2.0, 3.0),
    "np.random.randint": (9,),
    "np.random.seed": (1,),
    "npx.random.seed": (1,),
    "npx.cast": (X,),
    "npx.embedding": (np.array([0, 1]), X),
    "npx.one_hot": (np.array([0, 1]), 3),
    "npx.pick": (X, np.array([0, 1])),
    "npx.reshape": (X, (3, 2)),
    "np.full": ((2, 3), 4.0),
    "np.full_like": (X, 4.0),
    "np.reshape": (X, (3, 2)),
    "np.ldexp": (X, np.array([[1, 2, 3], [1, 2, 3]], "int32")),
    "np.linalg.matmul": (X, X.T),
    "np.linalg.multi_dot": ([X, X.T],),
    "np.linalg.vecdot": (X, X),
    "np.unravel_index": (np.array([1, 4]), (2, 3)),
    "np.ravel_multi_index": ([np.array([0, 1]), np.array([1, 1])], (2, 3)),
    "ndarray.astype": (X,),
    "ndarray.dot": (X, X.T),
    "ndarray.reshape": (X, (3, 2)),
    "ndarray.reshape_view": (X, (3, 2)),
    "ndarray.take": (X, np.array([0, 1])),
    "ndarray.to_device": (X,),
}
TAKEN |= {f"np.random.{n}": (2.0,) for n in ("chisquare", "gamma", "pareto", "power", "weibull")}
TAKEN |= {f"np.{name}": ((2, 3),) for name in ("empty", "ones", "zeros")}
TAKEN |= {f"np.{name}": (X, 1) for name in ("partition", "argpartition")}
IMAGE = np.arange(48, dtype="uint8").reshape(4, 4, 3)
PIXELS = {"adjust_lighting": ([0.1, 0.1, 0.1],), "crop": (0, 0, 2, 2), "resize": (2,)}
PIXELS |= {f"random_{n}": (0.5, 1.5) for n in ("brightness", "contrast", "hue", "saturation")}
PIXELS |= {"random_color_jitter": (0.1, 0.1, 0.1, 0.1), "normalize": (0.5, 0.5)}
BINARY_OF_WHOLE = ("bitwise_", "left_shift", "right_shift", "gcd", "lcm", "invert")


def functions():
    """(name, function) of all that is public and has one of the settings."""
    for space in SPACES:
        module = mx
        for part in space.split("."):
            module = getattr(module, part)
        for name in dir(module):
            value = getattr(module, name)
            if name[0] != "_" and callable(value) and not inspect.isclass(value):
                yield f"{space}.{name}", value
    for name in dir(mx.np.ndarray):
        value = inspect.getattr_static(mx.np.ndarray, name, None)
        routine = inspect.isroutine(getattr(value, "__func__", value))
        if name[0] != "_" and routine and hasattr(mx.np.ndarray, name):
            yield f"ndarray.{name}", getattr(mx.np.ndarray, name)


def parameters(value):
    try:
        return inspect.signature(value).parameters
    except ValueError:  # a compiled function of a NumPy that has no signatures for them
        return {}


def walk():
    return [
        (name, setting)
        for name, value in functions()
        for setting in SETTINGS
        if setting in parameters(value)
    ]


FUNCTIONS = dict(functions())
WALK = walk()


def arguments(name, setting):
    """(args, kwargs) of a call of the function that leaves the setting out."""
    space, _, last = name.rpartition(".")
    if name in TAKEN:
        args, kwargs = TAKEN[name], {}
    elif space == "npx.image":
        args = (IMAGE / np.float32(48) if last == "normalize" else IMAGE, *PIXELS.get(last, ()))
        kwargs = {}
        args = (args[0].transpose(2, 0, 1), *args[1:]) if last == "normalize" else args
    elif space == "np.random":
        args, kwargs = (), {}
    elif space == "np" and setting in ("where", "casting", "order", "subok"):
        count = len([p for p in inspect.signature(FUNCTIONS[name]).parameters if p in ("x1", "x2")])
        x = WHOLE if last.startswith(BINARY_OF_WHOLE) else X
        args, kwargs = (x, x + x) if count == 2 else (x,), {}
    elif space == "np" and last in table() and setting not in ("keepdims", "initial"):
        rows = list(table()[last])
        fit = [r for r in rows if all(each.size > 2 for each in r[0] if hasattr(each, "size"))]
        same = [r for r in fit if len({e.dtype for e in r[0] if hasattr(e, "dtype")}) < 2]
        floats = [r for r in same if any(getattr(e, "dtype", "") == "float32" for e in r[0])]
        args, kwargs = (floats or same or fit or rows)[0]
    else:
        args, kwargs = (X,), {}
    kwargs = {k: v for k, v in kwargs.items() if k != setting}
    return [given(each) for each in args], {k: given(v) for k, v in kwargs.items()}


def outcome(name, setting, *value, **more):
    """The first result of a call with the setting at a value, or its error."""
    args, kwargs = arguments(name, setting)
    if value:
        kwargs[setting] = value[0]
    try:
        with np.errstate(all="ignore"):
            found = FUNCTIONS[name](*args, **kwargs, **more)
    except ERRORS as error:
        return error
    return found[0] if isinstance(found, (tuple, list)) else found


def same(a, b):
    a, b = (each.asnumpy() if isinstance(each, mx.np.ndarray) else each for each in (a, b))
    return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")


def refused(found, name):
    return isinstance(found, ERRORS) and name in str(found)


# --- one check for each setting: None, or what is wrong -------------------------------------------
def order(name):
    if name in ("np.unravel_index", "np.ravel_multi_index"):
        args = TAKEN[name]
        wanted = getattr(np, name[3:])(*args, order="F")
        return same(outcome(name, "order", "F"), wanted[0] if wanted.__class__ is tuple else wanted)
    fields = name.rpartition(".")[2].endswith(("sort", "partition"))
    plain = {"dtype": "float32"} if name == "ndarray.astype" else {}
    kept = (None,) if fields else ("C", "K", "A", None)
    return all(refused(outcome(name, "order", w, **plain), "order") for w in ("F", "size")) and all(
        not isinstance(outcome(name, "order", word, **plain), Exception) for word in kept
    )


def device(name, setting="device"):
    if name.endswith("random.seed"):
        return outcome(name, setting, mx.cpu(0)) is None and refused(
            outcome(name, setting, "nonsense"), "nonsense"
        )
    if name == "np.from_dlpack":
        with pytest.raises(TypeError, match="device is None"):
            mx.np.from_dlpack(mx.np.ones(2), device=mx.cpu(1))
        return True
    if name == "ndarray.to_device":
        with pytest.raises(ValueError, match="nonsense"):
            mx.np.ones(2).to_device("nonsense")
        return mx.np.ones(2).to_device(mx.cpu(1)).context == mx.cpu(1)
    found, wrong = outcome(name, setting, mx.cpu(1)), outcome(name, setting, "nonsense")
    there = refused(found, setting) or getattr(found, "context", None) == mx.cpu(1)
    return there and refused(wrong, "nonsense")


def ctx(name):
    return device(name, "ctx")


def dtype(name):
    if name == "npx.embedding":  # the result has the weight's, whatever is said of it, as in MXNet
        weight = mx.np.ones((3, 2), dtype="float64")
        return mx.npx.embedding(mx.np.array([0]), weight, dtype="float32").dtype == "float64"

    def shown(kind):
        found = outcome(name, "dtype", kind)
        if isinstance(found, Exception):
            return "dtype" in str(found) or kind in str(found)
        return np.dtype(found.dtype) == kind

    return all(map(shown, ("float64", "float32", "float16", "int32", "int64"))) and isinstance(
        outcome(name, "dtype", "nonsense"), ERRORS
    )


def out(name):
    plain = outcome(name, "out")
    room = mx.np.zeros(plain.shape, dtype=plain.dtype)
    found = outcome(name, "out", room)
    if refused(found, "out"):
        return True
    alike = "random" in name or same(room, plain)
    wide = mx.np.zeros((*plain.shape, 7), dtype=plain.dtype)
    return found is room and alike and isinstance(outcome(name, "out", wide), ERRORS)


def casting(name):
    """What each of NumPy's rules lets a result, which is written to bools, or float16, become."""
    if name == "np.can_cast":
        return all(
            mx.np.can_cast("float32", "int8", rule) == np.can_cast("float32", "int8", rule)
            for rule in ("no", "safe", "same_kind", "unsafe")
        )
    if name == "ndarray.astype":
        return all(
            isinstance(outcome(name, "casting", rule, dtype="int32"), ERRORS)
            == (not np.can_cast("float32", "int32", rule))
            for rule in ("no", "safe", "same_kind", "unsafe")
        )
    plain = outcome(name, "casting")
    for rule in ("no", "equiv", "safe", "same_kind", "unsafe"):
        for kind in ("bool", "float16", "float64", "int8"):
            room = mx.np.zeros(plain.shape, dtype=kind)
            found = outcome(name, "casting", rule, out=room)
            if np.can_cast(plain.dtype, kind, rule):
                if found is not room or not same(room, plain.asnumpy().astype(kind)):
                    return False
            elif not refused(found, kind):
                return False
    return refused(outcome(name, "casting", "nonsense"), "nonsense")


def subok(name):
    """No array is of a subclass, whatever is asked for."""
    more = {"dtype": "float32"} if name == "ndarray.astype" else {}
    more = {"shape": (2, 3)} if name == "np.broadcast_to" else more
    return all(
        type(outcome(name, "subok", each, **more)) is mx.np.ndarray for each in (True, False)
    )


def where(name):
    if {"x", "x1"} & set(inspect.signature(FUNCTIONS[name]).parameters):
        mask, plain = np.array([[True, False, True], [False, True, False]]), outcome(name, "where")
        for fill in (0, 1):
            room = mx.np.full(plain.shape, fill, dtype=plain.dtype)
            wanted = np.where(mask, plain.asnumpy(), np.asarray(fill).astype(plain.dtype))
            if outcome(name, "where", given(mask), out=room) is not room or not same(room, wanted):
                return False
        return isinstance(outcome(name, "where", "nonsense"), ERRORS)
    more = {"initial": -9.0} if "max" in name else {"initial": 9.0} if "min" in name else {}
    x = (
        np.array([[0.0, 2, 3], [4, 5, 6]], "float32")
        if name[3:] in ("all", "any", "alltrue")
        else X
    )
    mask = np.array([[False, True, True], [True, False, False]])
    named = {"product": "prod", "sometrue": "any", "alltrue": "all"}.get(name[3:], name[3:])
    wanted = getattr(np, named)(x, where=mask, **more)
    found = FUNCTIONS[name](given(x), where=given(mask), **more)
    return np.allclose(found.asnumpy(), wanted, 1e-4)


def keepdims(name):
    more = {"q": 0.5} if name.endswith(("quantile", "percentile")) else {}
    kept, plain = (outcome(name, "keepdims", each, **more) for each in (True, False))
    if name == "npx.pick":
        return (kept.shape, plain.shape) == ((2, 1), (2,))
    return kept.ndim == 2 and np.ndim(plain) == 0 and same(kept.reshape(()), plain)


def initial(name):
    plain, base = outcome(name, "initial").item(), name.rpartition(".")[2]
    found = [outcome(name, "initial", each).item() for each in (1000.0, -1000.0)]
    wanted = {
        "sum": [plain + 1000, plain - 1000],
        "pro": [plain * 1000, plain * -1000],
        "max": [1000, plain],
        "min": [plain, -1000],
    }[base.removeprefix("nan").removeprefix("a")[:3]]
    return np.allclose(found, wanted, 1e-4) and isinstance(
        outcome(name, "initial", "nonsense"), ERRORS
    )


CHECKS = {
    "order": order,
    "ctx": ctx,
    "device": device,
    "dtype": dtype,
    "out": out,
    "casting": casting,
    "subok": subok,
    "where": where,
    "keepdims": keepdims,
    "initial": initial,
}


@pytest.mark.parametrize("setting", sorted(CHECKS))
@pytest.mark.filterwarnings("ignore")
def test_a_setting_is_honoured_or_refused(setting):
    names = [name for name, each in WALK if each == setting]
    faults = []
    for name in names:
        try:
            if not CHECKS[setting](name):
                faults.append(name)
        except Exception as error:
            faults.append(f"{name} ({type(error).__name__}: {error})")
    assert not faults, f"{setting}: {len(faults)} of {len(names)}\n" + "\n".join(faults)


def test_the_walk_counts():
    counts = {setting: sum(each == setting for _, each in WALK) for setting in SETTINGS}
    print(counts)
    assert set(counts) - set(CHECKS) == {"like"} and not counts["like"]
    assert counts["order"] >= 119 and counts["dtype"] >= 160 and counts["out"] >= 240
    assert len(WALK) >= 900
