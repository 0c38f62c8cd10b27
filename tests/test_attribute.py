"""AttrScope."""

import collections
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


def test_names_of_subgraphs_are_counted(monkeypatch):
    """As MXNet 1.9.1 counts them, whose tests reset the table and read it: one for each of cond's
    three functions, however many Blocks have it."""
    monkeypatch.setattr(mx.AttrScope, "_subgraph_names", collections.defaultdict(int))

    class Branch(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.contrib.cond(x > 0.5, lambda: x * 2, lambda: x * 3, name="my_cond")

    for count in (1, 2):
        block = Branch()
        block.hybridize()
        assert block(mx.nd.ones((1,))).asscalar() == 2
        wanted = {f"my_cond_{k}": count for k in ("pred", "then", "else")}
        assert dict(mx.AttrScope._subgraph_names) == wanted
