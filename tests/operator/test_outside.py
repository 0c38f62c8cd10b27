"""Indices outside of a table: MXNet's value, said once with layer, index and length, or refused."""

import threading
import warnings

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.base import config
from cynet.base.errors import CynetError
from cynet.operator.checks import outside

N = 7


@pytest.fixture(autouse=True)
def _nothing_told_yet():
    outside._warned_keys.clear()


def told(call):
    """What is warned of while `call` runs, and what it gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        out = call()
        out = out.asnumpy()
        nd.waitall()
    return [str(each.message) for each in found], out


def table(width=2):
    return nd.array(np.arange(N * width).reshape(N, width))


def in_module(ids):
    net = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=N, output_dim=2, name="words")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (len(ids),))], for_training=False)
    module.init_params(mx.init.Zero())
    module.set_params({"words_weight": table()}, {})
    module.forward(mx.io.DataBatch([nd.array(ids)]), is_train=False)
    return module.get_outputs()[0]


def in_layer(ids, hybrid, **how):
    layer = gluon.nn.Embedding(N, 2, prefix="words_", **how)
    layer.initialize()
    layer.weight.set_data(table())
    if hybrid:
        layer.hybridize()
        layer(nd.zeros(len(ids)))
    return layer(nd.array(ids))


def in_thread(ids):
    found = []
    run = threading.Thread(target=lambda: found.append(in_layer(ids, False)))
    run.start()
    run.join()
    return found[0]


def pick(ids, **mode):
    return nd.pick(nd.array([np.arange(N)] * len(ids)), nd.array(ids), **mode)


WAYS = {
    "Embedding": lambda ids: nd.Embedding(nd.array(ids), table(), input_dim=N, output_dim=2),
    "layer": lambda ids: in_layer(ids, False),
    "hybridized layer": lambda ids: in_layer(ids, True),
    "Module": in_module,
    "thread": in_thread,
    "many": lambda ids: nd.Embedding(
        nd.array([*[1] * 70_000, *ids]), nd.zeros((N, 64)) + table(1), input_dim=N, output_dim=64
    )[-len(ids) :],
    "float16": lambda ids: nd.Embedding(
        nd.array(ids), table().astype("float16"), input_dim=N, output_dim=2, dtype="float16"
    ),
    "int32": lambda ids: nd.Embedding(
        nd.array(ids, dtype="int32"), table(), input_dim=N, output_dim=2
    ),
    "take": lambda ids: nd.take(table(), nd.array(ids)),
    "take method": lambda ids: table().take(nd.array(ids)),
    "take of columns": lambda ids: nd.take(table().T, nd.array(ids), axis=1).T,
    "take of csr": lambda ids: nd.take(table().tostype("csr"), nd.array(ids)).tostype("default"),
    "pick": pick,
    "batch_take": lambda ids: nd.batch_take(nd.array([np.arange(N)] * len(ids)), nd.array(ids)),
}


@pytest.mark.parametrize("ids, first", [([2, 9, 50], 9), ([2, -3, 9], -3), ([2, 7], 7)])
@pytest.mark.parametrize("name", WAYS)
def test_an_index_outside_is_told_once(name, ids, first):
    found, out = told(lambda: WAYS[name](ids))
    assert len(found) == 1, found
    assert f"index {first} in '" in found[0]
    assert f"names none of {N} places, 0 to {N - 1}" in found[0]
    assert ("first" if first < 0 else "last") in found[0]
    if name in ("hybridized layer", "Module"):
        assert "(node 'words" in found[0]
    _, wanted = told(lambda: WAYS[name](np.clip(ids, 0, N - 1).tolist()))
    np.testing.assert_array_equal(out, wanted)
    again, _ = told(lambda: WAYS[name](ids))
    assert again == [], again


@pytest.mark.parametrize("name", WAYS)
def test_indices_within_are_not_told(name):
    found, _ = told(lambda: WAYS[name]([0, N - 1, 3]))
    assert found == []


def test_fractions_are_cut_off_before():
    found, out = told(lambda: WAYS["Embedding"]([-0.5, N - 0.5]))
    assert found == []
    np.testing.assert_array_equal(out, table().asnumpy()[[0, N - 1]])


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_a_mode_that_is_written_out_tells_nothing(mode):
    for call in (
        lambda: nd.take(table(), nd.array([2, 9, -3]), mode=mode),
        lambda: nd.take(table().tostype("csr"), nd.array([2, 9, -3]), mode=mode),
        lambda: pick([2, 9, -3], mode=mode),
        lambda: pick([2, 9, -3], keepdims=True, mode=mode),
    ):
        assert told(call)[0] == []


@pytest.mark.parametrize("name", WAYS)
def test_the_setting_refuses(name):
    with config.environment("CYNET_INDEX_OUTSIDE", "error"):
        with pytest.raises(CynetError, match=f"index 9 in '.*' names none of {N} places"):
            WAYS[name]([2, 9]).asnumpy()
            nd.waitall()
        WAYS[name]([0, N - 1]).asnumpy()
    with config.environment("CYNET_INDEX_OUTSIDE", "clip"):
        assert told(lambda: WAYS[name]([2, 9]))[0] == []


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("ids", [[1, N], [1, -1]])
def test_sparse_grad_refuses(hybrid, ids):
    with pytest.raises(CynetError, match=f"names none of {N} places"):
        in_layer(ids, hybrid, sparse_grad=True).asnumpy()
    weight = table().tostype("row_sparse")
    with pytest.raises(CynetError, match=f"names none of {N} places"):
        nd.Embedding(nd.array(ids), weight, input_dim=N, output_dim=2).asnumpy()
    weight = table()
    weight.attach_grad(stype="row_sparse")
    with autograd.record():
        out = nd.Embedding(nd.array([1, 2]), weight, input_dim=N, output_dim=2)
    out.backward()
    assert weight.grad.indices.asnumpy().tolist() == [1, 2]
    with pytest.raises(CynetError, match=f"names none of {N} places"):
        nd.contrib.SparseEmbedding(nd.array(ids), weight, input_dim=N, output_dim=2).asnumpy()


def test_lengths_that_vary_are_told_of_no_more_than_a_hundred_times():
    def call():
        for n in range(1, 131):
            out = nd.take(nd.ones((n,)), nd.array([500.0]))
        return out

    assert len(told(call)[0]) == len(outside._warned_keys) == 100
