"""Times operators of PyTorch for operators.py, under MXNet's names: asked as sweep_worker.py is."""

import operator

import numpy as np
import torch
from sweep_worker import main, plain
from torch.nn import functional as F


def _same(names):
    return {name: getattr(torch, name) for name in names.split()}


def _axis(function):
    """A reduction with MXNet's `axis` and `keepdims`."""

    def call(x, axis=None, keepdims=False, **_):
        axis = tuple(range(x.ndim)) if axis is None or axis == () else axis
        return function(x, axis, keepdims)

    return call


def _conv(x, weight, bias=None, *, kernel, stride=1, dilate=1, pad=0, num_group=1, **_):
    functions = (F.conv1d, F.conv2d, F.conv3d)
    return functions[len(kernel) - 1](
        x, weight, bias, stride or 1, pad or 0, dilate or 1, num_group
    )


def _deconv(x, weight, bias=None, *, kernel, stride=1, pad=0, num_group=1, **_):
    functions = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)
    return functions[len(kernel) - 1](x, weight, bias, stride or 1, pad or 0, 0, num_group)


def _pool(x, kernel=(), stride=(), pad=(), pool_type="max", global_pool=False, **_):
    if global_pool:
        return F.adaptive_max_pool2d(x, 1) if pool_type == "max" else F.adaptive_avg_pool2d(x, 1)
    pool = F.max_pool2d if pool_type == "max" else F.avg_pool2d
    return pool(x, kernel, stride or 1, pad or 0)


def _norm_layer(x, gamma, beta, *states, **_):
    return F.batch_norm(x, states[0].clone(), states[1].clone(), gamma, beta, True)


def _activation(x, act_type="relu", **_):
    return {"softrelu": F.softplus, "softsign": F.softsign}.get(
        act_type, getattr(torch, act_type, None)
    )(x)


def _grid(theta, transform_type, target_shape=None, **_):
    size = (len(theta), 1, *target_shape)
    return F.affine_grid(theta.reshape(-1, 2, 3), size, align_corners=True)


def _transformer(x, loc, target_shape, **_):
    return F.grid_sample(x, _grid(loc, "affine", target_shape), align_corners=True)


def _resize(x, height, width, align_corners=True, **_):
    return F.interpolate(x, (height, width), mode="bilinear", align_corners=align_corners)


_UNARY = """
    negative abs sign square relu exp log log2 log10 log1p expm1 sqrt rsqrt reciprocal round floor
    ceil trunc sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh sigmoid erf
    erfinv
"""
_BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "power": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "hypot": torch.hypot,
    "equal": torch.eq,
    "not_equal": torch.ne,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "lesser": torch.lt,
    "lesser_equal": torch.le,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}
_SCALAR = {
    "plus": operator.add,
    "minus": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "power": operator.pow,
    "equal": operator.eq,
    "greater": operator.gt,
    "lesser": operator.lt,
}

