"""Writes the pages of the reference: one for each public module, one for each family of operators.

They are .rst files in docs/reference/made and docs/operators/made, which git does not know.
"""

import importlib
import inspect
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]

# The name that users write, what it is.
MODULES = {
    "nd": "arrays (the operators have pages of their own)",
    "np": "arrays and functions with NumPy's semantics",
    "np.fft": "Fourier transforms",
    "npx": "what networks need beside mx.np",
    "sym": "symbols: networks as graphs",
    "mod": "Module: networks that are trained by fit",
    "model": "checkpoints, FeedForward",
    "executor": "bound symbols",
    "autograd": "gradients of what was computed with arrays",
    "gluon": "networks as Python objects",
    "gluon.nn": "layers",
    "gluon.rnn": "recurrent layers and cells",
    "gluon.loss": "losses",
    "gluon.data": "data sets and loaders",
    "gluon.data.batchify": "functions that make a batch of samples",
    "gluon.data.vision": "data sets of images",
    "gluon.data.vision.transforms": "transforms of images",
    "gluon.utils": "helpers of training loops",
    "gluon.model_zoo.vision": "networks by name",
    "gluon.model_zoo.text": "GPT-2 and BERT, their weights from Hugging Face, generation",
    "gluon.contrib.nn": "more layers",
    "gluon.contrib.rnn": "more cells",
    "gluon.contrib.estimator": "a training loop with handlers",
    "io": "iterators over batches",
    "image": "images: reading, augmenting, iterators",
    "recordio": "files of records",
    "metric": "metrics",
    "optimizer": "optimizers",
    "lr_scheduler": "schedules of the learning rate",
    "init": "initializers",
    "callback": "callbacks of fit",
    "monitor": "values inside of a network; debug_nans",
    "kv": "key-value stores",
    "distributed": "several processes: ranks and what they share",
    "rnn": "cells and buckets of the symbolic API",
    "random": "random numbers",
    "context": "devices",
    "operator": "operators of your own",
    "simple_op": "operators of your own that are one function",
    "rtc": "CUDA kernels written as text",
    "engine": "the dependency engine",
    "profiler": "where the time goes",
    "visualization": "pictures and tables of networks",
    "onnx": "ONNX files",
    "contrib.amp": "mixed precision",
    "contrib.explain": "what of an input an answer comes from",
    "contrib.horovod": "the calls of horovod.mxnet",
    "contrib.quantization": "integers of 8 bits",
    "contrib.series": "time series: windows, scales, backtests",
    "contrib.tables": "columns of tables as arrays",
    "contrib.sklearn": "networks as estimators of scikit-learn",
    "contrib.text": "vocabularies and embeddings",
    "attribute": "attributes of symbols",
    "name": "automatic names",
    "errors": "exceptions",
    "config": "settings",
    "runtime": "what this build has",
    "serving": "predictions for many callers: Predictor, HTTP",
    "util": "helpers",
    "test_utils": "helpers of tests",
    "log": "a logger",
}
FAMILIES = {
    "tensor": "arithmetic, shapes, reductions, indexing",
    "nn": "layers of networks",
    "rnn": "recurrent layers and sequences",
    "loss": "outputs with a loss",
    "linalg": "linear algebra",
    "random": "random numbers",
    "control_flow": "loops and branches",
    "detection": "boxes and anchors",
    "vision": "regions, grids, resizing",
    "image": "images",
    "update": "steps of optimizers",
    "quantization": "integers of 8 bits",
    "sparse": "storage types",
    "contrib": "more operators",
}


def public(module):
    """(name, value) of what a module offers, submodules left out."""
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    for name in sorted(names, key=str.lower):
        value = getattr(module, name)
        if not inspect.ismodule(value) and not name.startswith("_"):
            yield name, value


OTHERS = {"Custom": "contrib", "smooth_l1": "loss"}  # not in a folder of a family
FACES = ("cynet.ndarray", "cynet.symbol")


def is_operator(value):
    """Whether a function is one of an operator, which the pages of families show."""
    return inspect.isfunction(value) and getattr(value, "__module__", "") in FACES


def heading(text, line):
    return f"{text}\n{line * len(text)}\n\n"


def one(path, value):
    """The directive that documents a name."""
    if inspect.isclass(value):
        return f".. autoclass:: {path}\n   :members:\n\n"
    if callable(value):
        return f".. autofunction:: {path}\n\n"
    return f".. autodata:: {path}\n   :no-value:\n\n"


def module_page(short, what, homes):
    """Text of the page of a module, and how many names it has; `homes` are those of others."""
    path = f"cynet.{short}"
    try:
        module = importlib.import_module(path)
    except ImportError:
        import cynet

        module = cynet
        for part in short.split("."):
            module = getattr(module, part)
    names = [(n, v) for n, v in public(module) if not is_operator(v)]
    text = heading(f"mx.{short}", "=") + f"{what[0].upper()}{what[1:]}.\n\n"
    text += f".. py:module:: {path}\n\n"
    rows, entries = [], []
    for name, value in names:
        full = f"{path}.{name}"
        home = homes.setdefault(id(value), full) if inspect.isclass(value) else full
        DOCUMENTED[f"{short}.{name}"] = home
        rows.append((f":py:obj:`{name} <{home}>`", summary(value)))
        entries.append(
            one(full, value) if home == full else f"``{name}`` is :py:class:`{home}`.\n\n"
        )
    return text + table(rows) + "".join(entries), len(names)


