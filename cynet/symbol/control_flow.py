"""foreach, while_loop and cond of mx.sym.contrib: functions become graphs that an operator runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..attribute import AttrScope, stored_key
from ..base.errors import ArgumentError, MismatchError, shown
from ..base.guard import guarded
from ..base.nested import flatten, regroup
from ..name import NameManager
from ..operator._base import get_operator
from .compose import parameter_text
from .node import Node
from .register import function_of
from .subgraph import SUBGRAPH_ATTR, Subgraph, cut_subgraph, subgraph_scope
from .symbol import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable


@guarded
def foreach(
    body: Callable[..., Any], data: Any, init_states: Any, name: str = "foreach"
) -> tuple[Any, Any]:
    """Run `body` on each row of the data; states pass from one run to the next.

    Parameters
    ----------
    body : callable
        ``body(row, states)`` returns ``(outputs, new_states)``, Symbols or nested lists of them.
        States keep their structure, shapes and dtypes. What the body reads from outside becomes an
        input of the loop.
    data : Symbol or nested list of Symbol
        Arrays of one length T; the body gets rows (shape (1,) of arrays of one axis).
    init_states : Symbol or nested list of Symbol
        States of the first run.
    name : str
        Beginning of the subgraph's name.

    Returns
    -------
    (outputs, states)
        In the structure that `body` gives: outputs of all runs, stacked along a new first axis of
        length T, and the last states.

    Raises
    ------
    AssertionError
        Data or states that are not Symbols, or that the body does not use; states of another
        structure.

    Examples
    --------
    >>> x, s, w = mx.sym.var("x"), mx.sym.var("s"), mx.sym.var("w")
    >>> outs, last = mx.sym.contrib.foreach(lambda row, state: (row + state, row * w), x, s)
    >>> outs.infer_shape(x=(5, 2), s=(2,), w=(2,))[1]
    [(5, 2)]
    """
    rows, row_form = _flatten_symbols(data, "foreach: data")
    states, state_form = _flatten_symbols(init_states, "foreach: init_states")
    with subgraph_scope(name) as scope:
        taken = set()
        row_vars = [_make_body_variable(each, taken, True) for each in rows]
        state_vars = [_make_body_variable(each, taken, False) for each in states]
        outs, new = _check_outs_states(
            body(regroup(row_vars, row_form), regroup(state_vars, state_form)), "foreach: body"
        )
        outs, out_form = _flatten_symbols(outs, "foreach: the outputs of body")
        new, new_form = _flatten_symbols(new, "foreach: the states that body gives")
        if new_form != state_form:
            raise MismatchError(
                f"foreach: body gives states of the structure {new_form}, it was given {state_form}"
            )
        heads = [_copy_if_outside(each, scope) for each in outs]
        made = {id(each.entries[0][0]) for each in outs}
        heads += [_copy_if_outside(each, scope, id(each.entries[0][0]) in made) for each in new]
    graph, stands = _cut_subgraph(heads, scope)
    positions = {id(node): i for i, node in enumerate(graph.variables)}
    for what, variables in (("data", row_vars), ("state", state_vars)):
        for variable in variables:
            if id(variable.entries[0][0]) not in positions:
                raise MismatchError(
                    f"foreach: body does not use the {what} '{variable.name}'; each row of data "
                    "and each state must reach an output or a new state"
                )
    fed = {id(v.entries[0][0]) for v in (*row_vars, *state_vars)}
    rest = [node for node in graph.variables if id(node) not in fed]
    params = {
        "in_state_locs": [positions[id(v.entries[0][0])] for v in state_vars],
        "in_data_locs": [positions[id(v.entries[0][0])] for v in row_vars],
        "remain_locs": [positions[id(n)] for n in rest],
    }
    entries = [each.entries[0] for each in (*rows, *states)] + [stands.get(n, (n, 0)) for n in rest]
    counts = {"num_outputs": len(heads), "num_out_data": len(outs)}
    node = _subgraph_node("_foreach", entries, [graph], **counts, **params)
    return _split_loop_results(node, (*rows, *states), len(outs), out_form, state_form)


@guarded
def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Run a body as long as a condition holds, `max_iterations` times at most.

    Parameters
    ----------
    cond : callable
        ``cond(*loop_vars)`` gives a Symbol of one number; 0 ends the loop.
    func : callable
        ``func(*loop_vars)`` gives ``(step_output, new_loop_vars)``; outputs may be None or an empty
        list. Loop variables keep their shapes and dtypes.
    loop_vars : Symbol or list of Symbol
        At least one.
    max_iterations : int
        Largest number of runs, at least 1; required.
    name : str
        What the subgraphs' names begin with.

    Returns
    -------
    (outputs, states)
        Outputs of all runs, stacked: `max_iterations` rows, of which those that were not computed
        are zeros; and the last loop variables.

    Raises
    ------
    ArgumentError
        If `max_iterations` is missing, there is no loop variable, `func` gives another number of
        them or does not use one, or `cond` gives no Symbol.

    Examples
    --------
    >>> i, total = mx.sym.var("i"), mx.sym.var("total")
    >>> outs, last = mx.sym.contrib.while_loop(
    ...     lambda i, total: i < 3, lambda i, total: (i * i, [i + 1, total + i]), [i, total], 5)
    >>> exe = mx.sym.Group([outs, *last]).bind(
    ...     mx.cpu(), {"i": mx.nd.zeros(1), "total": mx.nd.zeros(1)})
    >>> [each.asnumpy().ravel().tolist() for each in exe.forward()]
    [[0.0, 1.0, 4.0, 0.0, 0.0], [3.0], [3.0]]
    """
    if max_iterations is None:
        raise ArgumentError("while_loop: max_iterations is not given; a graph has that many rows")
    rounds = to_integer(max_iterations)
    states, form = _flatten_symbols(loop_vars, "while_loop: loop_vars")
    if not states:
        raise ArgumentError("while_loop: loop_vars has no element; it needs at least one")
    graphs, variables, stands = [], [], []
    for what, function in (("cond", cond), ("func", func)):
        with subgraph_scope(f"{name}_{what}") as scope:
            taken = set()
            made = [_make_body_variable(each, taken, False) for each in states]
            given = regroup(made, form)
            result = function(*given) if isinstance(given, (list, tuple)) else function(given)
            if what == "cond":
                if not isinstance(result, Symbol):
                    raise ArgumentError(f"while_loop: cond must give a Symbol, got {shown(result)}")
                heads = [_copy_if_outside(result, scope)]
            else:
                outs, new = _check_outs_states(result, "while_loop: func")
                outs, out_form = _flatten_symbols(
                    [] if outs is None else outs, "while_loop: step_output"
                )
                new = _flatten_symbols([] if new is None else new, "while_loop: new_loop_vars")[0]
                if len(new) != len(states):
                    raise ArgumentError(
                        f"while_loop: func gives {len(new)} loop variables, it was given "
                        f"{len(states)}"
                    )
                heads = [_copy_if_outside(each, scope) for each in (*outs, *new)]
        graph, outside = _cut_subgraph(heads, scope)
        graphs.append(graph)
        variables.append([each.entries[0][0] for each in made])
        stands.append(outside)
    entries, locs = [], []
    own = {}  # index of a loop variable -> input
    for graph, made, outside in zip(graphs, variables, stands):
        number = {id(node): k for k, node in enumerate(made)}
        locs.append([])
        for node in graph.variables:
            k = number.get(id(node))
            if k is not None and k in own:
                locs[-1].append(own[k])
                continue
            locs[-1].append(len(entries))
            if k is not None:
                own[k] = len(entries)
            entries.append(states[k].entries[0] if k is not None else outside.get(node, (node, 0)))
    positions = {id(node): i for i, node in enumerate(graphs[1].variables)}
    for k, node in enumerate(variables[1]):
        if id(node) not in positions:
            raise ArgumentError(
                f"while_loop: func does not use loop variable {k}; return it as it is, at least"
            )
    params = {
        "max_iterations": rounds,
        "cond_input_locs": locs[0],
        "func_input_locs": locs[1],
        "func_var_locs": [positions[id(node)] for node in variables[1]],
    }
    counts = {"num_outputs": len(heads), "num_out_data": len(outs)}
    node = _subgraph_node("_while_loop", entries, graphs, **counts, **params)
    return _split_loop_results(node, states, len(outs), out_form, form)