CALLS = {
    **_same(_UNARY),
    "softsign": lambda x: F.softsign(x),
    "gammaln": torch.lgamma,
    "_copy": torch.clone,
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    **{f"broadcast_{k}": v for k, v in _BINARY.items()},
    **{f"elemwise_{k}": v for k, v in _BINARY.items()},
    **{f"_{k}": v for k, v in _BINARY.items()},
    **{f"_{k}_scalar": lambda x, scalar, f=f, **_: f(x, scalar) for k, f in _SCALAR.items()},
    "clip": lambda x, a_min, a_max: torch.clamp(x, a_min, a_max),
    "where": lambda c, x, y: torch.where(c != 0, x, y),
    "sum": _axis(lambda x, a, k: torch.sum(x, a, k)),
    "mean": _axis(lambda x, a, k: torch.mean(x, a, k)),
    "max": _axis(lambda x, a, k: torch.amax(x, a, k)),
    "min": _axis(lambda x, a, k: torch.amin(x, a, k)),
    "norm": _axis(lambda x, a, k: torch.linalg.vector_norm(x, 2, a, k)),
    "nansum": _axis(lambda x, a, k: torch.nansum(x, a, k)),
    "argmax": lambda x, axis, **_: torch.argmax(x, axis),
    "argmin": lambda x, axis, **_: torch.argmin(x, axis),
    "topk": lambda x, k=1, axis=-1, **_: torch.topk(x, k, axis),
    "sort": lambda x, axis=-1, **_: torch.sort(x, axis)[0],
    "argsort": lambda x, axis=-1, **_: torch.argsort(x, axis),
    "softmax": lambda x, axis=-1, **_: torch.softmax(x, axis),
    "log_softmax": lambda x, axis=-1, **_: torch.log_softmax(x, axis),
    "softmin": lambda x, axis=-1, **_: F.softmin(x, axis),
    "_np_cumsum": lambda x, axis, **_: torch.cumsum(x, axis),
    "dot": torch.matmul,
    "batch_dot": torch.bmm,
    "FullyConnected": lambda x, w, b=None, **_: F.linear(x.flatten(1), w, b),
    "Convolution": _conv,
    "Deconvolution": _deconv,
    "Pooling": _pool,
    "BatchNorm": _norm_layer,
    "LayerNorm": lambda x, g, b, **_: F.layer_norm(x, g.shape, g, b),
    "InstanceNorm": lambda x, g, b, **_: F.instance_norm(x, weight=g, bias=b),
    "GroupNorm": lambda x, g, b, num_groups=1, **_: F.group_norm(x, num_groups, g, b),
    "Activation": _activation,
    "Embedding": lambda i, w, **_: F.embedding(i.long(), w),
    "take": lambda x, i, **_: torch.index_select(x, 0, i.long().flatten()),
    "pick": lambda x, i, **_: torch.gather(x, -1, i.long()[..., None]),
    "one_hot": lambda i, depth, **_: F.one_hot(i.long(), depth),
    "Concat": lambda *x, dim=1, **_: torch.cat(x, dim),
    "stack": lambda *x, axis=0, **_: torch.stack(x, axis),
    "add_n": lambda *x, **_: sum(x[1:], x[0]),
    "transpose": lambda x, axes=None: (x.permute(axes) if axes else x.T).contiguous(),
    "tile": lambda x, reps: torch.tile(x, reps),
    "repeat": lambda x, repeats, axis=0: torch.repeat_interleave(x, repeats, axis),
    "reverse": lambda x, axis: torch.flip(x, axis if isinstance(axis, tuple) else (axis,)),
    "Cast": lambda x, dtype: x.to(getattr(torch, dtype)),
    "slice_axis": lambda x, axis, begin, end: x.narrow(axis, begin, end - begin).contiguous(),
    "broadcast_to": lambda x, shape: x.expand(shape).contiguous(),
    "BilinearSampler": lambda x, g: F.grid_sample(x, g.permute(0, 2, 3, 1), align_corners=True),
    "GridGenerator": _grid,
    "SpatialTransformer": _transformer,
    "_contrib_AdaptiveAvgPooling2D": lambda x, output_size: F.adaptive_avg_pool2d(x, output_size),
    "_contrib_BilinearResize2D": _resize,
    "_linalg_potrf": torch.linalg.cholesky,
    "_linalg_inverse": torch.linalg.inv,
    "_linalg_det": torch.linalg.det,
    "_linalg_gemm2": torch.matmul,
    "_linalg_syevd": torch.linalg.eigh,
}


def prepared(question):
    """A function without arguments that runs the requested call."""
    name, path, states, params, direction, _ = question
    with np.load(path) as file:
        arrays = [torch.from_numpy(file[str(i)]) for i in range(len(file.files))]
    function, params = CALLS[name], plain(params)
    if direction == "forward":

        def forward():
            with torch.no_grad():
                return function(*arrays, **params)

        return forward
    wanted = [x for x in arrays[: len(arrays) - states] if x.is_floating_point()]
    for each in wanted:
        each.requires_grad_()

    def both():
        out = function(*arrays, **params)
        out = out if isinstance(out, (list, tuple)) else [out]
        out = [y for y in out if y.requires_grad]
        torch.autograd.grad(out, wanted, [torch.ones_like(y) for y in out], allow_unused=True)

    return both


if __name__ == "__main__":
    main(prepared, lambda: None)
