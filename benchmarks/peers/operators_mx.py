"""The calls of operators.py in cynet or MXNet 1.x: ``operators_mx.py PACKAGE``, asked on stdin."""

import importlib
import sys

import operator_cases as cases

PACKAGE = sys.argv[1]
mx = importlib.import_module(PACKAGE)
nd = mx.nd


def same(sizes):
    """Arrays of one size: a and b random, p positive, m a matrix, i whole numbers, ..."""
    v = cases.values(sizes)
    return {name: nd.array(value, dtype=value.dtype) for name, value in v.items()}


def calls(size):
    """Name of a row -> function without arguments that runs it."""
    sizes = cases.SIZES[size]
    n, rows, columns, half = sizes.n, sizes.rows, sizes.columns, sizes.columns // 2
    v = same(sizes)
    a, b, p, m, row = v["a"], v["b"], v["p"], v["m"], v["row"]
    i, c, t, u = v["i"], v["c"], v["t"], v["m"].copy()
    host = v["a"].asnumpy()
    total = a.copy()
    x, y, batch = v["x"], v["y"], v["batch"]
    weight, bias = v["weight"], v["bias"]
    image, kernel, ones, zeros = v["image"], v["kernel"], v["ones"], v["zeros"]
    filters, width = kernel.shape[0], weight.shape[0]

    moment, square = nd.zeros(n), nd.ones(n)
    places, label = nd.stack(i, c), c.astype("float32")

    table = {
        **cases.alike(v, total, u),
        "zeros": lambda: nd.zeros(n),
        "ones": lambda: nd.ones((rows, columns)),
        "full": lambda: nd.full((rows, columns), 2.5),
        "arange": lambda: nd.arange(n),
        "random normal": lambda: nd.random.normal(0, 1, shape=n),
        "random uniform": lambda: nd.random.uniform(0, 1, shape=n),
        "array of NumPy": lambda: nd.array(host),
        "maximum(a, b)": lambda: nd.maximum(a, b),
        "maximum(a, 0)": lambda: nd.maximum(a, 0),
        "abs": lambda: nd.abs(a),
        "sign": lambda: nd.sign(a),
        "floor": lambda: nd.floor(a),
        "round": lambda: nd.round(a),
        "square": lambda: nd.square(a),
        "sqrt": lambda: nd.sqrt(p),
        "rsqrt": lambda: nd.rsqrt(p),
        "exp": lambda: nd.exp(a),
        "log": lambda: nd.log(p),
        "log1p": lambda: nd.log1p(p),
        "sin": lambda: nd.sin(a),
        "cos": lambda: nd.cos(a),
        "tan": lambda: nd.tan(a),
        "arctan": lambda: nd.arctan(a),
        "tanh": lambda: nd.tanh(a),
        "sigmoid": lambda: nd.sigmoid(a),
        "relu": lambda: nd.relu(a),
        "erf": lambda: nd.erf(a),
        "gammaln": lambda: nd.gammaln(p),
        "clip": lambda: nd.clip(a, -1, 1),
        "broadcast_to": lambda: row.broadcast_to((rows, columns)),
        "sum, axis 0": lambda: m.sum(axis=0),
        "sum, axis 1": lambda: m.sum(axis=1),
        "mean, axis 0": lambda: m.mean(axis=0),
        "max, axis 0": lambda: m.max(axis=0),
        "max, axis 1": lambda: m.max(axis=1),
        "sum of images, axes 0, 2, 3": lambda: nd.sum(image, axis=(0, 2, 3)),
        "argmax, axis 0": lambda: m.argmax(axis=0),
        "argmax, axis 1": lambda: m.argmax(axis=1),
        "norm, axis 1": lambda: nd.norm(m, axis=1),
        "sort, axis 1": lambda: m.sort(axis=1),
        "argsort, axis 1": lambda: m.argsort(axis=1),
        "topk 2, axis 1": lambda: m.topk(k=2, axis=1),
        "topk 2, values": lambda: m.topk(k=2, axis=1, ret_typ="value"),
        "dot": lambda: nd.dot(x, y),
        "dot, b transposed": lambda: nd.dot(x, y, transpose_b=True),
        "matrix by vector": lambda: nd.dot(m, row.reshape((-1,))),
        "batch_dot": lambda: nd.batch_dot(batch, batch),
        "transpose": lambda: m.T,
        "transpose 0, 2, 1": lambda: nd.transpose(t, axes=(0, 2, 1)),
        "reshape": lambda: m.reshape((-1,)),
        "expand_dims": lambda: m.expand_dims(0),
        "empty": lambda: nd.empty(n),
        "zeros_like": lambda: nd.zeros_like(m),
        "mean, axis 1": lambda: m.mean(axis=1),
        "sum, keepdims": lambda: m.sum(axis=1, keepdims=True),
        "argmin, axis 1": lambda: m.argmin(axis=1),
        "sum of squares": lambda: nd.sum(nd.square(a)),
        "vector by vector": lambda: nd.dot(a, b),
        "slice_axis": lambda: nd.slice_axis(m, axis=1, begin=half, end=columns),
        "concat of 8 rows": lambda: nd.concat(*[row] * 8, dim=0),
        "copyto": lambda: a.copyto(total),
        "as_in_context": lambda: a.as_in_context(a.context),
        "swapaxes": lambda: nd.swapaxes(t, 1, 2),
        "broadcast_maximum": lambda: nd.broadcast_maximum(m, row),
        "smooth_l1": lambda: nd.smooth_l1(a, scalar=1.0),
        "softrelu": lambda: nd.Activation(a, act_type="softrelu"),
        "leaky relu": lambda: nd.LeakyReLU(a, slope=0.1),
        "random integers": lambda: nd.random.randint(0, 10, shape=n),
        "sgd_mom_update": lambda: nd.sgd_mom_update(total, b, moment, out=total, lr=0, momentum=0),
        "adam_update": lambda: nd.adam_update(total, b, moment, square, out=total, lr=0),
        "flip": lambda: nd.flip(m, axis=1),
        "tile": lambda: nd.tile(m, reps=(1, 2)),
        "repeat": lambda: nd.repeat(m, repeats=2, axis=1),
        "m[:, :half], copied": lambda: m[:, :half],
        "m[::2], copied": lambda: m[::2],
        "concat, axis 0": lambda: nd.concat(m, m, dim=0),
        "concat, axis 1": lambda: nd.concat(m, m, dim=1),
        "stack": lambda: nd.stack(m, m, axis=0),
        "split in 2, copied": lambda: nd.split(m, num_outputs=2, axis=1),
        "take": lambda: nd.take(m, i),
        "Embedding": lambda: nd.Embedding(i, m, input_dim=rows, output_dim=columns),
        "pick": lambda: nd.pick(m, c, axis=1),
        "one_hot": lambda: nd.one_hot(c, columns),
        "where": lambda: nd.where(v["flag"], a, b),
        "add_n of 4": lambda: nd.add_n(a, b, a, b),
        "softmax": lambda: nd.softmax(m),
        "log_softmax": lambda: nd.log_softmax(m),
        "cast to float64": lambda: a.astype("float64"),
        "cast to int32": lambda: a.astype("int32"),
        "cast to float16": lambda: a.astype("float16"),
        "copy": lambda: a.copy(),
        "asnumpy": lambda: a.asnumpy(),
        "asscalar of a sum": lambda: a.sum().asscalar(),
        "FullyConnected": lambda: nd.FullyConnected(x, weight, bias, num_hidden=width),
        "Convolution": lambda: nd.Convolution(
            image, kernel, bias[:filters], kernel=(3, 3), pad=(1, 1), num_filter=filters
        ),
        "Pooling, max": lambda: nd.Pooling(image, kernel=(2, 2), stride=(2, 2), pool_type="max"),
        "Pooling, avg": lambda: nd.Pooling(image, kernel=(2, 2), stride=(2, 2), pool_type="avg"),
        "BatchNorm": lambda: nd.BatchNorm(image, ones, zeros, zeros, ones, fix_gamma=False),
        "LayerNorm": lambda: nd.LayerNorm(m, row.reshape((-1,)), row.reshape((-1,))),
        "Dropout": lambda: nd.Dropout(a, p=0.5, mode="always"),
        "sgd_update": lambda: nd.sgd_update(total, b, out=total, lr=0.01),
        "softmax, axis 0": lambda: nd.softmax(m, axis=0),
        "softmax_cross_entropy": lambda: nd.softmax_cross_entropy(m, label),
        "L2Normalization": lambda: nd.L2Normalization(m),
        "min, axis 1": lambda: m.min(axis=1),
        "prod, axis 1": lambda: m.prod(axis=1),
        "norm, axis 0": lambda: nd.norm(m, axis=0),
        "mean of images, axes 2, 3": lambda: nd.mean(image, axis=(2, 3)),
        "max of images, axes 2, 3": lambda: nd.max(image, axis=(2, 3)),
        "cumsum, axis 1": lambda: nd.cumsum(m, axis=1),
        "broadcast_greater": lambda: nd.broadcast_greater(m, row),
        "logical_and": lambda: nd.logical_and(a, b),
        "hard_sigmoid": lambda: nd.hard_sigmoid(a),
        "elu": lambda: nd.LeakyReLU(a, act_type="elu", slope=1.0),
        "gelu": lambda: nd.LeakyReLU(a, act_type="gelu"),
        "gather_nd": lambda: nd.gather_nd(m, places),
        "eye": lambda: nd.eye(width),
        "array of a list": lambda: nd.array([1.0] * 10),
        "pad": lambda: nd.pad(image, mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)),
        "UpSampling": lambda: nd.UpSampling(image, scale=2, sample_type="nearest"),
        "InstanceNorm": lambda: nd.InstanceNorm(image, ones, zeros),
        "Pooling, global": lambda: nd.Pooling(
            image, kernel=(1, 1), pool_type="avg", global_pool=True
        ),
    }
    return table


if __name__ == "__main__":
    cases.serve(calls, nd.waitall)