@guarded
def cond(
    pred: Symbol, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond"
) -> Any:
    """Run one of two functions, chosen by the value of `pred` when the graph runs.

    Parameters
    ----------
    pred : Symbol
        One number; 0 stands for False.
    then_func, else_func : callable
        Functions without arguments, which return the same number of Symbols of the same shapes and
        dtypes.
    name : str
        Beginning of the subgraphs' names.

    Returns
    -------
    Symbol or nested list of Symbol
        As `then_func` gives them.

    Raises
    ------
    ArgumentError
        If the functions give different numbers of outputs.

    Examples
    --------
    >>> a, b = mx.sym.var("a"), mx.sym.var("b")
    >>> out = mx.sym.contrib.cond(a.sum() > 0, lambda: a * b, lambda: a + b)
    >>> exe = out.bind(mx.cpu(), {"a": mx.nd.array([1, 2]), "b": mx.nd.array([3, 4])})
    >>> exe.forward()[0].asnumpy().tolist()
    [3.0, 8.0]
    """
    _flatten_symbols(pred, "cond: pred")
    graphs, stands, forms, counts = [], [], [], []
    kinds = []
    for what, function in (("pred", lambda: pred), ("then", then_func), ("else", else_func)):
        with subgraph_scope(f"{name}_{what}") as scope:
            outs, form = _flatten_symbols(function(), f"cond: what {what}_func gives")
            heads = [_copy_if_outside(each, scope) for each in outs]
        kinds += outs
        graph, outside = _cut_subgraph(heads, scope)
        graphs.append(graph)
        stands.append(outside)
        forms.append(form)
        counts.append(len(heads))
    if counts[1] != counts[2]:
        raise ArgumentError(
            f"cond: then_func gives {counts[1]} outputs, else_func {counts[2]}; they must be alike"
        )
    entries, locs, known = [], [], {}
    for graph, outside in zip(graphs, stands):
        locs.append([])
        for node in graph.variables:
            entry = outside.get(node, (node, 0))
            place = known.get(id(entry[0])) if entry[0].op is None else None
            if place is None:
                place = known[id(entry[0])] = len(entries)
                entries.append(entry)
            locs[-1].append(place)
    params = dict(zip(("cond_input_locs", "then_input_locs", "else_input_locs"), locs))
    node = _subgraph_node("_cond", entries, graphs, num_outputs=counts[1], **params)
    return regroup(_symbols_of_outputs(node, kinds), forms[1])


