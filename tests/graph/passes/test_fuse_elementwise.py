"""The chain pass: elementwise steps in one give, bit for bit, what they give apart."""

import numpy as np
import pytest
from scipy import special

import cynet as mx
from cynet.graph import pipeline
from cynet.graph.passes import fuse_elementwise
from tests.long_runs import STRESS

UNARY = ("tanh", "sigmoid", "exp", "square", "negative", "abs", "erf", "relu", "sqrt")
BINARY = ("elemwise_add", "elemwise_sub", "elemwise_mul", "_maximum", "elemwise_div")
BROADCAST = ("broadcast_add", "broadcast_mul", "broadcast_sub", "broadcast_maximum")
JOINS = 10000 if STRESS else 300  # random networks of them


def bind(net, monkeypatch, chosen, dtype="float32", grad_req="write", **shapes):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", chosen)
    types = dict.fromkeys(net.list_arguments(), dtype)
    return net.simple_bind(mx.cpu(), grad_req=grad_req, type_dict=types, **shapes)


def fill(executor, seed, low=0.1, high=1.0):
    rng = np.random.default_rng(seed)
    for array in (*executor.arg_arrays, *executor.grad_arrays):
        if array is None:
            continue
        array[:] = rng.uniform(low, high, array.shape)
    return [mx.nd.array(rng.uniform(-1, 1, out.shape), dtype=out.dtype) for out in executor.outputs]


def run(executor, seed, backward=True):
    heads = fill(executor, seed)
    mx.random.seed(3)
    executor.forward(is_train=True)
    if backward:
        executor.backward(heads)
    found = {f"output {i}": out.asnumpy() for i, out in enumerate(executor.outputs)}
    if backward:
        found.update((k, v.asnumpy()) for k, v in executor.grad_dict.items() if v is not None)
    return found


