"""Cases of the optimizers' update operators."""

import numpy as np

from .case import Case, Input

S = (3, 4)
COMMON = {"lr": 0.1, "wd": 0.01, "rescale_grad": 0.5, "clip_gradient": 0.2}


def clipped(x, bound):
    return np.clip(x, -bound, bound) if bound >= 0 else x


def decayed(w, g, wd, rescale_grad, clip):
    """Clipped gradient, then weight decay: the SGD family."""
    return clipped(rescale_grad * g, clip) + wd * w


def joint(w, g, wd, rescale_grad, clip):
    """Weight decay, then clipped: the Adam family."""
    return clipped(rescale_grad * g + wd * w, clip)


def sgd(w, g, lr, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0):
    return w - lr * decayed(w, g, wd, rescale_grad, clip_gradient)


def sgd_mom(w, g, mom, lr, momentum=0.0, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0):
    mom = momentum * mom - lr * decayed(w, g, wd, rescale_grad, clip_gradient)
    return w + mom, mom


def nag_mom(w, g, mom, lr, momentum=0.0, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0):
    step = lr * decayed(w, g, wd, rescale_grad, clip_gradient)
    mom = momentum * mom - step
    return w + momentum * mom - step, mom


def signsgd(w, g, lr, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0):
    return (1 - lr * wd) * w - lr * np.sign(g)


def signum(w, g, mom, lr, momentum=0.0, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0, wd_lh=0.0):
    mom = momentum * mom - (1 - momentum) * (wd * w + clipped(rescale_grad * g, clip_gradient))
    return (1 - lr * wd_lh) * w + lr * np.sign(mom), mom


def adam(
    w,
    g,
    mean,
    var,
    lr,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
):
    g = joint(w, g, wd, rescale_grad, clip_gradient)
    mean, var = beta1 * mean + (1 - beta1) * g, beta2 * var + (1 - beta2) * g * g
    return w - lr * mean / (np.sqrt(var) + epsilon), mean, var


def adagrad(w, g, history, lr, epsilon=1e-7, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0):
    g = clipped(rescale_grad * g, clip_gradient)
    history = history + g * g
    return w - lr * (g / np.sqrt(history + epsilon) + wd * w), history


def rmsprop(
    w,
    g,
    n,
    lr,
    gamma1=0.95,
    epsilon=1e-8,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    clip_weights=-1.0,
):
    g = joint(w, g, wd, rescale_grad, clip_gradient)
    n = gamma1 * n + (1 - gamma1) * g * g
    return clipped(w - lr * g / np.sqrt(n + epsilon), clip_weights), n


def rmspropalex(
    w,
    g,
    n,
    mean,
    delta,
    lr,
    gamma1=0.95,
    gamma2=0.9,
    epsilon=1e-8,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    clip_weights=-1.0,
):
    g = joint(w, g, wd, rescale_grad, clip_gradient)
    n = gamma1 * n + (1 - gamma1) * g * g
    mean = gamma1 * mean + (1 - gamma1) * g
    delta = gamma2 * delta - lr * g / np.sqrt(n - mean * mean + epsilon)
    return clipped(w + delta, clip_weights), n, mean, delta


def ftrl(w, g, z, n, lr, lamda1=0.01, beta=1.0, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0):
    g = clipped(rescale_grad * g, clip_gradient)
    z = z + g - (np.sqrt(n + g * g) - np.sqrt(n)) * w / lr
    n = n + g * g
    w = (np.sign(z) * lamda1 - z) / ((beta + np.sqrt(n)) / lr + wd) * (np.abs(z) > lamda1)
    return w, z, n


def ftml(
    w,
    g,
    d,
    v,
    z,
    lr,
    t,
    beta1=0.6,
    beta2=0.999,
    epsilon=1e-8,
    wd=0.0,
    rescale_grad=1.0,
    clip_grad=-1.0,
):
    g = joint(w, g, wd, rescale_grad, clip_grad)
    v = beta2 * v + (1 - beta2) * g * g
    new = (1 - beta1**t) / lr * (np.sqrt(v / (1 - beta2**t)) + epsilon)
    z = beta1 * z + (1 - beta1) * g - (new - beta1 * d) * w
    return -z / new, new, v, z


POSITIVE = Input(S, (0.2, 1.0))
# operator, reference, states, parameters beyond the common ones
ROWS = [
    ("sgd_update", sgd, [], {}),
    ("sgd_mom_update", sgd_mom, [S], {"momentum": 0.9}),
    ("nag_mom_update", nag_mom, [S], {"momentum": 0.9}),
    ("signsgd_update", signsgd, [], {}),
    ("signum_update", signum, [S], {"momentum": 0.9, "wd_lh": 0.02}),
    ("_sparse_adagrad_update", adagrad, [POSITIVE], {"epsilon": 1e-5}),
    ("adam_update", adam, [S, POSITIVE], {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-6}),
    ("rmsprop_update", rmsprop, [POSITIVE], {"gamma1": 0.9, "clip_weights": 0.8}),
    (
        "rmspropalex_update",
        rmspropalex,
        [Input(S, (1.0, 2.0)), Input(S, (0.0, 0.3)), S],
        {"gamma1": 0.9},
    ),
    ("ftrl_update", ftrl, [S, POSITIVE], {"lamda1": 0.3}),
]


def updates():
    for op, rule, states, more in ROWS:
        params = {**COMMON, **more}
        yield Case(
            op,
            [S, S],
            rule,
            params,
            states,
            grad=False,
            back=(0, 1),
            infers=(1,),
            dtypes=("float32", "float64", "float16"),
        )
        yield Case(op, [S, S], rule, {"lr": 0.05}, states, grad=False, note="defaults")
    params = {k: v for k, v in COMMON.items() if k != "clip_gradient"}
    yield Case(
        "ftml_update",
        [S, S],
        ftml,
        {**params, "clip_grad": 0.2, "t": 3},
        [POSITIVE, POSITIVE, S],
        grad=False,
    )


def master(rule):
    """The same rule on the float32 master, which is the last state."""

    def reference(w, g, *states, **params):
        *states, w32 = states
        found = rule(w32, g.astype("float32"), *states, **params)
        found = found if isinstance(found, tuple) else (found,)
        return (found[0].astype("float16"), *found[1:], found[0])

    return reference


def masters():
    full = Input(S, (-1, 1), "float32")
    for op, rule, states in (("sgd", sgd, 0), ("sgd_mom", sgd_mom, 1), ("nag_mom", nag_mom, 1)):
        more = {"momentum": 0.9} if states else {}
        yield Case(
            f"mp_{op}_update",
            [S, S],
            master(rule),
            {**COMMON, **more},
            [full] * (states + 1),
            grad=False,
            dtypes=("float16",),
        )


CASES = [*updates(), *masters()]
