"""The author's contract is small, and what passes ask is declared apart."""

import dataclasses

import pytest

from cynet.operator import OPERATORS, GraphHooks, OperatorProperty, get_operator
from cynet.operator.graph_hooks import Traits
from tests.walks import each


def test_an_author_has_few_names_to_know():
    names = [name for name in vars(OperatorProperty) if not name.startswith("_")]
    assert len(names) <= 24, names


@each(sorted(OPERATORS))
def test_every_operator_declares_what_passes_ask(name):
    """Hooks of the base class or overridden ones, and traits that exist: nothing besides."""
    prop = OPERATORS.get(name).prop
    assert isinstance(prop.graph, GraphHooks) and type(prop.graph.traits) is Traits
    hooks = {each for each in vars(GraphHooks) if not each.startswith("_")}
    misplaced = [each for each in hooks if callable(getattr(prop, each, None))]
    assert not misplaced, "these belong to the hooks"
    fields = {field.name for field in dataclasses.fields(Traits)}
    assert fields.isdisjoint(dir(prop)), "these belong to the traits"


def test_traits_are_declared_and_stay():
    hooks = GraphHooks(view=True)
    assert hooks.traits.view and not GraphHooks.traits.view
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'view'"):
        hooks.traits.view = False
    with pytest.raises(TypeError, match="no_such_trait"):
        GraphHooks(no_such_trait=True)


def test_hooks_answer_for_an_operator_that_says_nothing():
    """What is right for any operator."""

    class Silent(OperatorProperty):
        pass

    prop, shapes, types = Silent(), [(2, 3)], ["float32"]
    hooks = prop.graph
    assert hooks.flops(prop, shapes, shapes) == 0 and not hooks.is_memory_bound(prop, shapes)
    assert hooks.activation(prop) is None and not hooks.computes_maxima(prop)
    assert hooks.epilogue(prop, shapes, types, "activation", "relu") is None
    assert hooks.channels_last_form(prop, shapes, types) is None
    assert hooks.columns_as_channels_form(prop, shapes) is None
    assert hooks.prepack(prop, shapes, types, False) is None
    assert hooks.forward_loops(prop, [], []) is hooks.backward_loops(prop, [], [], [], []) is None
    assert hooks.moved_parts(prop, shapes) is None
    assert hooks.fixed_inputs(prop) == {}


def test_a_convolution_over_the_whole_width_takes_columns_as_channels():
    """One channel, and a kernel as wide as the image: text, spectrograms."""

    def narrow(shape, **params):
        prop = get_operator("Convolution").prop(num_filter=2, no_bias=True, **params)
        return prop.graph.columns_as_channels_form(prop, [shape, (2, shape[1], *params["kernel"])])

    made = narrow((2, 1, 9, 5), kernel=(3, 5), stride=(2, 3), pad=(1, 0), dilate=(2, 1))
    found = made.kernel, made.stride, made.pad, made.dilate
    assert found == ((3, 1), (2, 1), (1, 0), (2, 1))
    assert narrow((2, 1, 9, 6), kernel=(3, 5)) is None
    assert narrow((2, 1, 9, 4), kernel=(3, 4), pad=(0, 1)) is None
    assert narrow((2, 1, 9, 5), kernel=(3, 3), dilate=(1, 2)) is None
    assert narrow((2, 2, 9, 5), kernel=(3, 5)) is None
    assert narrow((2, 1, 9, 1), kernel=(3, 1)) is None
