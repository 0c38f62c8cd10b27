"""Cases of updates of several weights, LAMB, AdamW, and what optimizers ask of many arrays."""

import numpy as np

from .case import Case, Input
from .update import clipped, master, sgd, sgd_mom

S, P = (3, 4), (5,)
POSITIVE = {s: Input(s, (0.2, 1.0)) for s in (S, P)}
FULL = {s: Input(s, (-1, 1), "float32") for s in (S, P)}
WIDE = {s: Input(s, (0.2, 1.0), "float32") for s in (S, P)}
COMMON = {"rescale_grad": 0.5, "clip_gradient": 0.2}
FLOATS = ("float32", "float64", "float16")


def each(rule, n_states, numbers, shared=0):
    """The rule on several weights: inputs in pairs, states behind, each with its numbers."""

    def reference(*arrays, **params):
        count = len(arrays[: len(arrays) - shared]) // (2 + n_states)
        pairs, rest = arrays[: 2 * count], arrays[2 * count + shared :]
        own, names = numbers(params, arrays[2 * count : 2 * count + shared])
        outs, after = [], []
        for i in range(count):
            states = rest[n_states * i : n_states * (i + 1)]
            found = rule(*pairs[2 * i : 2 * i + 2], *states, **own, **{k: v[i] for k, v in names})
            found = found if isinstance(found, tuple) else (found,)
            outs.append(found[0])
            after += found[1:]
        return (*outs, *after)

    return reference


def without(params, *names):
    return {k: v for k, v in params.items() if k not in names}


def of_lists(*names):
    """Numbers for each weight from lists among the parameters: ``lrs`` for ``lr``."""

    def numbers(params, shared):
        own = without(params, *names, "num_weights", "num_tensors")
        return own, [(name[:-1], params[name]) for name in names]

    return numbers


def of_arrays(params, shared):
    return without(params, "num_weights"), [("lr", shared[0]), ("wd", shared[1])]


STEPS = {"lrs": (0.1, 0.05), "wds": (0.01, 0.0), "num_weights": 2}
RATES = [
    Input((2,), np.array([0.1, 0.05], "float32"), "float32"),
    Input((2,), np.array([0.01, 0.0], "float32"), "float32"),
]


def multi_sgd():
    for name, rule, own, n in (("sgd", sgd, {}, 0), ("sgd_mom", sgd_mom, {"momentum": 0.9}, 1)):
        params = {**STEPS, **COMMON, **own}
        loaded = {"num_weights": 2, **COMMON, **own}
        half = [FULL[s] for s in (S, P) for _ in range(n + 1)]
        yield Case(
            f"multi_{name}_update",
            [S, S, P, P],
            each(rule, n, of_lists("lrs", "wds")),
            params,
            [S, P][: 2 * n],
            grad=False,
            back=(0, 1, 2, 3),
            dtypes=FLOATS,
        )
        yield Case(
            f"multi_{name}_update",
            [S, S],
            each(rule, n, of_lists("lrs", "wds")),
            {"lrs": (0.1,), "wds": (0.0,)},
            [S][:n],
            grad=False,
        )
        yield Case(
            f"multi_mp_{name}_update",
            [S, S, P, P],
            each(master(rule), n + 1, of_lists("lrs", "wds")),
            params,
            half,
            grad=False,
            dtypes=("float16",),
        )
        yield Case(
            f"preloaded_multi_{name}_update",
            [S, S, P, P, *RATES],
            each(rule, n, of_arrays, 2),
            loaded,
            [S, P][: 2 * n],
            grad=False,
            dtypes=FLOATS,
        )
        yield Case(
            f"preloaded_multi_mp_{name}_update",
            [S, S, P, P, *RATES],
            each(master(rule), n + 1, of_arrays, 2),
            loaded,
            half,
            grad=False,
            dtypes=("float16",),
        )


def moments(g, mean, var, beta1, beta2):
    return beta1 * mean + (1 - beta1) * g, beta2 * var + (1 - beta2) * g * g


