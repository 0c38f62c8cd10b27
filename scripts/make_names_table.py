"""Writes the tables at the end of docs/from_pytorch.md, of names and keywords
(cynet/base/other_names.py)."""

from pathlib import Path

from cynet.base.other_names import OTHER_KEYWORDS, OTHER_NAMES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "from_pytorch.md"
SPOKEN = {
    "mx": "the module itself",
    "mx.ndarray.NDArray": "an array",
    "mx.gluon.block.Block": "a network",
    "mx.gluon.Trainer": "a Trainer",
    "mx.module.BaseModule": "a Module",
    "mx.gluon.nn": "`nn`",
    "mx.gluon.loss": "losses",
    "mx.gluon.data": "`gluon.data`",
    "mx.optimizer": "optimizers and averages of weights",
    "mx.lr_scheduler": "schedules",
    "mx.callback": "callbacks of `fit`",
    "mx.autograd": "gradients",
}


def table():
    """The sections of the page: a table for each kind of object."""
    parts = []
    for owner, spoken in SPOKEN.items():
        parts += [f"### Of {spoken}\n", "| there | here |", "|---|---|"]
        parts += [f"| `{name}` | {here} |" for name, here in sorted(OTHER_NAMES[owner].items())]
        parts += [""]
    parts += ["### Of keywords\n", "Where the call has what stands here.\n"]
    parts += ["| there | here |", "|---|---|"]
    for name, ways in sorted(OTHER_KEYWORDS.items()):
        said = "; ".join(f"`{each}`" if each == needed else each for needed, each in ways)
        parts += [f"| `{name}=` | {said} |"]
    parts += [""]
    return "\n".join(parts).rstrip().replace("*", r"\*") + "\n"


if __name__ == "__main__":
    text, mark, _ = PAGE.read_text().partition("### Of the module itself")
    PAGE.write_text(text.rstrip() + "\n\n" + table())