DOCUMENTED = {}  # name that users write after ``mx.`` -> its name in the reference


def summary(value):
    """The first line of a docstring; nothing of what is no class and no function."""
    doc = inspect.getdoc(value) if callable(value) else None
    first = re.split(r"\n\s*\n", doc.strip())[0].replace("\n", " ") if doc else ""
    parts = re.split(r"(``.*?``)", first)
    parts[::2] = [part.replace("*", "\\*") for part in parts[::2]]
    return "".join(parts)


def table(rows):
    """A table of names and what each is."""
    if not rows:
        return ""
    text = ".. list-table::\n   :widths: 30 70\n\n"
    for name, what in rows:
        text += f"   * - {name}\n     - {what}\n"
    return text + "\n"


def operators():
    """Public operators of mx.nd by family: {family: {name: function's path}}."""
    import cynet
    from cynet.operator import get_operator

    found = {family: {} for family in FAMILIES}
    spaces = {
        "": cynet.nd,
        "contrib.": cynet.nd.contrib,
        "linalg.": cynet.nd.linalg,
        "image.": cynet.nd.image,
        "random.": cynet.nd.random,
    }
    for space, module in spaces.items():
        for name in dir(module):
            value = getattr(module, name)  # a public object; operators have several names
            if name.startswith("_") or not inspect.isfunction(value):
                continue
            plain = space.replace(".", "_")
            for each in (name, f"_{plain}{name}", f"{plain}{name}", f"_{name}"):
                try:
                    family = get_operator(each).prop.__module__.split(".")[2]
                    family = "tensor" if family == "functions" else family
                    break
                except (cynet.MXNetError, AttributeError):
                    family = "random" if space == "random." else "contrib"
            family = OTHERS.get(name, family)
            if family in found and (space or is_operator(value)):
                found[family][f"{space}{name}"] = f"cynet.nd.{space}{name}"
    return found


def family_page(family, what, names):
    text = heading(f"{family}: {what}", "=")
    text += f".. currentmodule:: cynet.nd\n\n{len(names)} operators, here as functions of "
    text += "arrays; ``mx.sym`` has the same under the same names.\n\n"
    DOCUMENTED.update({path.removeprefix("cynet."): path for path in names.values()})
    return text + "".join(f".. autofunction:: {path}\n\n" for _, path in sorted(names.items()))


def listing(rows):
    """A table of pages, for an index page to include."""
    text = ".. list-table::\n   :widths: 30 60 10\n\n"
    for page, label, what, count in rows:
        text += f"   * - :doc:`{label} <made/{page}>`\n     - {what}\n     - {count}\n"
    return text


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:  # an unchanged page is not read again
        path.write_text(text)


def generate(app=None):
    """Write all pages; remove those of names that are gone."""
    made, rows, homes = {}, [], {}
    for short, what in MODULES.items():
        page = short.replace(".", "_")
        text, count = module_page(short, what, homes)
        made[DOCS / "reference" / "made" / f"{page}.rst"] = text
        rows.append((page, f"mx.{short}", what, count))
    made[DOCS / "reference" / "made" / "table.inc"] = listing(rows)
    rows = []
    for family, names in operators().items():
        text = family_page(family, FAMILIES[family], names)
        made[DOCS / "operators" / "made" / f"{family}.rst"] = text
        rows.append((family, family, FAMILIES[family], len(names)))
    made[DOCS / "operators" / "made" / "table.inc"] = listing(rows)
    for folder in ("reference", "operators"):
        for old in (DOCS / folder / "made").glob("*.rst"):
            if old not in made:
                old.unlink()
    for path, text in made.items():
        write(path, text)


def joined(paragraph):
    """A paragraph as one line, so that no literal ends in another one; lists stay."""
    for start in re.finditer(r"^\s*[-*] ", paragraph, re.M):
        if paragraph.count("``", 0, start.start()) % 2 == 0:
            return paragraph
    return " ".join(paragraph.split("\n")) if paragraph.strip() else paragraph


LABEL = re.compile(r":(?:ref|term):`([^`<]+?)(?:\s*<[^`]*>)?`")


def to_rst(app, what, name, obj, options, lines):
    """Make docstrings, which are written for ``help``, into reStructuredText."""
    # Labels and terms are those of other packages' manuals, in docstrings that come from them.
    lines[:] = LABEL.sub(r"\1", "\n".join(lines)).split("\n")
    if "Class Attributes" in lines:
        start = lines.index("Class Attributes")
        lines[start : start + 2] = ["Attributes", "----------"]
    if not name.startswith("cynet.nd."):
        return
    end = lines.index("Parameters") if "Parameters" in lines else len(lines)
    lead = [joined(part) for part in "\n".join(lines[:end]).strip().split("\n\n")]
    lines[:end] = [*"\n\n".join(lead).split("\n"), ""]
    parts = re.split(r"(``.*?``)", "\n".join(lines), flags=re.S)
    parts[::2] = [re.sub(r"(?<![\n*])\*(?! : )", r"\\*", part) for part in parts[::2]]
    lines[:] = "".join(parts).split("\n")


def setup(app):
    app.connect("builder-inited", generate)
    app.connect("autodoc-process-docstring", to_rst, priority=100)  # runs before numpydoc
    return {"parallel_read_safe": True}