def to_integer(value):
    """`max_iterations` as an int; a float is truncated, as in MXNet."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(
            f"while_loop: max_iterations must be an int, got {shown(value)}"
        ) from None


def _flatten_symbols(value, what):
    """The Symbols of a nested list, split into single outputs, and its structure."""
    return flatten(value, Symbol, what, _list_single_outputs)


def _list_single_outputs(symbol):
    """The outputs of a symbol of several."""
    if len(symbol.entries) > 1:
        return [type(symbol)([entry]) for entry in symbol.entries]
    return None


def _check_outs_states(value, what):
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentError(f"{what} must give two things, outputs and states, got {shown(value)}")
    return value


def _make_body_variable(symbol, taken, row):
    """A variable of a body that represents `symbol`, or a row of it."""
    node, index = symbol.entries[0]
    name = f"{node.name}-{index}"
    while name in taken:
        name += "-0"
    taken.add(name)
    return symbol.placeholder(name, row)


def _copy_if_outside(symbol, scope, always=False):
    """An output in the subgraph `scope`; a variable or an outer value gets its own node there."""
    node = symbol.entries[0][0]
    if always or node.op is None or node.attrs.get(SUBGRAPH_ATTR) != scope:
        symbol = function_of("identity", get_operator("_copy"))(symbol)
    return symbol


def _cut_subgraph(heads, scope):  # (inner graph, what its variables stand for)
    heads, stands = cut_subgraph([each.entries[0] for each in heads], scope)
    return Subgraph(heads), stands


def _subgraph_node(operator, entries, graphs, **params):
    """The node that runs `graphs`."""
    entry = get_operator(operator)
    name = NameManager.current.get(None, operator)
    params = {"num_args": len(entries) + len(graphs), **params}
    prop = entry.prop(**params).set_subgraphs(graphs)
    texts = {key: parameter_text(entry.prop.fields[key], value) for key, value in params.items()}
    attrs = {stored_key(k): v for k, v in AttrScope.current.get(None).items()}
    return Node(entry, name, attrs, texts, prop, entries)


def _split_loop_results(node, like, count, out_form, state_form):
    """A loop's results: its first `count` outputs, and its states, in their structures."""
    made = _symbols_of_outputs(node, like)
    return regroup(made[:count], out_form), regroup(made[count:], state_form)


def _symbols_of_outputs(node, like):
    kind = next((type(each) for each in like if type(each) is not Symbol), Symbol)
    return [kind([(node, i)]) for i in range(node.num_visible_outputs)]
