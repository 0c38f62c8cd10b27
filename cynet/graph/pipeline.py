"""The table of optional passes: their order, and the setting that switches each of them.

``CYNET_GRAPH_PASSES`` is read when an executor is bound: a comma list of names, ``all``, ``none``
and ``-name``, taken from left to right; a list that begins with ``-name`` begins from ``all``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..base import config
from ..base.errors import ArgumentError
from .memory_plan import make_views
from .passes.common_subexpressions import share
from .passes.constant_folding import fold
from .passes.fuse_elementwise import chain
from .passes.fuse_epilogue import fuse, mask, sums
from .passes.memory_format import layout
from .passes.pool_before_activation import commute
from .passes.prepack_weights import pack
from .passes.recompute import mirror
from .verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from .ir import Graph

# The stage of a pass: on the forward steps, on those of a plan for prediction only, on all steps,
# or as a part of the memory pass.
FORWARD, PREDICT, WHOLE, MEMORY = "forward", "predict", "whole", "memory"
HOST = ("cpu",)
ALL = ("cpu", "gpu")


class Pass(NamedTuple):
    """One row: its name, its stage, the function from Graph to Graph, and a description.

    `requires` are the passes that have run before it, unless they are switched off; `devices` those
    on whose graphs it runs ("cpu": all contexts of the host). Rows without a function are switches
    of `plan_memory`.
    """

    name: str
    stage: str
    function: Callable[[Graph], Graph] | None
    doc: str
    requires: tuple[str, ...] = ()
    devices: tuple[str, ...] = ALL


# GPU forms compute each operator by itself, in row-major memory.
PASSES = (
    Pass("fold", FORWARD, fold, "computes once, when bound, what depends on no argument"),
    Pass("share", FORWARD, share, "computes once what several nodes compute alike", ("fold",)),
    Pass("commute", FORWARD, commute, "max pooling before a rising activation instead of after it"),
    Pass(
        "layout", FORWARD, layout, "channels-last memory between convolutions", ("commute",), HOST
    ),
    Pass(
        "fuse", FORWARD, fuse, "activations and sums inside the step before them", ("layout",), HOST
    ),
    Pass(
        "sum",
        PREDICT,
        sums,
        "a sum inside the layer that computes one of its terms",
        ("fuse",),
        HOST,
    ),
    Pass(
        "pack",
        PREDICT,
        pack,
        "weights prepacked into the layout that kernels read",
        ("layout", "fuse", "sum"),
        HOST,
    ),
    Pass("mirror", WHOLE, mirror, "recomputes in backward, where asked to, what would wait for it"),
    Pass(
        "mask",
        WHOLE,
        mask,
        "the gradient of a relu inside the step that comes to it",
        ("fuse", "mirror"),
        HOST,
    ),
    Pass(
        "views",
        WHOLE,
        make_views,
        "what only changes the shape, or copies a gradient, is not run",
        ("mirror", "mask"),
    ),
    Pass(
        "chain",
        WHOLE,
        chain,
        "elementwise steps together, a block of their arrays at a time",
        ("mask", "views"),
        HOST,
    ),
    Pass(
        "inplace",
        MEMORY,
        None,
        "outputs in the memory of inputs that are read no more",
        ("views", "chain"),
    ),
    Pass(
        "reuse",
        MEMORY,
        None,
        "one memory for values that do not live at the same time",
        ("inplace", "chain"),
    ),
)
NAMES = frozenset(each.name for each in PASSES)


def enabled(text: str | None = None) -> frozenset[str]:
    """The names of the passes that `text`, by default CYNET_GRAPH_PASSES, switches on.

    Raises ArgumentError when the list names no pass.

    Examples
    --------
    >>> sorted(NAMES - enabled("-fold"))
    ['fold']
    >>> sorted(enabled("none,fold,share"))
    ['fold', 'share']
    """
    text = config.get("CYNET_GRAPH_PASSES") if text is None else text
    words = [word.strip() for word in text.split(",") if word.strip()]
    chosen = set(NAMES) if words and words[0].startswith("-") else set()
    for word in words:
        name = word.removeprefix("-")
        if word == "all":
            chosen |= NAMES
        elif word == "none":
            chosen.clear()
        elif name not in NAMES:
            raise ArgumentError(
                f"CYNET_GRAPH_PASSES: there is no pass '{name}'; expected all, none, or of "
                f"{', '.join(each.name for each in PASSES)}, each with - before it to leave it out"
            )
        elif word.startswith("-"):
            chosen.discard(name)
        else:
            chosen.add(name)
    return frozenset(chosen)


def run(graph: Graph, stages: Container[str], names: Container[str], device: str) -> Graph:
    """Run those passes of `stages` that are in `names`, and made for `device`, over `graph`, in the
    order of the table.

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