def adamw_rule(
    w,
    g,
    mean,
    var,
    lr,
    eta,
    rescale,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    wd=0.0,
    clip_gradient=-1.0,
):
    if rescale == 0 or not np.isfinite(rescale):
        return w, mean, var
    g = clipped(float(rescale) * g, clip_gradient)
    mean, var = moments(g, mean, var, beta1, beta2)
    return w - eta * (lr * mean / (np.sqrt(var) + epsilon) + wd * w), mean, var


def adamw(w, g, rescale, *states, **params):
    return adamw_rule(w, g, *states, rescale=rescale[0], **params)


def mp_adamw(w, g, rescale, mean, var, w32, **params):
    new = adamw_rule(w32, g.astype("float32"), mean, var, rescale=rescale[0], **params)
    return (new[0].astype("float16"), *new[1:], new[0])


def of_adamw(params, shared):
    own = without(params, "lrs", "wds", "etas", "num_weights")
    return {**own, "rescale": shared[0][0]}, [(n[:-1], params[n]) for n in ("lrs", "wds", "etas")]


def factor(value):
    return Input((1,), np.array([value], "float32"), "float32")


def adamws():
    params = {"lr": 0.1, "eta": 0.5, "wd": 0.1, "beta1": 0.8, "epsilon": 1e-5, "clip_gradient": 0.2}
    for value in (0.5, 0.0, np.inf):
        yield Case(
            "_adamw_update",
            [S, S, factor(value)],
            adamw,
            params,
            [S, POSITIVE[S]],
            grad=False,
            dtypes=FLOATS,
            note=str(value),
        )
    yield Case(
        "_adamw_update",
        [S, S, factor(1)],
        adamw,
        {"lr": 0.1, "eta": 1},
        [S, POSITIVE[S]],
        grad=False,
        note="defaults",
    )
    yield Case(
        "_mp_adamw_update",
        [S, S, factor(0.5)],
        mp_adamw,
        params,
        [FULL[S], WIDE[S], FULL[S]],
        grad=False,
        dtypes=("float16",),
    )
    many = {**STEPS, "etas": (1.0, 0.5), "beta1": 0.8, "clip_gradient": 0.2}
    yield Case(
        "_multi_adamw_update",
        [S, S, P, P, factor(0.5)],
        each(adamw_rule, 2, of_adamw, 1),
        many,
        [S, POSITIVE[S], P, POSITIVE[P]],
        grad=False,
        dtypes=FLOATS,
    )
    yield Case(
        "_multi_mp_adamw_update",
        [S, S, P, P, factor(0.5)],
        each(master(adamw_rule), 3, of_adamw, 1),
        many,
        [x[s] for s in (S, P) for x in (FULL, WIDE, FULL)],
        grad=False,
        dtypes=("float16",),
    )


def phase1(
    w,
    g,
    mean,
    var,
    t,
    wd,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-6,
    bias_correction=True,
    rescale_grad=1.0,
    clip_gradient=-1.0,
):
    mean, var = moments(clipped(rescale_grad * g, clip_gradient), mean, var, beta1, beta2)
    first, second = (1 - beta1**t, 1 - beta2**t) if bias_correction else (1, 1)
    return mean / first / (np.sqrt(var / second) + epsilon) + wd * w, mean, var


def mp_phase1(w, g, w32, mean, var, **params):
    return phase1(w32, g.astype("float32"), mean, var, **params)


def phase2(w, g, r1, r2, lr, lower_bound=-1.0, upper_bound=-1.0):
    length, size = float(np.ravel(r1)[0]), float(np.ravel(r2)[0])
    length = max(length, lower_bound) if lower_bound >= 0 else length
    length = min(length, upper_bound) if upper_bound >= 0 else length
    return w - lr * (length / size if length and size else 1) * g


def mp_phase2(w, g, r1, r2, w32, **params):
    new = phase2(w32, g, r1, r2, **params)
    return new.astype("float16"), new


