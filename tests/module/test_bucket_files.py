"""Checkpoints of BucketingModule: MXNet 1.9.1's files, read and written."""

import re
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, FormatError

FIXTURE = np.load(Path(__file__).parents[1] / "fixtures" / "buckets.npz")
KEYS = {"ints": (5, 3), "tuples": ((5, 2), (3, 1))}


def generate(key):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, flatten=False, name="fc")
    net = mx.sym.SoftmaxOutput(mx.sym.sum(net, axis=1), name="softmax")
    return net, ("data",), ("softmax_label",)


def files_of(kind):
    """The files of MXNet, which counts automatic names on from one symbol that it writes to the
    next; those of the networks that it runs begin anew, as ours do (sum0)."""
    return {
        name: re.sub(rb"sum[0-3]", b"sum0", content) if name.endswith(".json") else content
        for name, content in _files_of(kind).items()
    }


def _files_of(kind):
    return {
        name.partition(".")[2]: FIXTURE[name].tobytes()
        for name in FIXTURE.files
        if name.startswith(kind)
    }


def bound(module):
    module.bind([("data", (4, 5, 3))], [("softmax_label", (4,))])
    return module


def made(keys):
    module = bound(mx.mod.BucketingModule(generate, default_bucket_key=keys[0]))
    module.init_params(mx.init.Constant(0.5))
    module.switch_bucket(keys[1], [("data", (4, 3, 3))], [("softmax_label", (4,))])
    return module


@pytest.mark.parametrize("kind", KEYS)
def test_writes_mxnets_files(kind, tmp_path):
    module = made(KEYS[kind])
    module.save_checkpoint(str(tmp_path / "net"), 7)
    wanted = files_of(kind)
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    own = found.pop("net-symbol.json")  # what load_checkpoint reads
    assert found == wanted
    assert own == wanted[f"net-{KEYS[kind][0]}-symbol.json"]


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("sym_gen", [generate, None])
def test_loads_mxnets_files(kind, tmp_path, sym_gen):
    for name, content in files_of(kind).items():
        (tmp_path / name).write_bytes(content)
    prefix = str(tmp_path / "net")
    module = bound(mx.mod.BucketingModule.load(prefix, 7, sym_gen, KEYS[kind][0]))
    args, auxs = module.get_params()
    assert set(args) == {"fc_weight", "fc_bias"} and not auxs
    assert (args["fc_weight"].asnumpy() == 0.5).all()
    module.switch_bucket(KEYS[kind][1], [("data", (4, 3, 3))], [("softmax_label", (4,))])
    shapes = {"provide_data": [("data", (4, 3, 3))], "provide_label": [("softmax_label", (4,))]}
    arrays = [mx.nd.ones((4, 3, 3))], [mx.nd.zeros(4)]
    module.forward(mx.io.DataBatch(*arrays, bucket_key=KEYS[kind][1], **shapes))
    assert module.get_outputs()[0].shape == (4, 2)
    assert mx.mod.BucketingModule.load(prefix, 7)._default_bucket_key == KEYS[kind][0]


def test_saved_symbols_are_those_of_their_buckets(tmp_path):
    prefix = str(tmp_path / "net")
    made((5, 3)).save_checkpoint(prefix, 1)

    def other(key):
        return mx.sym.Activation(generate(key)[0], act_type="relu", name="act"), *generate(key)[1:]

    module = mx.mod.BucketingModule.load(prefix, 1, other, 5)
    assert module._generate_symbol(3)[0].list_outputs() == ["softmax_output"]
    assert module._generate_symbol(4)[0].list_outputs() == ["act_output"]


def test_keys_that_no_array_holds(tmp_path):
    prefix = str(tmp_path / "net")
    made((5, 3)).save_checkpoint(prefix, 1)
    for keys in (("a", "b"), (5.5, (2, "x")), (2**40, 1)):
        made(keys).save_checkpoint(prefix, 2)
        assert not (tmp_path / "net.buckets").exists()
        loaded = bound(mx.mod.BucketingModule.load(prefix, 2, generate, keys[0]))
        assert set(loaded.get_params()[0]) == {"fc_weight", "fc_bias"}
    with pytest.raises(ArgumentError, match="default_bucket_key is missing"):
        mx.mod.BucketingModule.load(prefix, 2, generate)
    mx.nd.save(f"{prefix}.buckets", {"a": mx.nd.ones(2)})
    with pytest.raises(FormatError, match="must hold one array of bucket keys"):
        mx.mod.BucketingModule.load(prefix, 2, generate, 5)


def test_optimizer_states_go_on(tmp_path):
    prefix = str(tmp_path / "net")

    def train(module, steps):
        for _ in range(steps):
            batch = mx.io.DataBatch(
                [mx.nd.ones((4, 5, 3))],
                [mx.nd.array([0, 1, 0, 0])],
                bucket_key=5,
                provide_data=[("data", (4, 5, 3))],
                provide_label=[("softmax_label", (4,))],
            )
            module.forward_backward(batch)
            module.update()
        return module.get_params()[0]["fc_weight"].asnumpy()

    options = {"learning_rate": 0.1, "momentum": 0.9}
    module = made((5, 3))
    module.init_optimizer(optimizer_params=options)
    train(module, 3)
    module.save_checkpoint(prefix, 3, save_optimizer_states=True)
    wanted = train(module, 3)
    again = mx.mod.BucketingModule.load(prefix, 3, generate, 5, load_optimizer_states=True)
    bound(again).init_optimizer(optimizer_params=options)
    np.testing.assert_array_equal(train(again, 3), wanted)