def _bytes(array):
    """The bytes, with one NaN for all: its sign is that of the operand an instruction passes on."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.tobytes()


def same(net, monkeypatch, seed, backward=True, memory="planned", spare=0, **options):
    """Run with and without the pass: equal bytes, and no more than `spare` bytes of memory more, as
    planned or what lives at the peak (random networks: how values are packed is a heuristic).
    Returns both executors."""
    monkeypatch.setattr(fuse_elementwise, "PEAK_GROWTH_BYTES", spare)
    apart = bind(net, monkeypatch, "-chain", **options)
    together = bind(net, monkeypatch, "all", **options)
    expected, found = run(apart, seed, backward), run(together, seed, backward)
    for name, want in expected.items():
        got = found[name]
        assert got.dtype == want.dtype
        assert _bytes(got) == _bytes(want), (
            f"{name}: {np.sum(got != want)} of {want.size} differ, "
            f"by {np.nanmax(np.abs(got.astype(float) - want.astype(float)))}"
        )
    needed, most = (getattr(each._graph.memory, memory) for each in (together, apart))
    assert needed <= most + spare
    return apart, together


def chains(executor):
    return [step for step in executor._graph.steps if step.members]


def members(executor):
    """Operators inside each chain, forward chains first."""
    return [[s.prop.op_name for s in step.members] for step in chains(executor)]


def gelu(x):
    return x * 0.5 * (1 + mx.sym.tanh(0.79788456 * (x + 0.044715 * x * x * x)))


def swish(x):
    return x * mx.sym.sigmoid(x)


def cell(gates, before, hidden):
    parts = mx.sym.SliceChannel(gates, num_outputs=4, name="parts")
    enter, forget, leave = (
        mx.sym.Activation(parts[i], act_type="sigmoid", name=f"gate{i}") for i in (0, 1, 3)
    )
    after = forget * before + enter * mx.sym.Activation(parts[2], act_type="tanh")
    return mx.sym.FullyConnected(leave * mx.sym.tanh(after), num_hidden=hidden), after


def test_gelu_is_one_step_each_way_and_right(monkeypatch, seed):
    _, executor = same(gelu(mx.sym.var("x")), monkeypatch, seed, x=(33, 71))
    assert [len(each) for each in members(executor)] == [9, 9]
    assert executor._graph.n_forward == 1
    x = np.random.default_rng(seed).uniform(-3, 3, (33, 71))
    executor.arg_dict["x"][:] = x
    out = executor.forward(is_train=False)[0].asnumpy()
    want = 0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(out, want, rtol=3e-6, atol=1e-6)


def test_nothing_that_passes_between_has_memory(monkeypatch):
    net = swish(swish(mx.sym.var("x")))
    _, executor = same(net, monkeypatch, 0, False, grad_req="null", x=(50, 50))
    assert len(executor._graph.steps) == 1
    assert executor._graph.memory.unplanned == 0


def test_a_gradient_that_is_handed_on_is_read_where_it_lies(monkeypatch, seed):
    net = mx.sym.tanh(mx.sym.var("x") * 2) + 1
    _, executor = same(net, monkeypatch, seed, x=(40, 50))
    back = chains(executor)[-1].prop
    assert [line.loop.functor for line in back.lines] == ["tanh_grad_y", "grad_right"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("size", [1, 15, 1023, 1024, 1025, 70001])
def test_sizes_and_dtypes(monkeypatch, seed, dtype, size):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    net = mx.sym.Group([gelu(x) * y - swish(y / 3), mx.sym.add_n(x, y * y, swish(x), x)])
    _, executor = same(net, monkeypatch, seed, dtype=dtype, x=(size,), y=(size,))
    assert chains(executor)


def test_whole_numbers(monkeypatch, seed):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    net = (x * 3 + y) * x - y
    apart = bind(net, monkeypatch, "-chain", "int32", "null", x=(3000,), y=(3000,))
    together = bind(net, monkeypatch, "all", "int32", "null", x=(3000,), y=(3000,))
    a, b = np.random.default_rng(seed).integers(-99, 99, (2, 3000))
    for executor in (apart, together):
        executor.arg_dict["x"][:], executor.arg_dict["y"][:] = a, b
        np.testing.assert_array_equal(executor.forward()[0].asnumpy(), (a * 3 + b) * a - b)
    assert members(together) == [["_mul_scalar", "elemwise_add", "elemwise_mul", "elemwise_sub"]]


def test_gradients_are_added_where_asked(monkeypatch, seed):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    net = swish(x * y) + gelu(x) + x
    requests = {"x": "add", "y": "write"}
    same(net, monkeypatch, seed, grad_req=requests, x=(7, 300), y=(7, 300))
    same(net, monkeypatch, seed, grad_req={"x": "null", "y": "add"}, x=(7, 300), y=(7, 300))


@pytest.mark.parametrize("hidden", [16, 100, 1500])
def test_gates_are_read_and_written_where_they_lie(monkeypatch, seed, hidden):
    out, after = cell(mx.sym.var("gates"), mx.sym.var("before"), 5)
    net = mx.sym.Group([out, after])
    shapes = {"gates": (9, 4 * hidden), "before": (9, hidden)}
    _, executor = same(net, monkeypatch, seed, **shapes)
    steps = [step.prop.op_name for step in executor._graph.steps]
    assert steps == ["_chain", "FullyConnected", "FullyConnected", "_backward_chain"]
    assert "SliceChannel" in members(executor)[0]
    assert "SliceChannel" in members(executor)[1]
    same(net, monkeypatch, seed, grad_req="add", **shapes)


def test_short_rows_stay_apart(monkeypatch, seed):
    out, _ = cell(mx.sym.var("gates"), mx.sym.var("before"), 5)
    _, executor = same(out, monkeypatch, seed, gates=(9, 8), before=(9, 2))
    assert not any("SliceChannel" in each for each in members(executor))


def test_arrays_joined_along_an_axis(monkeypatch, seed):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    net = mx.sym.Concat(mx.sym.tanh(x) * y, mx.sym.exp(y), y, dim=1)
    same(net, monkeypatch, seed, x=(4, 20, 3), y=(4, 20, 3))
    net = mx.sym.stack(swish(x), swish(y), axis=1)
    same(net, monkeypatch, seed, x=(4, 60), y=(4, 60))
    net = mx.sym.Concat(swish(x), swish(y), dim=0)
    same(net, monkeypatch, seed, x=(4, 60), y=(4, 60))
    net = mx.sym.Concat(*[swish(x)] * 3, dim=1)
    same(net, monkeypatch, seed, x=(4, 60))


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_a_gradient_that_two_joins_share_stays_as_it_is(monkeypatch, seed, grad_req):
    """Both read their pieces where they lie; what adds to its own must not add there."""
    x = mx.sym.var("x")
    first = mx.sym.sigmoid(x)
    left = mx.sym.Concat(first, mx.sym.sin(first), dim=1)
    second = mx.sym.sigmoid(mx.sym.FullyConnected(x, num_hidden=24, name="fc"))
    right = mx.sym.Concat(second, mx.sym.sin(second), dim=1)
    net = mx.sym.square(left + right)
    same(net, monkeypatch, seed, grad_req=grad_req, dtype="float64", x=(5, 24))


@pytest.mark.parametrize("join", [mx.sym.Concat, mx.sym.SliceChannel])
def test_a_join_of_one_array_whose_gradient_is_added_to_later(monkeypatch, seed, join):
    x = mx.sym.var("x")
    made = mx.sym.sin(mx.sym.exp(x))
    other = mx.sym.sigmoid(x)
    between = mx.sym.tanh(mx.sym.BlockGrad(made) + other)
    count = {"num_args" if join is mx.sym.Concat else "num_outputs": 1}
    net = mx.sym.Group([between, mx.sym.square(join(made, **count) + other)])
    same(net, monkeypatch, seed, dtype="float64", x=(5, 24))


def test_a_gradient_made_inside_a_join_and_added_to_later(monkeypatch, seed):
    x, z = mx.sym.var("x"), mx.sym.var("z")
    other = mx.sym.sigmoid(x)
    early = mx.sym.tanh(other)
    left, right = mx.sym.SliceChannel(mx.sym.exp(z), num_outputs=2)
    net = mx.sym.Group([early, mx.sym.square(left + other), mx.sym.square(right)])
    same(net, monkeypatch, seed, dtype="float64", x=(5, 24), z=(5, 48))


@pytest.mark.parametrize("rows", [48, 512])
def test_large_arrays_are_joined_only_where_memory_allows(monkeypatch, seed, rows):
    """A chain of a GRU's backward holds the gradients of all gates beside the gates."""
    before = mx.sym.var("before")
    a, b = (
        mx.sym.SliceChannel(mx.sym.FullyConnected(x, num_hidden=384, name=name), num_outputs=3)
        for x, name in ((mx.sym.var("x"), "input"), (before, "state"))
    )
    reset, update = mx.sym.sigmoid(a[0] + b[0]), mx.sym.sigmoid(a[1] + b[1])
    after = (1 - update) * mx.sym.tanh(a[2] + reset * b[2]) + update * before
    net = mx.sym.FullyConnected(after, num_hidden=5)
    shapes = {"x": (rows, 32), "before": (rows, 128)}
    _, executor = same(net, monkeypatch, seed, spare=fuse_elementwise.PEAK_GROWTH_BYTES, **shapes)
    assert any(len(each) > 8 for each in members(executor)) == (rows == 48)


