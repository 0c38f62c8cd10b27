"""The calls of operators.py in PyTorch: ``operators_torch.py``, asked on stdin."""

import operator_cases as cases
import torch
from torch.nn import functional


def calls(size):
    """Name of a row -> function without arguments that runs it."""
    sizes = cases.SIZES[size]
    n, rows, columns, half = sizes.n, sizes.rows, sizes.columns, sizes.columns // 2
    v = {name: torch.from_numpy(value) for name, value in cases.values(sizes).items()}
    a, b, p, m, row = v["a"], v["b"], v["p"], v["m"], v["row"]
    i, c, t, u = v["i"].long(), v["c"].long(), v["t"], v["m"].clone()
    host, flag = v["a"].numpy(), v["flag"] > 0
    total = a.clone()
    x, y, batch = v["x"], v["y"], v["batch"]
    weight, bias = v["weight"], v["bias"]
    image, kernel, ones, zeros = v["image"], v["kernel"], v["ones"], v["zeros"]
    filters = kernel.shape[0]

    moment, square, nothing = torch.zeros(n), torch.ones(n), torch.zeros(n)

    def adam():
        moment.mul_(0.9).add_(b, alpha=0.1)
        square.mul_(0.999).addcmul_(b, b, value=0.001)
        total.addcdiv_(moment, square.sqrt().add_(1e-8), value=0)

    table = {
        **cases.alike({**v, "i": i, "c": c, "few": v["few"].long()}, total, u),
        "zeros": lambda: torch.zeros(n),
        "ones": lambda: torch.ones((rows, columns)),
        "full": lambda: torch.full((rows, columns), 2.5),
        "arange": lambda: torch.arange(n, dtype=torch.float32),
        "random normal": lambda: torch.randn(n),
        "random uniform": lambda: torch.rand(n),
        "array of NumPy": lambda: torch.tensor(host),
        "maximum(a, b)": lambda: torch.maximum(a, b),
        "maximum(a, 0)": lambda: torch.clamp_min(a, 0),
        "abs": lambda: torch.abs(a),
        "sign": lambda: torch.sign(a),
        "floor": lambda: torch.floor(a),
        "round": lambda: torch.round(a),
        "square": lambda: torch.square(a),
        "sqrt": lambda: torch.sqrt(p),
        "rsqrt": lambda: torch.rsqrt(p),
        "exp": lambda: torch.exp(a),
        "log": lambda: torch.log(p),
        "log1p": lambda: torch.log1p(p),
        "sin": lambda: torch.sin(a),
        "cos": lambda: torch.cos(a),
        "tan": lambda: torch.tan(a),
        "arctan": lambda: torch.arctan(a),
        "tanh": lambda: torch.tanh(a),
        "sigmoid": lambda: torch.sigmoid(a),
        "relu": lambda: torch.relu(a),
        "erf": lambda: torch.erf(a),
        "gammaln": lambda: torch.lgamma(p),
        "clip": lambda: torch.clamp(a, -1, 1),
        "broadcast_to": lambda: row.expand(rows, columns).contiguous(),
        "sum, axis 0": lambda: m.sum(0),
        "sum, axis 1": lambda: m.sum(1),
        "mean, axis 0": lambda: m.mean(0),
        "max, axis 0": lambda: m.amax(0),
        "max, axis 1": lambda: m.amax(1),
        "sum of images, axes 0, 2, 3": lambda: image.sum((0, 2, 3)),
        "argmax, axis 0": lambda: m.argmax(0),
        "argmax, axis 1": lambda: m.argmax(1),
        "norm, axis 1": lambda: m.norm(dim=1),
        "sort, axis 1": lambda: m.sort(1),
        "argsort, axis 1": lambda: m.argsort(1),
        "topk 2, axis 1": lambda: m.topk(2, 1),
        "topk 2, values": lambda: m.topk(2, 1),
        "dot": lambda: x @ y,
        "dot, b transposed": lambda: x @ y.T,
        "matrix by vector": lambda: m @ row.reshape(-1),
        "batch_dot": lambda: torch.bmm(batch, batch),
        "transpose": lambda: m.T.contiguous(),
        "transpose 0, 2, 1": lambda: t.transpose(1, 2).contiguous(),
        "reshape": lambda: m.reshape(-1),
        "expand_dims": lambda: m.unsqueeze(0),
        "empty": lambda: torch.empty(n),
        "zeros_like": lambda: torch.zeros_like(m),
        "mean, axis 1": lambda: m.mean(1),
        "sum, keepdims": lambda: m.sum(1, keepdim=True),
        "argmin, axis 1": lambda: m.argmin(1),
        "sum of squares": lambda: torch.square(a).sum(),
        "vector by vector": lambda: torch.dot(a, b),
        "slice_axis": lambda: m[:, half:].contiguous(),
        "concat of 8 rows": lambda: torch.cat([row] * 8, 0),
        "copyto": lambda: total.copy_(a),
        "as_in_context": lambda: a.to(a.device),
        "swapaxes": lambda: t.transpose(1, 2).contiguous(),
        "broadcast_maximum": lambda: torch.maximum(m, row),
        "smooth_l1": lambda: functional.smooth_l1_loss(a, nothing, reduction="none"),
        "softrelu": lambda: functional.softplus(a),
        "leaky relu": lambda: functional.leaky_relu(a, 0.1),
        "random integers": lambda: torch.randint(0, 10, (n,), dtype=torch.int32),
        "sgd_mom_update": lambda: total.add_(moment.mul_(0).add_(b, alpha=0)),
        "adam_update": adam,
        "flip": lambda: torch.flip(m, (1,)),
        "tile": lambda: torch.tile(m, (1, 2)),
        "repeat": lambda: torch.repeat_interleave(m, 2, 1),
        "m[:, :half], copied": lambda: m[:, :half].contiguous(),
        "m[::2], copied": lambda: m[::2].contiguous(),
        "concat, axis 0": lambda: torch.cat((m, m), 0),
        "concat, axis 1": lambda: torch.cat((m, m), 1),
        "stack": lambda: torch.stack((m, m)),
        "split in 2, copied": lambda: [part.contiguous() for part in torch.chunk(m, 2, 1)],
        "take": lambda: torch.index_select(m, 0, i),
        "Embedding": lambda: functional.embedding(i, m),
        "pick": lambda: torch.gather(m, 1, c[:, None]),
        "one_hot": lambda: functional.one_hot(c, columns),
        "where": lambda: torch.where(flag, a, b),
        "add_n of 4": lambda: a + b + a + b,
        "softmax": lambda: torch.softmax(m, -1),
        "log_softmax": lambda: torch.log_softmax(m, -1),
        "cast to float64": lambda: a.double(),
        "cast to int32": lambda: a.int(),
        "cast to float16": lambda: a.half(),
        "copy": lambda: a.clone(),
        "asnumpy": lambda: a.numpy().copy(),
        "asscalar of a sum": lambda: a.sum().item(),
        "FullyConnected": lambda: functional.linear(x, weight, bias),
        "Convolution": lambda: functional.conv2d(image, kernel, bias[:filters], padding=1),
        "Pooling, max": lambda: functional.max_pool2d(image, 2),
        "Pooling, avg": lambda: functional.avg_pool2d(image, 2),
        "BatchNorm": lambda: functional.batch_norm(image, zeros, ones, ones, zeros),
        "LayerNorm": lambda: functional.layer_norm(m, (columns,), row.reshape(-1), row.reshape(-1)),
        "Dropout": lambda: functional.dropout(a, 0.5, True),
        "sgd_update": lambda: total.add_(b, alpha=-0.01),
        "softmax, axis 0": lambda: torch.softmax(m, 0),
        "softmax_cross_entropy": lambda: functional.cross_entropy(m, c, reduction="sum"),
        "L2Normalization": lambda: functional.normalize(m),
        "min, axis 1": lambda: m.amin(1),
        "prod, axis 1": lambda: m.prod(1),
        "norm, axis 0": lambda: m.norm(dim=0),
        "mean of images, axes 2, 3": lambda: image.mean((2, 3)),
        "max of images, axes 2, 3": lambda: image.amax((2, 3)),
        "cumsum, axis 1": lambda: m.cumsum(1),
        "broadcast_greater": lambda: m > row,
        "logical_and": lambda: torch.logical_and(a, b),
        "hard_sigmoid": lambda: functional.hardsigmoid(a),
        "elu": lambda: functional.elu(a),
        "gelu": lambda: functional.gelu(a),
        "gather_nd": lambda: m[i, c],
        "eye": lambda: torch.eye(len(x)),
        "array of a list": lambda: torch.tensor([1.0] * 10),
        "pad": lambda: functional.pad(image, (1, 1, 1, 1)),
        "UpSampling": lambda: functional.interpolate(image, scale_factor=2),
        "InstanceNorm": lambda: functional.instance_norm(image, weight=ones, bias=zeros),
        "Pooling, global": lambda: functional.adaptive_avg_pool2d(image, 1),
    }
    return table


if __name__ == "__main__":
    with torch.no_grad():
        cases.serve(calls, lambda: None)