def lamb(w, g, mean, var, learning_rate, wd, step_coun, lower_bound=-1.0, upper_bound=-1.0, **own):
    step, mean, var = phase1(w, g, mean, var, step_coun, wd, **own)
    norms = np.linalg.norm(w.astype("float64")), np.linalg.norm(step.astype("float64"))
    new = phase2(w, step.astype(w.dtype), *norms, learning_rate, lower_bound, upper_bound)
    return new, mean, var


def lambs():
    params = {"t": 3, "wd": 0.1, "beta1": 0.8, **COMMON}
    states, wide = [S, POSITIVE[S]], [FULL[S], WIDE[S]]
    for more in (params, {"t": 1, "wd": 0.0, "bias_correction": False}):
        yield Case(
            "lamb_update_phase1",
            [S, S],
            phase1,
            more,
            states,
            grad=False,
            back=(0, 1),
            dtypes=FLOATS,
        )
        yield Case(
            "mp_lamb_update_phase1",
            [S, S, FULL[S]],
            mp_phase1,
            more,
            wide,
            grad=False,
            dtypes=("float16",),
        )
    norm = Input((1,), (0.5, 2.0), "float32")
    for more in ({"lr": 0.1}, {"lr": 0.1, "lower_bound": 3.0}, {"lr": 0.1, "upper_bound": 0.1}):
        yield Case(
            "lamb_update_phase2",
            [S, S, norm, norm],
            phase2,
            more,
            grad=False,
            dtypes=FLOATS,
            back=(0, 1),
        )
        yield Case(
            "mp_lamb_update_phase2",
            [S, FULL[S], norm, norm],
            mp_phase2,
            more,
            [FULL[S]],
            grad=False,
            dtypes=("float16",),
        )
    steps = {"learning_rates": (0.1, 0.05), "wds": (0.01, 0.0), "step_count": (1, 3)}
    lists = of_lists(*steps)
    for more in ({}, {**COMMON, "lower_bound": 1.0, "upper_bound": 2.0, "bias_correction": False}):
        yield Case(
            "_multi_lamb_update",
            [S, S, P, P],
            each(lamb, 2, lists),
            {**steps, "num_tensors": 2, **more},
            [S, POSITIVE[S], P, POSITIVE[P]],
            grad=False,
            dtypes=FLOATS,
        )
        yield Case(
            "_multi_mp_lamb_update",
            [S, S, P, P],
            each(master(lamb), 3, lists),
            {**steps, "num_tensors": 2, **more},
            [x[s] for s in (S, P) for x in (FULL, WIDE, FULL)],
            grad=False,
            dtypes=("float16",),
        )


def group_adagrad(w, g, history, lr, rescale_grad=1.0, clip_gradient=-1.0, epsilon=1e-5):
    g = clipped(rescale_grad * g, clip_gradient)
    mean = np.mean(g * g, axis=tuple(range(1, g.ndim)), keepdims=True)
    history = history + mean.astype(history.dtype)
    return w - lr * g / np.sqrt(history + epsilon), history


def adafactor(
    w,
    g,
    *states,
    lr,
    share,
    decay=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    epsilon=1e-30,
    min_scale=-1.0,
    clip_threshold=1.0,
):
    """Algorithms 4 and 5 of Shazeer and Stern, with one root mean square of weight and step."""
    g = clipped(rescale_grad * g, clip_gradient)
    squares = (g * g + epsilon).reshape(len(g), -1)
    if len(states) == 2:
        rows = states[0] + share * (squares.mean(axis=1, keepdims=True) - states[0])
        columns = states[1] + share * (squares.mean(axis=0, keepdims=True) - states[1])
        states, mean = (rows, columns), rows * columns / rows.mean()
    else:
        mean = states[0] + share * (squares.reshape(g.shape) - states[0])
        states = (mean,)
    step = g / np.sqrt(mean).reshape(g.shape)
    step = step / max(1, np.sqrt(np.mean(step**2)) / clip_threshold)
    scale = 1 if min_scale < 0 else max(min_scale, np.sqrt(np.mean(w**2)))
    return w * (1 - decay) - lr * scale * step, *states


