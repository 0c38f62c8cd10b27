"""AttrScope."""

import threading

import pytest

import cynet as mx
from cynet.attribute import AttrScope


def test_inner_scope_adds_and_overrides():
    with mx.AttrScope(a="1", b="1"), mx.AttrScope(b="2", c="2"):
        assert AttrScope.current.get({"c": "3"}) == {"a": "1", "b": "2", "c": "3"}
    assert AttrScope.current.get() == {}


def test_a_scope_can_be_used_again():
    scope = mx.AttrScope(a="1")
    with mx.AttrScope(b="1"), scope:
        assert AttrScope.current.get() == {"a": "1", "b": "1"}
    with scope:
        assert AttrScope.current.get() == {"a": "1"}
    assert scope.get(None) == {"a": "1"}


def test_values_are_text():
    with pytest.raises(ValueError, match="'a' must be a str, got 1"):
        mx.AttrScope(a=1)


def test_each_thread_has_its_own():
    found = []
    with mx.AttrScope(a="1"):
        thread = threading.Thread(target=lambda: found.append(AttrScope.current.get()))
        thread.start()
        thread.join()
    assert found == [{}]


def test_a_scope_that_is_set():
    """As scripts of MXNet's first years do."""
    before = mx.AttrScope.current
    mx.AttrScope.current = mx.AttrScope(mood="calm")
    try:
        assert mx.sym.var("x").attr("mood") == "calm"
        with mx.AttrScope(x="1"):
            assert mx.sym.var("x").attr("mood") == "calm"
    finally:
        mx.AttrScope.current = before
    assert mx.sym.var("x").attr("mood") is None
    with pytest.raises(TypeError, match="AttrScope.current is an AttrScope, got 3"):
        mx.AttrScope.current = 3
