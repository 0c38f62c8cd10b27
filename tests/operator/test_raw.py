"""The raw interface in Python, as MXNet's overview of operators describes it: declarations and what
they save, parameters, resources, inference both ways, and what registration refuses."""

import numpy as np
import pytest

import cynet as mx
from cynet.operator import ResourceRequest
from cynet.operator.custom.simple import assign


def blobs(*lists):
    return [[None if b is None else np.asarray(b) for b in each] for each in lists]


# --- dependency: FullyConnected does not need its output, pooling needs everything ----------------
class FullyConnectedOp(mx.operator.Operator):
    def forward(self, ctx, in_data, req, out_data, aux_states):
        x, weight = map(np.asarray, in_data)
        assign(out_data[0], req[0], x @ weight.T)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        assert out_data == [None]  # not declared
        x, weight, dy = np.asarray(in_data[0]), np.asarray(in_data[1]), np.asarray(out_grad[0])
        assign(in_grad[0], req[0], dy @ weight)
        assign(in_grad[1], req[1], dy.T @ x)


@mx.operator.register("test_fully_connected")
class FullyConnectedProperty(mx.operator.OperatorProperty):
    """data times the transposed weight; (N, K) and (num_hidden, K) give (N, num_hidden)."""

    num_hidden = mx.operator.Int(low=1, doc="How many outputs.")

    def list_arguments(self):
        return ["data", "weight"]

    def infer_shape(self, in_shapes, out_shapes):
        data, weight = in_shapes
        n = (data and data[0]) or (out_shapes[0] and out_shapes[0][0]) or 0
        k = (data and data[1]) or (weight and weight[1]) or 0
        return [(n, k), (self.num_hidden, k)], [(n, self.num_hidden)], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0], in_data[1]]

    def create_operator(self, ctx, in_shapes, in_types):
        return FullyConnectedOp()


class PoolingOp(mx.operator.Operator):
    """The largest of each two neighbours along the last axis."""

    def forward(self, ctx, in_data, req, out_data, aux_states):
        assign(out_data[0], req[0], np.asarray(in_data[0]).reshape(*out_data[0].shape, 2).max(-1))

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        x, y, dy = np.asarray(in_data[0]), np.asarray(out_data[0]), np.asarray(out_grad[0])
        assign(in_grad[0], req[0], (x == y.repeat(2, -1)) * dy.repeat(2, -1))


