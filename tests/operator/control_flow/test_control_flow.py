"""Loops and branches in every place where graphs run: executors, Module, hybridized Blocks, files;
with states of operators, random numbers and Python inside."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import CynetError
from cynet.gluon import nn

S = mx.sym


def numbers(seed, *shape):
    print("seed", seed)
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def loop(body, *names):
    outs, last = S.contrib.foreach(body, S.var("x"), S.var("s"))
    return S.Group([*(outs if isinstance(outs, list) else [outs]), last])


class Recurrent(mx.gluon.HybridBlock):
    """A cell over the rows of an array, by foreach."""

    def __init__(self, cell):
        super().__init__()
        with self.name_scope():
            self.cell = cell

    def hybrid_forward(self, F, x, *states):
        outs, last = F.contrib.foreach(self.cell, x, list(states))
        return (outs, *last)


CELLS = {
    "rnn": (mx.gluon.rnn.RNNCell, 1),
    "lstm": (mx.gluon.rnn.LSTMCell, 2),
    "gru": (mx.gluon.rnn.GRUCell, 1),
}


@pytest.mark.parametrize("name", CELLS)
def test_gluon_cells(name):
    """Eager, hybridized and unrolled: the same values and gradients."""
    make, n_states = CELLS[name]
    cell = make(4, input_size=3)
    net = Recurrent(cell)
    net.initialize(mx.init.Xavier())
    x = mx.nd.array(numbers(1, 6, 2, 3))
    states = [mx.nd.array(numbers(2 + i, 2, 4)) for i in range(n_states)]
    for each in (x, *states):
        each.attach_grad()

    def run(function):
        with mx.autograd.record():
            outs, *last = function()
            loss = (outs * outs).sum() + sum((each * 2).sum() for each in last)
        loss.backward()
        params = net.collect_params().values()
        grads = [x.grad, *(s.grad for s in states), *(p.grad() for p in params)]
        return [a.asnumpy() for a in (outs, *last, *grads)]

    def unrolled():
        outs, last = cell.unroll(6, x, begin_state=states, layout="TNC", merge_outputs=True)
        return (outs, *last)

    eager, plain = run(lambda: net(x, *states)), run(unrolled)
    net.hybridize()
    compiled = [run(lambda: net(x, *states)) for _ in range(3)]
    for found in (plain, *compiled):
        for a, b in zip(eager, found):
            np.testing.assert_allclose(a, b, 1e-4, 1e-5)
    longer = mx.nd.array(numbers(7, 9, 2, 3))
    outs = net(longer, *states)[0].asnumpy()
    net.hybridize(active=False)
    np.testing.assert_allclose(outs, net(longer, *states)[0].asnumpy(), 1e-4, 1e-5)


def test_plain_forward_is_traced():
    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(3, in_units=3, flatten=False)

        def forward(self, x):
            def body(row, s):
                assert row.shape == (2, 3)
                s = mx.nd.tanh(self.dense(row) + s)
                s = mx.nd.contrib.cond(s.sum() > 0, lambda: s * 2, lambda: s - 1)
                return s, s

            outs, last = mx.nd.contrib.foreach(body, x, mx.nd.zeros((2, 3)))
            picked, (i, _) = mx.nd.contrib.while_loop(
                lambda i, s: i < 3, lambda i, s: (s * i, [i + 1, s]), [last[0, :1] * 0, last], 4
            )
            return outs, picked, i

    net = Net()
    net.initialize(mx.init.Xavier())
    x = mx.nd.array(numbers(3, 4, 2, 3))

    def run():
        x.attach_grad()
        with mx.autograd.record():
            outs = net(x)
            loss = sum((each * each).sum() for each in outs)
        loss.backward()
        return [a.asnumpy() for a in (*outs, x.grad, net.dense.weight.grad())]

    eager = run()
    net.hybridize()
    for a, b in zip(eager, run()):
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)


def test_export_and_imports(tmp_path):
    net = Recurrent(mx.gluon.rnn.LSTMCell(4, input_size=3))
    net.initialize()
    net.hybridize()
    args = [mx.nd.array(numbers(k, *s)) for k, s in enumerate([(5, 2, 3), (2, 4), (2, 4)])]
    want = [a.asnumpy() for a in net(*args)]
    net.export(str(tmp_path / "net"))
    names = ["data0", "data1", "data2"]
    again = mx.gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), names, str(tmp_path / "net-0000.params")
    )
    for a, b in zip(want, again(*args)):
        np.testing.assert_allclose(a, b.asnumpy(), 1e-6)


def test_module_trains():
    def body(row, h):
        h = S.Activation(
            S.FullyConnected(row, num_hidden=8, name="i2h")
            + S.FullyConnected(h, num_hidden=8, name="h2h"),
            act_type="tanh",
        )
        return h, h

    start = S.broadcast_to(S.zeros((1, 8)), shape=(16, 8))
    _, last = S.contrib.foreach(body, S.transpose(S.var("data"), axes=(1, 0, 2)), start)
    net = S.SoftmaxOutput(S.FullyConnected(last, num_hidden=2, name="fc"), name="softmax")
    x = numbers(5, 64, 5, 3)
    y = (x.sum(axis=(1, 2)) > 0).astype("float32")
    data = mx.io.NDArrayIter(x, y, 16, label_name="softmax_label")
    module = mx.mod.Module(net)
    mx.random.seed(1)
    module.fit(
        data,
        num_epoch=30,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.02},
        initializer=mx.init.Xavier(),
    )
    assert module.score(data, "acc")[0][1] > 0.9


# --- inside of bodies ----------------------------------------------------------------------------
def test_dropout_draws_anew_in_each_run():
    outs = loop(lambda row, s: (S.Dropout(row, p=0.5), s), "x", "s")
    x, s = mx.nd.ones((6, 200)), mx.nd.ones((1,))
    grads = {"x": mx.nd.zeros((6, 200)), "s": mx.nd.zeros((1,))}
    executor = outs.bind(mx.cpu(), {"x": x, "s": s}, grads)

    def run():
        found = executor.forward(is_train=True)[0].asnumpy()
        executor.backward([mx.nd.ones((6, 200)), mx.nd.ones((1,))])
        np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), found)  # the same mask
        return found

    mx.random.seed(3)
    first, second = run(), run()
    assert all(not np.array_equal(first[i], first[j]) for i in range(6) for j in range(i))
    assert not np.array_equal(first, second) and 0.4 < (first > 0).mean() < 0.6
    mx.random.seed(3)
    np.testing.assert_array_equal(run(), first)
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), np.ones((6, 200)))


def test_batch_norm_moves_its_statistics_in_each_run():
    def body(row, s):
        return S.BatchNorm(row, name="bn", fix_gamma=False, momentum=0.5), s

    net = loop(body, "x", "s")
    assert "bn_moving_mean" in net.list_arguments() and not net.list_auxiliary_states()
    x = numbers(4, 3, 5, 2)
    executor = net.simple_bind(mx.cpu(), x=(3, 5, 2), s=(1,), grad_req="write")
    executor.arg_dict["x"][:] = x
    executor.arg_dict["bn_gamma"][:] = 1
    executor.arg_dict["bn_moving_var"][:] = 1
    out = executor.forward(is_train=True)[0].asnumpy()
    executor.backward([mx.nd.ones((3, 5, 2)), mx.nd.ones((1,))])
    want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(out, want, 1e-4, 1e-4)
    mean = np.zeros(2)
    for t in reversed(range(3)):  # backward moves them, from the last run on
        mean = 0.5 * mean + 0.5 * x[t].mean(0)
    np.testing.assert_allclose(executor.arg_dict["bn_moving_mean"].asnumpy(), mean, 1e-4, 1e-5)
    assert not executor.grad_dict["bn_moving_mean"].asnumpy().any()


class Halved(mx.operator.CustomOp):
    """Keeps what it saw in forward for backward."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.seen = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], in_data[0] * in_data[0] / 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * mx.nd.array(self.seen))