def finite(*arrays, init_output=True, num_arrays=0):
    return np.array([all(np.isfinite(x).all() for x in arrays)], "float32")


def sum_squares(*arrays, num_arrays):
    return np.array([np.sum(x.astype("float64") ** 2) for x in arrays]).astype("float32")


def lars(lrs, weights, grads, wds, eta, eps, rescale_grad=1.0):
    length, slope = np.sqrt(weights), np.sqrt(grads) * rescale_grad
    rate = lrs * eta * length / (slope + wds * length + eps)
    return np.where((length > 0) & (slope > 0), rate, lrs)


def spoilt(rng, shape):
    values = rng.uniform(-1, 1, shape)
    values.flat[-1] = np.nan
    return values


def arrays():
    for domain in ((-1, 1), spoilt):
        yield Case(
            "all_finite",
            [Input(S, domain)],
            finite,
            grad=False,
            dtypes=FLOATS,
            exact=True,
            note=getattr(domain, "__name__", ""),
        )
        yield Case(
            "multi_all_finite",
            [Input(P), Input(S, domain)],
            finite,
            {"num_arrays": 2},
            grad=False,
            dtypes=FLOATS,
            exact=True,
            note=getattr(domain, "__name__", ""),
        )
    yield Case(
        "multi_sum_sq",
        [S, P, (1,)],
        sum_squares,
        {"num_arrays": 3},
        grad=False,
        dtypes=FLOATS,
        tolerance=dict.fromkeys(FLOATS, (1e-5, 1e-6)),
    )
    for more in ({"eta": 0.1, "eps": 1e-3}, {"eta": 0.1, "eps": 0, "rescale_grad": 0.5}):
        yield Case(
            "multi_lars",
            [POSITIVE[P]] * 4,
            lars,
            more,
            grad=False,
            dtypes=("float32",),
            back=(0, 1, 2, 3),
            infers=(1, 2, 3),
        )
    for shape, more in ((S, {}), (S, COMMON), ((3, 2, 2), {"epsilon": 0.1})):
        history = Input((shape[0], *(1 for _ in shape[1:])), (0.2, 1.0))
        yield Case(
            "_contrib_group_adagrad_update",
            [shape, shape],
            group_adagrad,
            {"lr": 0.1, **more},
            [history],
            grad=False,
            dtypes=FLOATS,
            back=(0, 1),
            infers=(1,),
        )


def adafactors():
    """Of one tile and less, of several along each axis, and of vectors; states of half weights are
    float32."""
    limits = {"rescale_grad": 0.5, "clip_gradient": 0.2, "epsilon": 1e-3, "clip_threshold": 0.5}
    scaled = {"min_scale": 0.1, "decay": 0.1}
    for shape, more in (
        (S, {}),
        ((3, 2, 2), limits),
        ((40, 3), scaled),
        ((2, 1100), scaled),
        ((2, 2, 1), {**limits, "min_scale": 2.0}),
        ((7,), {}),
        ((5000,), {**limits, **scaled}),
    ):
        name, states = "_adafactor_vector_update", [shape]
        if len(shape) > 1:
            name, states = "_adafactor_update", [(shape[0], 1), (1, int(np.prod(shape[1:])))]
        for kind, dtypes in ((None, ("float64",)), ("float32", ("float32", "float16"))):
            yield Case(
                name,
                [shape, shape],
                adafactor,
                {"lr": 0.1, "share": 0.3, **more},
                [Input(s, (0.2, 1.0), kind) for s in states],
                grad=False,
                dtypes=dtypes,
                note=kind or "",
                back=(0, 1),
                infers=(1,),
            )


CASES = [*adafactors(), *multi_sgd(), *adamws(), *lambs(), *arrays()]
EXCEPTIONS = {"reset_arrays": "no output; tests/operator/test_update.py"}