@mx.operator.register("test_pooling")
class PoolingProperty(mx.operator.OperatorProperty):
    """Inference works both ways: the input has twice the output's last axis."""

    def infer_shape(self, in_shapes, out_shapes):
        (x,), (y,) = in_shapes, out_shapes
        if x is None and y is None:
            return [None], [None], []
        if x is None:
            x = (*y[:-1], 2 * y[-1])
        if x[-1] % 2:
            raise mx.errors.ShapeError(f"the last axis of {x} must be even")
        return [x], [(*x[:-1], x[-1] // 2)], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0], out_data[0]]

    def create_operator(self, ctx, in_shapes, in_types):
        return PoolingOp()


def test_full_connection_and_pooling_have_right_gradients(rng):
    apart = 0
    while apart < 0.05:  # a difference of 1e-3 must not make the other one the larger
        x, weight = rng.normal(size=(4, 3)), rng.normal(size=(6, 3))
        apart = np.abs(np.diff((x @ weight.T).reshape(4, 3, 2))).min()
    net = mx.sym.test_fully_connected(mx.sym.Variable("data"), num_hidden=6, name="fc")
    net = mx.sym.test_pooling(net, name="pool")
    assert net.list_arguments() == ["data", "fc_weight"]
    assert net.infer_shape(data=(4, 3)) == ([(4, 3), (6, 3)], [(4, 3)], [])
    location = {"data": x, "fc_weight": weight}
    expected = (x @ weight.T).reshape(4, 3, 2).max(-1)
    mx.test_utils.check_symbolic_forward(net, location, [expected], rtol=1e-5)
    mx.test_utils.check_numeric_gradient(net, location, numeric_eps=1e-3, rtol=0.05, atol=0.01)


def test_trained_through_module(rng):
    """A network of raw operators learns, beside built-ins."""
    centres = rng.normal(size=(3, 8)) * 3
    labels = rng.integers(0, 3, 300)
    points = centres[labels] + rng.normal(size=(300, 8))
    net = mx.sym.test_fully_connected(mx.sym.Variable("data"), num_hidden=32, name="fc1")
    net = mx.sym.test_pooling(mx.sym.tanh(net), name="pool")
    net = mx.sym.test_fully_connected(net, num_hidden=3, name="fc2")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    batches = mx.io.NDArrayIter(points.astype("f"), labels.astype("f"), 30, shuffle=True)
    module = mx.mod.Module(net)
    module.fit(
        batches, num_epoch=8, initializer=mx.init.Xavier(), optimizer_params={"learning_rate": 0.1}
    )
    assert dict(module.score(batches, "acc"))["accuracy"] > 0.9


# --- in place -------------------------------------------------------------------------------------
class DoublingOp(mx.operator.Operator):
    def forward(self, ctx, in_data, req, out_data, aux_states):
        assign(out_data[0], req[0], np.asarray(in_data[0]) * 2)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        assign(in_grad[0], req[0], np.asarray(out_grad[0]) * 2)


class Doubling(mx.operator.OperatorProperty):
    """Twice the input."""

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return out_grad

    def create_operator(self, ctx, in_shapes, in_types):
        return DoublingOp()


@mx.operator.register("test_inplace")
class Inplace(Doubling):
    """The same; output and gradient may take the memory of what they are made from."""

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]


def test_in_place_options_are_a_hint_that_changes_no_result(rng):
    x = rng.normal(size=(5, 7)).astype("f")
    a, b = mx.nd.array(x), mx.nd.array(x)
    mx.nd.test_inplace(a, out=a)
    np.testing.assert_allclose(a.asnumpy(), 2 * x)
    start = net = mx.sym.Variable("x")
    for _ in range(4):
        net = mx.sym.test_inplace(net)
    net = net + start  # the input is read again, so it must be kept
    executor = net.simple_bind(mx.cpu(), x=(5, 7))
    executor.forward(is_train=True, x=b)
    executor.backward(mx.nd.ones((5, 7)))
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), 17 * x, rtol=1e-6)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 17)


# --- parameters, resources, auxiliary states, several outputs -------------------------------------
class ConvolutionOp(mx.operator.Operator):
    """One-dimensional, by a matrix of windows in temporary space."""

    def __init__(self, prop):
        self.prop = prop

    def windows(self, ctx, x):
        (k,), (s,), (p,) = self.prop.kernel, self.prop.stride, self.prop.pad
        wide = np.pad(x, ((0, 0), (p, p)))
        n = (wide.shape[1] - k) // s + 1
        space = ctx.requested[0].get_space((x.shape[0], n, k), x.dtype)
        for i in range(k):
            space[:, :, i] = wide[:, i : i + s * (n - 1) + 1 : s]
        return space

    def forward(self, ctx, in_data, req, out_data, aux_states):
        x, weight = map(np.asarray, in_data)
        assign(out_data[0], req[0], self.windows(ctx, x) @ weight.T)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        (x, weight), (dy,) = blobs(in_data, out_grad)
        (k,), (s,), (p,) = self.prop.kernel, self.prop.stride, self.prop.pad
        n = dy.shape[1]
        wide = np.zeros((x.shape[0], x.shape[1] + 2 * p), x.dtype)
        parts = dy @ weight
        for i in range(k):
            wide[:, i : i + s * (n - 1) + 1 : s] += parts[:, :, i]
        assign(in_grad[0], req[0], wide[:, p : p + x.shape[1]])
        assign(in_grad[1], req[1], np.einsum("bnf,bnk->fk", dy, self.windows(ctx, x)))


