"""Checkpoints: what is written comes back; files of other content are refused."""

import numpy as np
import pytest

import cynet as mx
from cynet.errors import FormatError


def test_round_trip(tmp_path):
    net = mx.sym.BatchNorm(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="bn"
    )
    args = {"fc_weight": mx.nd.array(np.arange(6).reshape(3, 2)), "fc_bias": mx.nd.ones(3)}
    auxs = {"bn_moving_mean": mx.nd.full((3,), 2)}
    prefix = str(tmp_path / "net")
    mx.model.save_checkpoint(prefix, 12, net, args, auxs)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net-0012.params", "net-symbol.json"]
    symbol, got_args, got_auxs = mx.model.load_checkpoint(prefix, 12)
    assert symbol.tojson() == net.tojson()
    for found, wanted in ((got_args, args), (got_auxs, auxs)):
        assert set(found) == set(wanted)
        for name, value in wanted.items():
            np.testing.assert_array_equal(found[name].asnumpy(), value.asnumpy())
    assert set(mx.model.load_params(prefix, 12)[0]) == set(args)
    mx.model.save_checkpoint(prefix, 13, None, args, auxs)
    assert (tmp_path / "net-0013.params").exists()


def test_refused(tmp_path):
    prefix = str(tmp_path / "net")
    with pytest.raises(OSError):
        mx.model.load_params(prefix, 1)
    mx.nd.save(f"{prefix}-0001.params", [mx.nd.ones(1)])
    with pytest.raises(FormatError, match="no names"):
        mx.model.load_params(prefix, 1)
    mx.nd.save(f"{prefix}-0002.params", {"weight": mx.nd.ones(1)})
    with pytest.raises(FormatError, match="'weight'"):
        mx.model.load_params(prefix, 2)