@pytest.mark.parametrize("shape", [(1, 40), (30, 1), (1, 1), (40,), (1,), (30, 40)])
def test_operands_that_repeat(monkeypatch, seed, shape):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    net = mx.sym.tanh(mx.sym.broadcast_mul(mx.sym.broadcast_add(x * 2, y), y)) * x
    _, executor = same(net, monkeypatch, seed, x=(30, 40), y=shape)
    assert len(members(executor)[0]) == 5
    net = mx.sym.exp(mx.sym.broadcast_sub(y, x)) + x
    same(net, monkeypatch, seed, x=(30, 40), y=shape)


def test_an_operand_that_repeats_in_the_middle_stays_apart(monkeypatch, seed):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    net = mx.sym.tanh(mx.sym.broadcast_add(mx.sym.exp(x), y))
    _, executor = same(net, monkeypatch, seed, False, x=(3, 20, 4), y=(3, 1, 4))
    assert not chains(executor)


def test_what_is_outside_and_between_keeps_them_apart(monkeypatch, seed):
    x = mx.sym.exp(mx.sym.var("x"))
    net = mx.sym.FullyConnected(x, num_hidden=20, name="fc") * x
    _, executor = same(net, monkeypatch, seed, False, x=(5, 20))
    assert not chains(executor)