@mx.operator.register("test_convolution")
class ConvolutionProperty(mx.operator.OperatorProperty):
    """Convolution of (batch, length); its output is (batch, places, num_filter)."""

    kernel = mx.operator.Shape(low=1, length=1, doc="Width of the window.")
    stride = mx.operator.Shape(default=(1,), low=1, length=1, doc="Step of the window.")
    pad = mx.operator.Shape(default=(0,), low=0, length=1, doc="Zeros on each side.")
    num_filter = mx.operator.Int(low=1, doc="How many outputs a place.")
    layout = mx.operator.Enum(("NW",), default="NW", doc="Order of the axes.")
    no_bias = mx.operator.Bool(default=True, doc="There is no bias.")

    def list_arguments(self):
        return ["data", "weight"]

    def infer_shape(self, in_shapes, out_shapes):
        weight = (self.num_filter, self.kernel[0])
        data = in_shapes[0]
        if data is None:
            return [None, weight], out_shapes, []
        places = (data[1] + 2 * self.pad[0] - self.kernel[0]) // self.stride[0] + 1
        return [data, weight], [(data[0], places, self.num_filter)], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    backward_resource = forward_resource

    def create_operator(self, ctx, in_shapes, in_types):
        return ConvolutionOp(self)


def test_typed_parameters_from_values_and_from_strings(rng):
    data = mx.sym.Variable("data")
    given = mx.sym.test_convolution(data, kernel=(3,), num_filter=4, stride=2, pad=[1], name="c")
    texts = mx.sym.test_convolution(
        data, kernel="(3,)", num_filter="4", stride="(2,)", pad="(1)", no_bias="True", name="c"
    )
    for net in (given, texts, mx.sym.load_json(given.tojson())):
        assert net.infer_shape(data=(2, 9)) == ([(2, 9), (4, 3)], [(2, 5, 4)], [])
    assert given.attr_dict()["c"]["kernel"] == "(3,)"
    location = {"data": rng.normal(size=(2, 9)), "c_weight": rng.normal(size=(4, 3))}
    mx.test_utils.check_numeric_gradient(given, location, numeric_eps=1e-2, rtol=0.02, atol=1e-2)
    x = mx.nd.array(location["data"])
    weight = mx.nd.array(location["c_weight"])
    out = mx.nd.test_convolution(x, weight, kernel=(3,), num_filter=4).asnumpy()
    windows = np.lib.stride_tricks.sliding_window_view(location["data"], 3, 1)
    np.testing.assert_allclose(out, windows @ location["c_weight"].T, rtol=1e-5, atol=1e-5)
    document = mx.nd.test_convolution.__doc__
    assert "Width of the window." in document and "kernel : tuple of int, required" in document
    with pytest.raises(mx.base.MXNetError, match=r"parameter 'pad' takes .* >= 0"):
        mx.sym.test_convolution(data, kernel=3, num_filter=4, pad=-1)
    with pytest.raises(mx.base.MXNetError, match="required parameter 'num_filter'"):
        mx.sym.test_convolution(data, kernel=3)
    with pytest.raises(mx.base.MXNetError, match="parameter 'layout' takes.*'NW'.*got 'WN'"):
        mx.sym.test_convolution(data, kernel=3, num_filter=1, layout="WN")


@mx.operator.register("test_noise")
class NoiseProperty(mx.operator.OperatorProperty):
    """The input with random noise while training; counts its runs, and says where it ran."""

    def list_outputs(self):
        return ["output", "hidden"]

    def num_visible_outputs(self):
        return 1

    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shapes, out_shapes):
        return in_shapes, [in_shapes[0], in_shapes[0]], [(2,)]

    def forward_resource(self, in_shapes):
        return [ResourceRequest.random]

    def create_operator(self, ctx, in_shapes, in_types):
        return NoiseOp()


