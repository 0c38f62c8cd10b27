"""NumpyOp and NDArrayOp: instances called on symbols."""

import gc
import weakref

import numpy as np
import pytest

import cynet as mx


class Tile(mx.operator.NumpyOp):
    """Repeats the array along a new last axis."""

    def __init__(self, tiles):
        super().__init__(True)
        self.tiles = tiles

    def list_arguments(self):
        return ["input"]

    def infer_shape(self, in_shape):
        return [in_shape[0]], [in_shape[0] + [self.tiles]]

    def forward(self, in_data, out_data):
        out_data[0][:] = in_data[0][..., np.newaxis]

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = out_grad[0].sum(axis=-1)


class SoftmaxND(mx.operator.NDArrayOp):
    """A softmax loss on NDArrays; infer_shape returns three tuples."""

    def __init__(self):
        super().__init__(False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return (in_shape[0], (in_shape[0][0],)), (in_shape[0],), ()

    def forward(self, in_data, out_data):
        out_data[0][:] = mx.nd.softmax(in_data[0])

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = out_data[0] - mx.nd.one_hot(in_data[1], depth=out_data[0].shape[1])


def test_tile_on_a_symbol(rng):
    net = Tile(10)(input=mx.sym.Variable("data"), name="tileop")
    assert net.infer_shape(data=(2, 3)) == ([(2, 3)], [(2, 3, 10)], [])
    assert net.list_outputs() == ["tileop_output"]
    executor = net.simple_bind(mx.cpu(), data=(2, 3))
    x, og = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 10))
    executor.forward(data=mx.nd.array(x))
    executor.backward(mx.nd.array(og))
    np.testing.assert_allclose(
        executor.outputs[0].asnumpy(), np.repeat(x[..., None], 10, 2), rtol=1e-6
    )
    np.testing.assert_allclose(executor.grad_dict["data"].asnumpy(), og.sum(-1), 1e-5, 1e-6)


def test_gradients_are_added_where_asked(rng):
    net = Tile(4)(input=mx.sym.Variable("data"))
    executor = net.simple_bind(mx.cpu(), grad_req="add", data=(2, 3))
    executor.grad_dict["data"][:] = 1
    for _ in range(2):
        executor.forward()
        executor.backward(mx.nd.ones((2, 3, 4)))
    np.testing.assert_array_equal(executor.grad_dict["data"].asnumpy(), 9)


def test_ndarray_op_agrees_with_the_built_in(rng):
    data = mx.sym.Variable("data")
    got = []
    x, label = rng.normal(size=(5, 4)), rng.integers(0, 4, 5)
    for net in (SoftmaxND()(data=data, name="softmax"), mx.sym.SoftmaxOutput(data, name="softmax")):
        assert net.list_arguments() == ["data", "softmax_label"]
        executor = net.simple_bind(mx.cpu(), grad_req={"data": "write"}, data=(5, 4))
        executor.arg_dict["data"][:], executor.arg_dict["softmax_label"][:] = x, label
        executor.forward(is_train=True)
        executor.backward()
        got.append((executor.outputs[0].asnumpy(), executor.grad_dict["data"].asnumpy()))
    for ours, theirs in zip(*got):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_numpy_arrays_are_views_of_the_real_memory():
    seen = []

    class Look(mx.operator.NumpyOp):
        def forward(self, in_data, out_data):
            seen.append((in_data[0].ctypes.data, out_data[0].ctypes.data))
            out_data[0][:] = in_data[0]

    executor = Look()(data=mx.sym.Variable("x")).simple_bind(mx.cpu(), grad_req="null", x=(3,))
    executor.forward()[0].wait_to_read()
    assert seen == [(executor.arg_dict["x"].data_ptr, executor.outputs[0].data_ptr)]


def test_wrong_returns_are_refused():
    class Wrong(Tile):
        def infer_shape(self, in_shape):
            return [in_shape[0]]

    with pytest.raises(mx.base.MXNetError, match="Wrong: infer_shape returned"):
        Wrong(2)(input=mx.sym.Variable("x")).infer_shape(x=(2,))

    class Names(Tile):
        def list_arguments(self):
            return 3

    with pytest.raises(
        mx.base.MXNetError, match="list_arguments returned 3; expected a list of str"
    ):
        Names(2)(input=mx.sym.Variable("x"))


def test_a_failure_reaches_who_waits():
    class Fails(Tile):
        def forward(self, in_data, out_data):
            raise RuntimeError("in the user's forward")

    executor = Fails(2)(input=mx.sym.Variable("x"), name="f").simple_bind(mx.cpu(), x=(2,))
    executor.forward()
    with pytest.raises(RuntimeError, match="node 'f'.*in the user's forward"):
        executor.outputs[0].asnumpy()


def test_saved_graphs_say_why_they_cannot_be_loaded():
    text = Tile(2)(input=mx.sym.Variable("x")).tojson()
    changed = text.replace('"info": "', '"info": "9999')
    with pytest.raises(mx.base.MXNetError, match="not of this process"):
        mx.sym.load_json(changed)


def test_instances_live_as_long_as_their_nodes():
    op = Tile(2)
    gone, number = weakref.ref(op), op(input=mx.sym.Variable("x")).attr("info")
    net = op(input=mx.sym.Variable("x"))
    assert net.attr("info") == number  # one object, one number
    again = mx.sym.load_json(net.tojson())
    del op, net
    gc.collect()
    assert gone() is not None and again.infer_shape(x=(3,))[1] == [(3, 2)]
    del again
    gc.collect()
    assert gone() is None
    assert Tile(2)(input=mx.sym.Variable("x")).attr("info") != number


def test_the_base_class_makes_no_symbol():
    with pytest.raises(mx.base.MXNetError, match="derive from NumpyOp or NDArrayOp"):
        mx.operator.PythonOp()(mx.sym.Variable("x"))
