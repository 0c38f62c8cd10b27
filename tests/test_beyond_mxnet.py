"""What cynet has beyond MXNet is told in four places: README's table, a section of a guide, the
reference, with an example; and none of the packages that it uses is imported before it is used."""

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import cynet as mx
from cynet.base import compat

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
TABLE = README[README.index("What MXNet has not:") : README.index("## Speed")]
# word in README's table and in the section: where the reference has it (None: no name of Python)
THERE = {
    "vmap": "autograd.vmap",
    "jacobian": "autograd.jacobian",
    "register_hook": "nd.NDArray.register_hook",
    "register_backward_hook": "gluon.Block.register_backward_hook",
    "per_sample_gradients": "gluon.per_sample_gradients",
    "rfft": "np.fft.rfft",
    "SpectralNorm": "gluon.nn.SpectralNorm",
    "WeightNorm": "gluon.nn.WeightNorm",
    "WeightDrop": "gluon.nn.WeightDrop",
    "MultiHeadAttention": "gluon.nn.MultiHeadAttention",
    "TransformerEncoder": "gluon.nn.TransformerEncoder",
    "label_smoothing": "gluon.loss.SoftmaxCELoss",
    "Muon": "optimizer.Muon",
    "LBFGS": "gluon.LBFGS",
    "Lookahead": "gluon.Lookahead",
    "SAM": "gluon.SAM",
    "param_groups": "gluon.Trainer.param_groups",
    "IterableDataset": "gluon.data.IterableDataset",
    "Columns": "contrib.tables.Columns",
    "windows": "contrib.series.windows",
    "RandAugment": "gluon.data.vision.transforms.RandAugment",
    "tokenizers": None,
    "generate": "gluon.model_zoo.text.generate",
    "draw_boxes": "image.draw_boxes",
    "MeanAveragePrecision": "metric.MeanAveragePrecision",
    "MeanIoU": "metric.MeanIoU",
    "BLEU": "metric.BLEU",
    "explain": "contrib.explain.integrated_gradients",
    "sklearn": "contrib.sklearn.Classifier",
    "Optuna": "callback.Optuna",
    "Ray": "callback.Ray",
    "prepare_qat": "contrib.quantization.prepare_qat",
    "/v2": "serving.Application",
    "save_card": "model.save_card",
    "shard_states": "gluon.Trainer",
    "group": "distributed.group",
    "ProcessSet": "contrib.horovod.ProcessSet",
    "cynet run": None,
    "datasets": None,
}


def has(word, text):
    return re.search(rf"(?<![\w]){re.escape(word)}(?![\w])", text, re.IGNORECASE) is not None


LINK = re.compile(r"\]\((docs/[^)#]+)(?:#([^)]+))?\)")


def section(page, anchor):
    """The text below a heading of a page; all of it without an anchor."""
    text = (ROOT / page).read_text()
    parts = [part for part in re.split(r"^(?=#+ )", text, flags=re.M) if part.startswith("#")]
    slugs = [re.sub(r"[^\w\- ]", "", p.splitlines()[0].lstrip("# ").lower()) for p in parts]
    slugs = [slug.replace(" ", "-") for slug in slugs]
    return parts[slugs.index(anchor)] if anchor else text


@pytest.mark.parametrize("word", THERE)
def test_a_name_stands_in_readme_and_in_a_section_that_it_links(word):
    rows = [row for row in TABLE.splitlines() if has(word, row)]
    assert rows, "README's table lacks it"
    links = [link for row in rows for link in LINK.findall(row)]
    assert any(has(word, section(*link)) for link in links), f"none of {links} has it"


@pytest.mark.parametrize("word", [word for word, path in THERE.items() if path])
def test_a_name_is_in_the_reference_with_an_example(monkeypatch, word):
    monkeypatch.syspath_prepend(str(ROOT / "docs/_ext"))
    reference = importlib.import_module("reference")
    path = THERE[word]
    pages = [name for name in reference.MODULES if path.startswith(f"{name}.")]
    assert pages, "no page of the reference has its module"
    module, owner, value = max(pages, key=len), None, mx
    first = path.removeprefix(f"{module}.").partition(".")[0]
    assert first in {name for name, _ in reference.public(attrgetter(module)(mx))}
    for part in path.split("."):
        owner, value = value, getattr(value, part)
    docs = [inspect.getdoc(value), inspect.getdoc(owner) if inspect.isclass(owner) else ""]
    examples = [each for text in docs for each in doctest.DocTestParser().get_examples(text or "")]
    last = path.rpartition(".")[2]
    assert any(last in each.source for each in examples), f"no example of {path} uses it"


def test_each_row_of_the_table_is_looked_at():
    """A row, or a word in code, that the list above does not have."""
    words = {each for code in re.findall(r"`([^`]+)`", TABLE) for each in re.split(r"[, ]+", code)}
    known = " ".join([*THERE, *filter(None, THERE.values())])
    others = {"x", "serve", "launch", "autograd", "jvp", "mx"}
    assert not {w for w in words if not has(w.rpartition(".")[2], known)} - others


def test_no_package_that_is_optional_is_imported_at_the_start():
    packages = {
        *compat._EXTRAS_OF_PACKAGE,
        "datasets",
        "ipywidgets",
        "openvino",
        "pandas",
        "prometheus_client",
    }
    packages |= {"tokenizers", "tqdm.notebook", "tritonclient"}
    code = "import sys, cynet; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not packages - {"setuptools"} & loaded
    # what is used first when it is asked for is not loaded with the package either
    assert not {m for m in loaded if re.match(r"cynet\.(contrib\.(?!amp)|gluon|serving|launch)", m)}