class NoiseOp(mx.operator.Operator):
    def forward(self, ctx, in_data, req, out_data, aux_states):
        noise = ctx.requested[0].get_random().normal(size=in_data[0].shape) * ctx.is_train
        assert ctx.run_ctx.ctx == mx.cpu() and ctx.run_ctx.stream == 0
        assign(out_data[1], req[1], noise)
        assign(out_data[0], req[0], np.asarray(in_data[0]) + noise)
        np.asarray(aux_states[0])[int(ctx.is_train)] += 1

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        assert out_grad[1] is None  # nobody sees the second output
        assign(in_grad[0], req[0], np.asarray(out_grad[0]) * np.asarray(out_data[1]))


def test_random_resource_states_and_hidden_outputs():
    net = mx.sym.test_noise(mx.sym.Variable("x"), name="noise")
    assert net.list_outputs() == ["noise_output"]
    assert net.list_auxiliary_states() == ["noise_count"]
    runs = []
    for _ in range(2):
        mx.random.seed(5)
        executor = net.simple_bind(mx.cpu(), x=(3, 4))
        executor.forward(is_train=True)
        runs.append(executor.outputs[0].asnumpy())
        executor.backward(mx.nd.ones((3, 4)))
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), runs[-1])
        assert executor.forward(is_train=False)[0].asnumpy().tolist() == [[0] * 4] * 3
        assert executor.aux_dict["noise_count"].asnumpy().tolist() == [1, 1]
    np.testing.assert_array_equal(*runs)
    assert runs[0].std() > 0.3


def test_inference_both_ways_and_partly():
    x = mx.sym.Variable("x")
    net = mx.sym.test_pooling(x, name="pool")
    shaped = mx.sym.broadcast_add(net, mx.sym.Variable("y", shape=(2, 5)))
    same = net + mx.sym.Variable("y", shape=(2, 5))
    assert dict(zip(same.list_arguments(), same.infer_shape()[0]))["x"] == (2, 10)
    assert shaped.infer_shape_partial()[0][0] in ((), None)
    with pytest.raises(mx.base.MXNetError, match=r"pool.*the last axis of \(2, 3\) must be even"):
        net.infer_shape(x=(2, 3))
    with pytest.raises(mx.base.MXNetError, match=r"\(2, 6\) and \(2, 5\) do not agree"):
        same.infer_shape(x=(2, 12))


# --- registration ---------------------------------------------------------------------------------
def _register(name="test_wrong_definition", **methods):
    return mx.operator.register(name)(type("Wrong", (Doubling,), methods))