@mx.operator.register("test_control_flow_halved")
class HalvedProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Halved()


def test_custom_operator_keeps_its_state_run_by_run():
    net = loop(lambda row, s: (S.Custom(row + s, op_type="test_control_flow_halved"), s * 2), "x")
    x, s = numbers(6, 4, 3), numbers(7, 3)
    args = {"x": mx.nd.array(x), "s": mx.nd.array(s)}
    grads = {"x": mx.nd.zeros((4, 3)), "s": mx.nd.zeros((3,))}
    executor = net.bind(mx.cpu(), args, grads)
    for _ in range(2):
        outs = executor.forward(is_train=True)
        executor.backward([mx.nd.ones((4, 3)), mx.nd.zeros((3,))])
    seen = x + s * 2.0 ** np.arange(4)[:, None]
    np.testing.assert_allclose(outs[0].asnumpy(), seen**2 / 2, 1e-5, 1e-6)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), seen, 1e-5, 1e-6)
    want = (seen * 2.0 ** np.arange(4)[:, None]).sum(0)
    np.testing.assert_allclose(executor.grad_dict["s"].asnumpy(), want, 1e-5, 1e-6)


def test_embedding_rows_inside():
    """Rows that a gradient is known to have are those of one run only."""
    w = S.var("w")
    net = loop(lambda row, s: (S.Embedding(row, w, input_dim=9, output_dim=2), s), "x", "s")
    x = np.array([[1, 2], [2, 3], [8, 1]])
    args = {"x": mx.nd.array(x), "s": mx.nd.ones(1), "w": mx.nd.array(numbers(8, 9, 2))}
    grads = {k: mx.nd.ones(v.shape) for k, v in args.items()}
    executor = net.bind(mx.cpu(), args, grads, {"x": "null", "s": "null", "w": "write"})
    for _ in range(3):
        outs = executor.forward(is_train=True)
        executor.backward([mx.nd.ones(o.shape) for o in outs])
        want = np.bincount(x.ravel(), minlength=9)[:, None] * np.ones(2)
        np.testing.assert_array_equal(executor.grad_dict["w"].asnumpy(), want)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_dtypes(dtype):
    net = loop(lambda row, s: (S.tanh(row * s), row + s), "x", "s")
    x, s = numbers(9, 5, 4).astype(dtype), numbers(10, 4).astype(dtype)
    assert net.infer_type(x=dtype)[1] == [np.dtype(dtype).type] * 2
    args = {"x": mx.nd.array(x, dtype=dtype), "s": mx.nd.array(s, dtype=dtype)}
    outs = net.bind(mx.cpu(), args).forward()
    sums = np.cumsum(np.concatenate([s[None], x]).astype("float64"), 0)
    tolerance = 1e-12 if dtype == "float64" else 2e-2
    np.testing.assert_allclose(outs[1].asnumpy(), sums[-1], tolerance, tolerance)
    np.testing.assert_allclose(outs[0].asnumpy(), np.tanh(x * sums[:-1]), tolerance, tolerance)


