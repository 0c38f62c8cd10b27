"""The absorb pass: at prediction a BatchNorm is computed by the step in front of it.

Its statistics are given then, so it scales and shifts every channel, which a convolution or a
FullyConnected does by itself with scaled weights and another bias: ``(w x + b) s + t = (s w) x +
(s b + t)``. Those are made by a step of their own that runs when one of its inputs was written.
"""

from ..operator.nn.scale_weight import ScaleWeight
from .graph import ARG, AUX, CONST, FORWARD, KEPT, OUTPUT, WRITE, Kept, Step, Value


def absorb(graph):
    """Take BatchNorms out of a `graph` that will only predict.

    Parameters
    ----------
    graph : Graph
        Forward steps only.

    Returns
    -------
    Graph
        The same graph; `only_predicts` is True if something was absorbed.
        Left alone are norms whose input somebody else reads or the user sees, norms that give
        their statistics as outputs, and those whose weights are no arrays of the executor's.
    """
    readers, writer = graph.neighbours()
    moved = graph.moved_states()
    made, gone = {}, set()
    for norm in graph.steps:
        before = writer.get(norm.in_data[0]) if norm.in_data else None
        if before is None or len(readers[norm.in_data[0]]) != 1:
            continue
        form = _form(before, norm)
        sources = [*before.in_data[1:], *norm.in_data[1:], *norm.aux]
        if form is None or not all(v.kind in (ARG, AUX, CONST) for v in sources):
            continue
        if moved.isdisjoint(sources):
            made[before] = _join(before, norm, form, sources)
            gone.add(norm)
            writer[norm.out_data[0]] = before
    steps = []
    for step in graph.steps:
        steps += [made[step]] if step in made else []
        steps += [] if step in gone else [step]
    graph.set_forward(steps)
    graph.only_predicts = bool(gone)
    return graph


def _form(before, norm):
    """What computes both steps with scaled weights and a bias, or None."""
    if norm.prop.op_name != "BatchNorm" or norm.prop.num_visible_outputs() > 1:
        return None
    out = norm.in_data[0]
    if out.kind == OUTPUT or before.out_data[0] is not out or before.ctx != norm.ctx:
        return None
    if out.ctx.device_type == "gpu" or out.dtype not in ("float32", "float64"):
        return None
    return before.prop.with_scaled_weight(norm.prop.position(out.shape), len(out.shape))


def _join(before, norm, form, sources):
    """Make `before` compute `norm`, too; returns the step that scales its weights."""
    weight, channels = before.in_data[1], norm.in_data[1]
    scaled = [
        Value(f"{norm.name}_{name}", like.shape, like.dtype, like.ctx, KEPT)
        for name, like in (("weight", weight), ("bias", channels))
    ]
    prop = ScaleWeight(
        eps=norm.prop.eps, fix_gamma=norm.prop.fix_gamma, no_bias=len(before.in_data) < 3
    )
    step = Step(f"{norm.name}_scale", prop, before.ctx, FORWARD, sources, scaled, [], [WRITE] * 2)
    step.kept = Kept(sources)
    before.prop = form
    before.in_data = [before.in_data[0], *scaled]
    before.out_data[0] = norm.out_data[0]
    return step
