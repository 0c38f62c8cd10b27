"""NameManager and Prefix."""

import threading

import pytest

import cynet as mx
from cynet.name import NameManager, Prefix


def test_counts_per_hint_and_per_manager():
    with mx.name.NameManager() as outer:
        assert [outer.get(None, "a"), outer.get("", "a"), outer.get(None, "b")] == [
            "a0",
            "a1",
            "b0",
        ]
        with mx.name.NameManager():
            assert mx.name.NameManager.current.get(None, "a") == "a0"
        assert mx.name.NameManager.current is outer


def test_prefix_before_given_and_automatic_names():
    with mx.name.Prefix("net_"):
        x = mx.sym.Variable("x")
        assert (x + 1).name == "net__plusscalar0"
        net = mx.sym.FullyConnected(x, num_hidden=2, name="fc")
    assert net.list_arguments() == ["x", "net_fc_weight", "net_fc_bias"]


def test_each_thread_counts_for_itself():
    found = []
    with mx.name.Prefix("mine_"):
        thread = threading.Thread(
            target=lambda: found.append(mx.name.NameManager.current.get(None, "a"))
        )
        thread.start()
        thread.join()
    assert found == ["a0"]


def test_left_on_error():
    before = mx.name.NameManager.current
    try:
        with mx.name.Prefix("p"):
            raise KeyError
    except KeyError:
        pass
    assert mx.name.NameManager.current is before


def test_a_manager_that_is_set():
    before = NameManager.current
    NameManager.current = Prefix("left_")
    try:
        assert mx.sym.relu(mx.sym.var("x")).name == "left_relu0"
    finally:
        NameManager.current = before
    with pytest.raises(TypeError, match="NameManager.current is a NameManager, got None"):
        NameManager.current = None
