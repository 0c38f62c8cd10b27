"""NumPy's global generator, of any kind, in what cynet keeps and restores."""

import json

import numpy as np
import pytest

import cynet as mx
from cynet import gluon, nd
from cynet.base.numpy_state import numpy_state, numpy_state_token, seeded_numpy, set_numpy_state


@pytest.fixture(params=["MT19937", "PCG64", "SFC64", "Philox"], autouse=True)
def kind(request):
    before = np.random.get_bit_generator()
    np.random.set_bit_generator(getattr(np.random, request.param)(5))
    yield request.param
    np.random.set_bit_generator(before)


def test_a_state_goes_through_json(kind):
    np.random.randn()  # another normal number is ready
    state = json.loads(json.dumps(numpy_state()))
    wanted = np.random.randn(3).tolist(), np.random.rand(3).tolist()
    np.random.set_bit_generator(np.random.MT19937(1))
    set_numpy_state(state)
    assert type(np.random.get_bit_generator()).__name__ == kind
    assert (np.random.randn(3).tolist(), np.random.rand(3).tolist()) == wanted


@pytest.mark.parametrize("draw", [np.random.rand, np.random.randn, lambda: np.random.randint(9)])
def test_each_draw_changes_the_place(draw):
    for _ in range(5):
        before = numpy_state_token()
        draw()
        assert numpy_state_token() != before


def test_a_loader_goes_on():
    class Noisy(gluon.data.Dataset):
        def __len__(self):
            return 7

        def __getitem__(self, i):
            return i + np.random.rand()

    def epochs(loader, count):
        return [[each.asnumpy().tolist() for each in loader] for _ in range(count)]

    loader = gluon.data.DataLoader(Noisy(), 3, shuffle=True)
    state = json.loads(json.dumps(loader.state_dict()))
    wanted = epochs(loader, 2)
    other = gluon.data.DataLoader(Noisy(), 3, shuffle=True)
    other.load_state_dict(state)
    assert epochs(other, 2) == wanted


def test_training_goes_on(tmp_path):
    net = gluon.nn.Dense(1, in_units=2)
    net.initialize()
    net.hybridize()
    net(nd.ones((1, 2)))
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    gluon.save_training(tmp_path / "a", net, trainer)
    wanted = np.random.rand(3)
    gluon.load_training(tmp_path / "a", net, trainer)
    assert (np.random.rand(3) == wanted).all()
    with pytest.raises(mx.MXNetError, match="expected a state of this DataLoader, got"):
        gluon.data.DataLoader([1], 1).load_state_dict(
            {"epoch": 0, "batch": 0, "begin": None, "now": {"numpy": ["Foo", {}]}}
        )


def _state():
    """All of the state; of a generator that is no Mersenne twister NumPy restores no normals."""
    state = numpy_state()
    return state if state[0] == "MT19937" else state[1]["state"]


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("normals", [0, 1, 2])
def test_numpy_goes_on_where_it_was(kind, monkeypatch, normals, plain):
    if not plain:  # a NumPy whose generators are laid out in another way
        monkeypatch.setattr("cynet.base.numpy_state._is_layout_known", False)
    np.random.seed(9)
    wanted = np.random.randn(3).tolist()
    np.random.rand(700)
    for _ in range(normals):
        np.random.randn()
    before = _state()
    for _ in range(2):
        with pytest.raises(KeyError, match="^$"), seeded_numpy(9):
            assert np.random.randn(3).tolist() == wanted
            np.random.set_bit_generator(np.random.PCG64(3))
            raise KeyError
        assert _state() == before