def test_integer_counter():
    """States of integers have no gradient; others do."""
    outs, (i, s) = S.contrib.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (s, [i + 1, s * S.cast(i + 1, dtype="float32")]),
        [S.var("i"), S.var("s")],
        max_iterations=5,
    )
    net = S.Group([outs, i, s])
    executor = net.simple_bind(mx.cpu(), i=(1,), s=(1,), type_dict={"i": "int32"}, grad_req="write")
    executor.arg_dict["s"][:] = 2
    found = [a.asnumpy().ravel().tolist() for a in executor.forward(is_train=True)]
    assert found == [[2, 2, 4, 0, 0], [3], [12]]
    heads = [mx.nd.ones((5, 1)), mx.nd.zeros(1, dtype="int32"), mx.nd.ones(1)]
    executor.backward(heads)
    assert executor.grad_dict["s"].asnumpy().tolist() == [1 + 1 + 2 + 6]
    assert executor.grad_dict["i"].asnumpy().tolist() == [0]


def test_loop_that_never_runs():
    outs, last = S.contrib.while_loop(
        lambda s: s < 0, lambda s: (s * 2, s + 1), S.var("s"), max_iterations=3
    )
    executor = S.Group([outs, last]).bind(
        mx.cpu(), {"s": mx.nd.ones(1)}, {"s": mx.nd.zeros(1)}, "add"
    )
    found = executor.forward(is_train=True)
    assert [a.asnumpy().ravel().tolist() for a in found] == [[0, 0, 0], [1]]
    executor.backward([mx.nd.ones((3, 1)), mx.nd.array([5])])
    executor.backward([mx.nd.ones((3, 1)), mx.nd.array([5])])
    assert executor.grad_dict["s"].asnumpy().tolist() == [10]