def test_what_is_outside_may_read_what_lies_between(monkeypatch, seed):
    x = mx.sym.tanh(mx.sym.var("x"))
    y = x * 2
    net = mx.sym.Group([mx.sym.sum(y, axis=1), mx.sym.exp(y + x)])
    _, executor = same(net, monkeypatch, seed, x=(5, 20))
    assert members(executor)[0] == ["tanh", "_mul_scalar", "elemwise_add", "exp"]


def test_a_chain_that_waits_for_one_with_a_later_first_step(monkeypatch, seed):
    """The first steps of chains stand in one order, what they wait for in another: backward lost
    the steps behind the first loss where two chains came to wait for each other."""
    tanh, reshape = mx.sym.tanh, mx.sym.reshape
    x = mx.sym.broadcast_mul(mx.sym.var("data"), mx.sym.var("start"))
    scaled = tanh(x) * mx.sym.broadcast_add(tanh(x), mx.sym.var("bias")) * 0.7
    a = mx.sym.Activation(x, act_type="tanh")
    b = reshape(tanh(reshape(a, shape=(96, 8, 3))) * 0.9, shape=(96, 24))
    c = tanh(b) * x * 0.7 + tanh(b) * a * 0.7
    last = mx.sym.LinearRegressionOutput(tanh(c) * scaled * 0.7, mx.sym.var("label"))
    losses = [mx.sym.make_loss(mx.sym.mean(mx.sym.square(y)) * 96) for y in (c, x)]
    net = mx.sym.Group([last, *losses])
    shapes = {"data": (96, 24), "start": (1, 24), "bias": (1, 24)}
    _, together = same(net, monkeypatch, seed, **shapes)
    assert together.grad_dict["data"].asnumpy().any()


def test_random_numbers_come_in_the_same_order(monkeypatch, seed):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    a = mx.sym.exp(x)
    b = mx.sym.Dropout(a * 2, p=0.5)
    c = mx.sym.Dropout(y, p=0.3)
    same(mx.sym.Group([b * y, a + c * c]), monkeypatch, seed, x=(40, 50), y=(40, 50))


