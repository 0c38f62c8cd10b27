"""The table of optional passes: their order, and the setting that switches each of them.

``CYNET_GRAPH_PASSES`` is read when an executor is bound: a comma list of names, ``all``, ``none``
and ``-name``, taken from left to right; a list that begins with ``-name`` begins from ``all``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..base import config
from ..base.errors import ArgumentError
from .memory_plan import make_views
from .passes.common_subexpressions import share_subexpressions
from .passes.constant_folding import fold_constants
from .passes.fuse_elementwise import fuse_chains
from .passes.fuse_epilogue import fuse_activations, fuse_masks, fuse_sums
from .passes.memory_format import choose_layouts
from .passes.pool_before_activation import move_pooling_first
from .passes.prepack_weights import pack_weights
from .passes.recompute import recompute_values
from .verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from .ir import Graph

# Stages of passes: on forward steps, on forward steps of plans for prediction, on all steps, and
# inside of the memory pass.
FORWARD, PREDICT, WHOLE, MEMORY = "forward", "predict", "whole", "memory"  # stages of passes
CPU = ("cpu",)  # devices that a pass supports
ALL_DEVICES = ("cpu", "gpu")


class Pass(NamedTuple):  # an optional pass over a graph, and when it runs
    """An optional pass: its name, its stage, the function from Graph to Graph, and a description.

    `requires` are the passes that have run before it, unless they are switched off; `devices` those
    on whose graphs it runs ("cpu": all contexts of the host). Rows without a function are switches
    of `plan_memory`.
    """

    name: str
    stage: str
    function: Callable[[Graph], Graph] | None
    doc: str
    requires: tuple[str, ...] = ()
    devices: tuple[str, ...] = ALL_DEVICES


# GPUs run each operator by itself, in row-major memory.
PASSES = (  # in the order in which they run
    Pass("fold", FORWARD, fold_constants, "computes once, when bound, what depends on no argument"),
    Pass("share", FORWARD, share_subexpressions, "computes equal nodes only once", ("fold",)),
    Pass("commute", FORWARD, move_pooling_first, "max pooling before a rising activation"),
    Pass("layout", FORWARD, choose_layouts, "channels-last convolutions", ("commute",), CPU),
    Pass("fuse", FORWARD, fuse_activations, "activations in the step before", ("layout",), CPU),
    Pass("sum", PREDICT, fuse_sums, "sums in the layer of one of their terms", ("fuse",), CPU),
    Pass(
        "pack",
        PREDICT,
        pack_weights,
        "weights prepacked into the layout that kernels read",
        ("layout", "fuse", "sum"),
        CPU,
    ),
    Pass("mirror", WHOLE, recompute_values, "values recomputed in backward, where requested"),
    Pass("mask", WHOLE, fuse_masks, "relu gradients in the step before", ("fuse", "mirror"), CPU),
    Pass(
        "views",
        WHOLE,
        make_views,
        "steps that only change a shape, or copy a gradient, are not run",
        ("mirror", "mask"),
    ),
    Pass("chain", WHOLE, fuse_chains, "elementwise steps run together", ("mask", "views"), CPU),
    Pass("inplace", MEMORY, None, "outputs in the memory of dead inputs", ("views", "chain")),
    Pass(
        "reuse",
        MEMORY,
        None,
        "one memory for values that do not live at the same time",
        ("inplace", "chain"),
    ),
)
PASS_NAMES = frozenset(each.name for each in PASSES)


def enabled_passes(text: str | None = None) -> frozenset[str]:
    """Return the names of the passes that `text` switches on, by default CYNET_GRAPH_PASSES.

    Raises ArgumentError when the list names no pass.

    Examples
    --------
    >>> sorted(PASS_NAMES - enabled_passes("-fold"))
    ['fold']
    >>> sorted(enabled_passes("none,fold,share"))
    ['fold', 'share']
    """
    text = config.get("CYNET_GRAPH_PASSES") if text is None else text
    words = [word.strip() for word in text.split(",") if word.strip()]
    chosen = set(PASS_NAMES) if words and words[0].startswith("-") else set()
    for word in words:
        name = word.removeprefix("-")
        if word == "all":
            chosen |= PASS_NAMES
        elif word == "none":
            chosen.clear()
        elif name not in PASS_NAMES:
            raise ArgumentError(
                f"CYNET_GRAPH_PASSES: there is no pass '{name}'; expected all, none, or of "
                f"{', '.join(each.name for each in PASSES)}, each with - before it to leave it out"
            )
        elif word.startswith("-"):
            chosen.discard(name)
        else:
            chosen.add(name)
    return frozenset(chosen)


def run_passes(graph: Graph, stages: Container[str], names: Container[str], device: str) -> Graph:
    """Run the passes of `stages` that are in `names` and support `device` on `graph`, in the order
    of the table.

    device: The device type of the graph's context.

    Raises CynetError: under CYNET_GRAPH_VERIFY, when a pass leaves a graph that is not whole.
    """
    checks = config.get("CYNET_GRAPH_VERIFY")
    device = "gpu" if device == "gpu" else "cpu"
    for each in PASSES:
        wanted = each.stage in stages and each.name in names and device in each.devices
        if wanted and each.function is not None:
            graph = each.function(graph)
            if checks:
                verify(graph, f"the {each.name} pass")
    return graph