def _half(self, in_shapes, out_shapes):
    x = in_shapes[0]
    return [x], [x and (x[0] // 2, *x[1:])], []


@pytest.mark.parametrize(
    "methods, message",
    [
        (
            {"infer_shape": _half, "forward_inplace_option": lambda s, i, o: [(i[0], o[0])]},
            r"forward_inplace_option lets in_data\[0\] and out_data\[0\] share memory, but they "
            r"have different sizes: with inputs \[\(6, 10\)\] the shapes are \(6, 10\) and "
            r"\(3, 10\)",
        ),
        (
            {"infer_shape": _half, "backward_inplace_option": lambda s, g, i, o, d: [(g[0], d[0])]},
            r"backward_inplace_option lets out_grad\[0\] and in_grad\[0\] share memory, but they "
            r"have different sizes",
        ),
        (
            {"forward_inplace_option": lambda s, i, o: [(o[0], i[0])]},
            r"forward_inplace_option returned \(2, 1\); expected pairs of one of \[1\] with one "
            r"of \[2\]",
        ),
        (
            {"backward_inplace_option": lambda s, g, i, o, d: [(i[0], d[0])]},
            "backward_inplace_option returned .*expected pairs",  # backward does not read in_data
        ),
        (
            {"declare_backward_dependency": lambda s, g, i, o: [*g, 12]},
            r"declare_backward_dependency returned \[0, 12\]; expected a list of ids out of",
        ),
        ({"list_arguments": lambda s: ["a", "a"]}, "returned .*; expected names that differ"),
        (
            {"list_arguments": lambda s: ["a"], "list_auxiliary_states": lambda s: ["a"]},
            r"'a' appears twice in the inputs and states \['a', 'a'\]",
        ),
        ({"list_outputs": lambda s: []}, "expected at least one name"),
        ({"num_visible_outputs": lambda s: 2}, "an int from 1 to the number of outputs, 1"),
    ],
)
def test_wrong_definitions_are_refused_at_registration(methods, message):
    with pytest.raises(mx.base.MXNetError, match="'test_wrong_definition': .*" + message):
        _register(**methods)
    assert not hasattr(mx.sym, "test_wrong_definition")
    assert "test_wrong_definition" not in mx.operator.get_all_registered_operators()


def test_required_parameters_and_what_depends_on_them():
    class Many(Doubling):
        """As many inputs as `n` says."""

        n = mx.operator.Int(low=1, doc="How many inputs.")

        def list_arguments(self):
            return [f"arg{i}" for i in range(self.n)]

        def infer_shape(self, in_shapes, out_shapes):
            return in_shapes, [in_shapes[0]], []

    with pytest.raises(
        mx.base.MXNetError,
        match=r"'test_many': list_arguments reads the required parameter 'n'; .*any_parameters",
    ):
        mx.operator.register("test_many")(Many)
    Many.any_parameters = True
    mx.operator.register("test_many")(Many)
    net = mx.sym.test_many(n=3, name="m")
    assert net.list_arguments() == ["m_arg0", "m_arg1", "m_arg2"]
    assert mx.nd.test_many(mx.nd.ones((1,)), mx.nd.ones((1,)), n=2).asscalar() == 2

    class Shown(Doubling):
        """Only what is computed depends on `n`: in-place pairs of wrong sizes are found."""

        n = mx.operator.Int(doc="A number.")
        infer_shape = _half

        def forward_inplace_option(self, in_data, out_data):
            return [(in_data[0], out_data[0])]

    with pytest.raises(mx.base.MXNetError, match="share memory, but they have different sizes"):
        mx.operator.register("test_shown")(Shown)

    class Late(Shown):
        """It cannot be asked before `n` is known."""

        def infer_shape(self, in_shapes, out_shapes):
            return in_shapes, [(self.n,)], []

    mx.operator.register("test_late")(Late)
    assert mx.sym.test_late(mx.sym.Variable("x"), n=2).infer_shape(x=(5,))[1] == [(2,)]


def test_a_pair_whose_sizes_differ_for_some_inputs_only_is_a_hint():
    """As long as some inputs fit, the planner takes the pair where it fits."""

    def shapes(self, in_shapes, out_shapes):
        x = in_shapes[0]
        return [x], [x and (x if len(x) == 2 else (x[0],))], []

    _register(
        "test_sometimes", infer_shape=shapes, forward_inplace_option=lambda s, i, o: [(i[0], o[0])]
    )
    assert mx.sym.test_sometimes(mx.sym.Variable("x")).infer_shape(x=(2, 3, 4))[1] == [(2,)]


def test_a_taken_name():
    for name in ("FullyConnected", "smooth_l1", "_plus"):
        with pytest.raises(mx.base.MXNetError, match=f"name '{name}' is already taken"):
            _register(name)
    with pytest.raises(TypeError, match="register takes the operator's name"):
        mx.operator.register(3)


@pytest.mark.parametrize(
    "methods, message",
    [
        ({"list_arguments": lambda s: ["a", "a"]}, r"list_arguments returned .* names that differ"),
        ({"list_outputs": lambda s: []}, "list_outputs returned .* at least one name"),
        (
            {"list_auxiliary_states": lambda s: ["data"]},
            r"\['data'\] are inputs and auxiliary states",
        ),
        (
            {"declare_backward_dependency": lambda s, g, i, o: [*g, *i, 7]},
            r"declare_backward_dependency returned \[0, 1, 7\]; expected a list of ids out of",
        ),
    ],
)
def test_wrong_custom_definitions_are_refused_at_registration(methods, message):
    cls = type("Wrong", (mx.operator.CustomOpProp,), methods)
    with pytest.raises(mx.base.MXNetError, match="custom operator 'test_wrong_prop': " + message):
        mx.operator.register("test_wrong_prop")(cls)
    assert "test_wrong_prop" not in mx.operator.get_all_registered_operators()


def test_a_custom_definition_that_needs_parameters_is_asked_later():
    class Prop(mx.operator.CustomOpProp):
        def __init__(self, names):
            super().__init__()
            self.names = names.split(",")

        def list_arguments(self):
            return self.names

    mx.operator.register("test_needs_names")(Prop)
    net = mx.sym.Custom(op_type="test_needs_names", names="a,b", name="n")
    assert net.list_arguments() == ["n_a", "n_b"]
    with pytest.raises(mx.base.MXNetError, match="test_needs_names.*names that differ"):
        mx.sym.Custom(op_type="test_needs_names", names="a,a", name="n")


def test_a_custom_operator_run_again_replaces_the_first():
    """As a notebook's cell is; another class under the name is refused."""

    def make(factor, qualname):
        class Op(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0] * factor)

        class Prop(mx.operator.CustomOpProp):
            def create_operator(self, ctx, shapes, dtypes):
                return Op()

        Prop.__qualname__ = qualname
        return Prop

    for factor in (2, 3):
        mx.operator.register("test_again")(make(factor, "A"))
        out = mx.nd.Custom(mx.nd.ones((2,)), op_type="test_again")
        assert out.asnumpy().tolist() == [factor] * 2
    symbol = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_again")
    executor = symbol.bind(mx.cpu(), {"x": mx.nd.ones((2,))})
    mx.operator.register("test_again")(make(4, "B"))  # another class: as MXNet replaces it
    out = mx.nd.Custom(mx.nd.ones((2,)), op_type="test_again")
    assert out.asnumpy().tolist() == [4] * 2
    assert executor.forward()[0].asnumpy().tolist() == [3] * 2
    later = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_again")
    assert later.eval(x=mx.nd.ones((2,)))[0].asnumpy().tolist() == [4] * 2


def test_a_property_registered_again_replaces_the_old_one():
    def define(factor):
        class Times(mx.operator.Operator):
            def forward(self, ctx, in_data, req, out_data, aux_states):
                np.asarray(out_data[0])[:] = np.asarray(in_data[0]) * factor

        @mx.operator.register("test_times_again")
        class TimesProperty(mx.operator.OperatorProperty):
            """The input times a number."""

            def create_operator(self, ctx, in_shapes, in_types):
                return Times()

    x = mx.nd.ones((2,))
    define(2)
    assert mx.nd.test_times_again(x).asnumpy().tolist() == [2, 2]
    executor = mx.sym.test_times_again(mx.sym.Variable("x")).bind(mx.cpu(), {"x": x})
    define(5)
    assert mx.nd.test_times_again(x).asnumpy().tolist() == [5, 5]
    assert executor.forward()[0].asnumpy().tolist() == [2, 2]
    made = mx.sym.test_times_again(mx.sym.Variable("x"))
    assert made.eval(x=x)[0].asnumpy().tolist() == [5, 5]
    with pytest.raises(mx.base.MXNetError, match="has no parameter 'foo'"):
        mx.nd.test_times_again(x, foo=1)


def test_a_refused_name_is_not_kept():
    class Mine(mx.operator.OperatorProperty):
        """A definition."""

    with pytest.raises(mx.base.MXNetError, match="name 'Pooling' is already taken"):
        mx.operator.register_operator("Pooling", Mine)
    assert Mine.op_name is None
    with pytest.raises(mx.base.MXNetError, match="operator Mine has no implementation on cpu"):
        Mine().create_operator(mx.cpu(), [(2,)], ["float32"])