def test_python_operators_between(monkeypatch, seed):
    class Twice(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("chain_twice")
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Twice()

    x = mx.sym.var("x")
    net = swish(mx.sym.Custom(gelu(x), op_type="chain_twice") + swish(x))
    _, executor = same(net, monkeypatch, seed, x=(20, 30))
    assert len(chains(executor)) >= 3


def _random_net(rng):
    pool = [mx.sym.var(f"x{i}") for i in range(3)]
    small = [mx.sym.var(name) for name in ("row", "column", "one")]
    for _ in range(rng.integers(4, 40)):

        def pick():
            return pool[max(0, len(pool) - 1 - int(rng.integers(8)))]

        kind = rng.random()
        if kind < 0.4:
            made = getattr(mx.sym, UNARY[rng.integers(len(UNARY))])(pick())
        elif kind < 0.75:
            op = BINARY[rng.integers(len(BINARY))]
            made = getattr(mx.sym, op if op[0] != "_" else "maximum")(pick(), pick())
        elif kind < 0.83:
            made = getattr(mx.sym, BROADCAST[rng.integers(len(BROADCAST))])(
                pick(), small[rng.integers(3)]
            )
        elif kind < 0.88:
            parts = mx.sym.SliceChannel(pick(), num_outputs=2)
            made = mx.sym.Concat(parts[1], mx.sym.sin(parts[0]), dim=1)
        elif kind < 0.92:
            made = mx.sym.FullyConnected(pick(), num_hidden=48)
            made = mx.sym.reshape(mx.sym.reshape(made, shape=(2, 3, 48)), shape=(6, 48))
        else:
            made = pick() * float(rng.uniform(-2, 2))
        pool.append(made)
    return mx.sym.Group([pool[-1], pool[-int(rng.integers(2, 4))]])


@pytest.mark.parametrize("case", range(30))
def test_random_networks(monkeypatch, seed, case):
    _compare_random_net(monkeypatch, seed, case)


def test_nans_may_have_another_sign(monkeypatch):
    _compare_random_net(monkeypatch, 665762273, 14)


def test_a_gradient_that_became_a_view_has_no_place(monkeypatch):
    """Its root may come to live in the memory of another value, and would leave it behind."""
    _compare_random_net(monkeypatch, 1793978131, 26)


def _compare_random_net(monkeypatch, seed, case):
    rng = np.random.default_rng([seed, case])
    net = _random_net(rng)
    shapes = {"row": (1, 48), "column": (6, 1), "one": (1,)}
    shapes.update({f"x{i}": (6, 48) for i in range(3)})
    given = {k: v for k, v in shapes.items() if k in net.list_arguments()}
    dtype = ("float32", "float64")[case % 2]
    requests = {name: ("write", "add", "null")[rng.integers(3)] for name in net.list_arguments()}
    backward = set(requests.values()) != {"null"}
    same(net, monkeypatch, seed, backward, "live", grad_req=requests, dtype=dtype, **given)


def _net_of_joins(rng):
    """Mostly arrays that are parted, joined and added: their gradients share memory."""
    pool = [(mx.sym.var("a"), 32), (mx.sym.var("b"), 32)]

    def pick(of):
        return of[rng.integers(len(of))]

    for _ in range(rng.integers(4, 24)):
        x, n = pick(pool[-6:])
        kind = rng.random()
        if kind < 0.25:
            made = [(getattr(mx.sym, pick(("sin", "tanh", "sigmoid", "square")))(x), n)]
        elif kind < 0.58:
            other = pick([y for y, m in pool if m == n])
            made = [(x + other if kind < 0.5 else x * other, n)]
        elif kind < 0.72:
            count = 2 if n > 16 and kind < 0.7 else 1
            parts = mx.sym.SliceChannel(x, num_outputs=count)
            made = [(parts[i], n // count) for i in range(count)]
        elif kind < 0.95:
            other, m = pick(pool)
            made = [(mx.sym.Concat(x, other, dim=1), n + m)]
        else:
            made = [(mx.sym.Concat(x, num_args=1, dim=1), n)]
        pool += [each for each in made if each[1] <= 96]
    return mx.sym.Group([pool[-1][0], pick(pool)[0]])


def test_random_joins(monkeypatch, seed):
    options = {"memory": "live", "spare": fuse_elementwise.PEAK_GROWTH_BYTES, "dtype": "float64"}
    for case in range(JOINS):
        rng = np.random.default_rng([seed, case])
        print(f"case {case}")
        net = _net_of_joins(rng)
        names = net.list_arguments()
        requests = {name: ("write", "add")[rng.integers(2)] for name in names}
        shapes = dict.fromkeys(names, (3, 32))
        same(net, monkeypatch, seed, grad_req=requests, **options, **shapes)


def test_checkpointing_repeats_inside_chains(monkeypatch, seed):
    x = mx.sym.var("x")
    for i in range(6):
        x = swish(gelu(mx.sym.FullyConnected(x, num_hidden=64, name=f"fc{i}")))
    monkeypatch.setenv("CYNET_BACKWARD_DO_MIRROR", "1")
    apart, executor = same(x, monkeypatch, seed, x=(300, 64))
    assert chains(executor)
    assert executor._graph.memory.planned < 0.8 * apart._graph.memory.unplanned


def test_nodes_are_named(monkeypatch):
    net = mx.sym.exp(mx.sym.tanh(mx.sym.var("x"), name="first"), name="second")
    executor = bind(net, monkeypatch, "all", x=(5, 6))
    text = executor.debug_str()
    assert "_chain first, second" in text
    assert "_backward_chain second, first" in text
    rows = executor.profile(lambda: (executor.forward(True), executor.backward(mx.nd.ones((5, 6)))))
    assert [name for _, name, _ in rows] == [
        "_chain first, second",
        "_backward_chain second, first",
    ]


def test_what_would_broadcast_joins_in_channels_last(monkeypatch, seed):
    """As the gates of files do, whose products are all ones that may broadcast."""
    data = mx.sym.Convolution(mx.sym.var("x"), num_filter=32, kernel=(3, 3), name="conv")
    net = mx.sym.broadcast_mul(data, mx.sym.sigmoid(data)) + data
    _, executor = same(net, monkeypatch, seed, False, grad_req="null", x=(2, 16, 20, 20))
    assert members(executor) == [["sigmoid", "broadcast_mul", "elemwise_add"]]


def test_a_monitor_sees_every_value(monkeypatch):
    net = mx.sym.exp(mx.sym.tanh(mx.sym.var("x"), name="first"), name="second")
    executor = bind(net, monkeypatch, "all", x=(5, 6))
    seen = []
    executor.set_monitor_callback(lambda name, array: seen.append(name))
    executor.forward()
    assert seen == ["first_output", "second_output"]


def test_switched_off(monkeypatch):
    assert "chain" in pipeline.PASS_NAMES
    executor = bind(gelu(mx.sym.var("x")), monkeypatch, "-chain", x=(5, 6))
    assert not chains(executor)
    alone = bind(gelu(mx.sym.var("x")), monkeypatch, "none,chain", x=(5, 6))
    assert chains(alone)


def test_formulas_of_an_optimizer(monkeypatch, seed):
    w, g, m, v = map(mx.sym.var, "wgmv")
    mean, square = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    net = mx.sym.Group([w - 0.01 * mean / (mx.sym.sqrt(square) + 1e-8), mean, square])
    shapes = dict.fromkeys("wgmv", (40, 90))
    _, executor = same(net, monkeypatch, seed, False, grad_req="null", **shapes)
    assert len(executor._graph.steps) == 1


def test_erf_gelu_against_scipy(monkeypatch, seed):
    x = mx.sym.var("x")
    net = x * 0.5 * (1 + mx.sym.erf(x * 2**-0.5))
    _, executor = same(net, monkeypatch, seed, dtype="float64", x=(500,))
    point = np.random.default_rng(seed).uniform(-4, 4, 500)
    executor.arg_dict["x"][:] = point
    out = executor.forward(is_train=True)[0].asnumpy()
    executor.backward(mx.nd.ones((500,), dtype="float64"))
    phi = 0.5 * (1 + special.erf(point / 2**0.5))
    np.testing.assert_allclose(out, point * phi, rtol=1e-12, atol=1e-15)
    slope = phi + point * np.exp(-(point**2) / 2) / (2 * np.pi) ** 0.5
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), slope, rtol=1e-10, atol=1e-13)