# --- plans ---------------------------------------------------------------------------------------
def test_only_what_is_wanted_has_a_gradient():
    w = S.var("w")
    net = loop(lambda row, s: (row * w, s + row * w), "x", "s")
    x, s, weight = numbers(11, 3, 2), numbers(12, 2), numbers(13, 2)
    args = {"x": mx.nd.array(x), "s": mx.nd.array(s), "w": mx.nd.array(weight)}
    want = {"x": np.broadcast_to(weight, (3, 2)) * 2, "s": np.ones(2), "w": x.sum(0) * 2}
    for name in args:
        grads = {name: mx.nd.zeros(args[name].shape)}
        executor = net.bind(mx.cpu(), args, grads)
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones((3, 2)), mx.nd.ones(2)])
        np.testing.assert_allclose(grads[name].asnumpy(), want[name], 1e-5, 1e-6)


def test_prediction_sees_changed_weights():
    def body(row, s):
        s = S.FullyConnected(row + s, num_hidden=64, name="fc")
        return s, s

    executor = loop(body, "x", "s").simple_bind(
        mx.cpu(), x=(4, 32, 64), s=(32, 64), grad_req="null"
    )
    executor.arg_dict["x"][:] = numbers(14, 4, 32, 64)
    for seed in (15, 16):
        weight = numbers(seed, 64, 64) / 8
        executor.arg_dict["fc_weight"][:] = weight
        s = np.zeros((32, 64))
        for row in executor.arg_dict["x"].asnumpy():
            s = (row + s) @ weight.T
        np.testing.assert_allclose(executor.forward()[1].asnumpy(), s, 1e-3, 1e-3)


def test_two_calls_before_one_backward():
    net = Recurrent(mx.gluon.rnn.RNNCell(3, input_size=2))
    net.initialize(mx.init.Xavier())
    s = mx.nd.zeros((1, 3))
    a, b = (mx.nd.array(numbers(k, 4, 1, 2)) for k in (17, 18))

    def run():
        a.attach_grad()
        b.attach_grad()
        with mx.autograd.record():
            loss = (net(a, s)[0] * net(b, s)[0]).sum()
        loss.backward()
        return a.grad.asnumpy(), b.grad.asnumpy()

    eager = run()
    net.hybridize()
    for x, y in zip(eager, run()):
        np.testing.assert_allclose(x, y, 1e-4, 1e-6)


def test_gradient_of_a_gradient():
    net = Recurrent(mx.gluon.rnn.RNNCell(3, input_size=2))
    net.initialize(mx.init.Xavier())
    x, s = mx.nd.array(numbers(19, 4, 1, 2)), mx.nd.zeros((1, 3))

    def run():
        x.attach_grad()
        with mx.autograd.record():
            out = net(x, s)[0].sum()
            grad = mx.autograd.grad(out, [x], create_graph=True)[0]
            loss = (grad * grad).sum()
        loss.backward()
        return x.grad.asnumpy()

    eager = run()
    net.hybridize()
    np.testing.assert_allclose(run(), eager, 1e-4, 1e-6)
    assert abs(eager).max() > 1e-4


def test_words_about_a_plan():
    def body(row, s):
        s = S.FullyConnected(row + s, num_hidden=3, name="inner")
        return s, s

    executor = loop(body, "x", "s").simple_bind(mx.cpu(), x=(4, 2, 3), s=(2, 3), grad_req="write")
    text = executor.debug_str()
    assert "forward  _foreach" in text and "FullyConnected inner" in text and "body," in text

    def run():
        executor.forward(True)
        executor.backward([mx.nd.ones((4, 2, 3)), mx.nd.ones((2, 3))])

    rows = executor.profile(run, 2)
    for direction in ("forward", "backward"):
        whole = [t for d, name, t in rows if d == direction and "/" not in name]
        inside = [t for d, name, t in rows if d == direction and "/ body / FullyConnected" in name]
        assert len(whole) == len(inside) == 1 and 0 < inside[0] < whole[0]


def test_monitor_sees_the_loop():
    net = loop(lambda row, s: (row + s, row * s), "x", "s")
    executor = net.simple_bind(mx.cpu(), x=(4, 2), s=(2,), grad_req="write")
    executor.arg_dict["x"][:] = 2
    seen = {}
    executor.set_monitor_callback(lambda name, array: seen.update({name: array.asnumpy()}))
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((4, 2)), mx.nd.ones(2)])
    name = net.list_outputs()[0]
    np.testing.assert_array_equal(seen[name][0], [2, 2])
    assert any("backward_output" in key for key in seen)


def test_steady_runs_take_no_memory():
    w = S.var("w")
    net = loop(lambda row, s: (S.dot(row, w), s + S.dot(row, w)), "x", "s")
    executor = net.simple_bind(mx.cpu(), x=(6, 4, 4), s=(4, 4), w=(4, 4), grad_req="write")
    heads = [mx.nd.ones((6, 4, 4)), mx.nd.ones((4, 4))]

    def run():
        executor.forward(True)
        executor.backward(heads)
        mx.nd.waitall()

    run()
    before = mx.storage.stats(mx.cpu()) if hasattr(mx.storage, "stats") else None
    for _ in range(5):
        run()
    assert before is None or mx.storage.stats(mx.cpu()) == before


# --- errors --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "call, kind, words",
    [
        (
            lambda: S.contrib.foreach(lambda d, s: (s, s), S.var("x"), S.var("s")),
            AssertionError,
            "does not use the data 'x-0'",
        ),
        (lambda: S.contrib.foreach(lambda d, s: (d, s), 3, S.var("s")), AssertionError, "data"),
        (
            lambda: S.contrib.foreach(lambda d, s: (d, 3), S.var("x"), S.var("s")),
            AssertionError,
            "states that body gives",
        ),
        (
            lambda: S.contrib.foreach(lambda d, s: d, S.var("x"), S.var("s")),
            ValueError,
            "two things",
        ),
        (
            lambda: S.contrib.foreach(lambda d, s: (d, [s, s]), S.var("x"), S.var("s")),
            AssertionError,
            "structure",
        ),
        (
            lambda: S.contrib.while_loop(lambda i: i < 3, lambda i: (i, i), S.var("i")),
            ValueError,
            "max_iterations",
        ),
        (
            lambda: S.contrib.while_loop(lambda i: i < 3, lambda i: (i, i), S.var("i"), 0),
            CynetError,
            "max_iterations",
        ),
        (
            lambda: S.contrib.while_loop(lambda i: i < 3, lambda i: (i, i), [], 2),
            ValueError,
            "at least one",
        ),
        (
            lambda: S.contrib.while_loop(lambda i: 3, lambda i: (i, i), S.var("i"), 2),
            ValueError,
            "cond must give a Symbol",
        ),
        (
            lambda: S.contrib.while_loop(
                lambda i, j: j, lambda i, j: (i, [i, i]), [S.var("i"), S.var("j")], 2
            ),
            ValueError,
            "variable 1",
        ),
        (
            lambda: S.contrib.cond(True, lambda: S.var("a"), lambda: S.var("b")),
            AssertionError,
            "cond: pred",
        ),
        (
            lambda: S.contrib.cond(S.var("p"), lambda: [S.var("a")] * 2, lambda: S.var("b")),
            ValueError,
            "2 outputs, else_func 1",
        ),
        (
            lambda: mx.nd.contrib.foreach(lambda d, s: (d, s), 3, mx.nd.ones(1)),
            AssertionError,
            "data",
        ),
        (
            lambda: mx.nd.contrib.foreach(
                lambda d, s: (d[0], s), [mx.nd.ones((3, 2)), mx.nd.ones((2, 2))], mx.nd.ones(2)
            ),
            ValueError,
            "2 rows",
        ),
        (
            lambda: mx.nd.contrib.while_loop(
                lambda i: mx.nd.ones(2), lambda i: (i, i), mx.nd.ones(1), 2
            ),
            ValueError,
            "one number",
        ),
        (lambda: mx.nd.contrib.cond(mx.nd.ones(2), lambda: 1, lambda: 2), ValueError, "one number"),
        (
            lambda: mx.nd._internal._foreach(
                data0=mx.nd.ones(1),
                num_args=2,
                num_outputs=1,
                num_out_data=1,
                in_state_locs=(),
                in_data_locs=(0,),
                remain_locs=(),
            ),
            ValueError,
            "mx.sym.contrib.foreach",
        ),
    ],
)
def test_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_shapes_that_do_not_fit():
    net = loop(lambda row, s: (row, S.broadcast_add(row, s)), "x", "s")
    with pytest.raises(mx.base.MXNetError, match="_foreach"):
        net.infer_shape(x=(3, 2), s=(1,))
    pair, _ = S.contrib.foreach(lambda d, s: (d[0] + d[1], s), [S.var("x"), S.var("y")], S.var("s"))
    with pytest.raises(mx.base.MXNetError, match="_foreach"):
        pair.infer_shape(x=(3, 2), y=(4, 2), s=(1,))
    out = S.contrib.cond(S.var("p"), lambda: S.var("a"), lambda: S.var("a") * 2)
    with pytest.raises(mx.base.MXNetError, match="one number"):
        out.infer_shape(p=(2,), a=(3,))


def test_failure_inside_names_the_run():
    @mx.operator.register("test_control_flow_fails")
    class FailsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            class Fails(mx.operator.CustomOp):
                def forward(self, is_train, req, in_data, out_data, aux):
                    if in_data[0].asnumpy()[0] > 2:
                        raise ZeroDivisionError("too much")
                    self.assign(out_data[0], req[0], in_data[0])

            return Fails()

    net = loop(
        lambda row, s: (S.Custom(row, op_type="test_control_flow_fails", name="mine"), s), "x"
    )
    args = {"x": mx.nd.array([[1], [2], [3], [4]]), "s": mx.nd.ones(1)}
    executor = net.bind(mx.cpu(), args)
    with pytest.raises(ZeroDivisionError, match=r"_foreach.*run 2 of a body.*'mine'.*too much"):
        executor.forward()[0].asnumpy()
    args["x"][:] = 1
    assert executor.forward()[0].asnumpy().tolist() == [[1]] * 4


def test_files_are_checked():
    text = loop(lambda row, s: (row, s + row), "x", "s").tojson()
    for old, new, words in (
        ('"remain_locs": "[]"', '"remain_locs": "[7]"', "subgraph 0"),
        ('"num_out_data": "1"', '"num_out_data": "2"', "do not fit"),
        ('"in_data_locs": "[0]"', '"in_data_locs": "[]"', "do not fit"),
        (
            '"heads": [[1, 0, 0], [3, 0, 0]]',
            '"heads": [[1, 0, 0], [3, 0, 0], [3, 0, 0]]',
            "3 outputs, expected 2",
        ),
    ):
        assert old in text, text
        with pytest.raises(mx.base.MXNetError, match=words):
            mx.sym.load_json(text.replace(old, new))
