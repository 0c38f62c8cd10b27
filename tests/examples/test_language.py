"""examples/language: what its README shows is printed, the networks learn, options are refused."""

import re

import numpy as np
import pytest

import cynet as mx
from tests import scripts
from tests.example_output import ROOT, difference, of_folder, run

pytest.importorskip("tokenizers")


def test_the_readme_is_true(tmp_path):
    shown = of_folder("language")
    assert {program for program, _, _ in shown} == {"language/gpt.py", "language/classify.py"}
    for program, options, wanted in shown:
        got = run(program, *options, cwd=tmp_path)
        drawn = r"the old|at night the"  # a text that a rounding changes from some word on
        # figures are free: tokenizers numbers tokens that are equally frequent in any order
        assert difference(wanted, got, figures=False, free=drawn) is None, f"{program} {options}"
        if "perplexity" in got:
            assert float(re.findall(r"validation ([\d.]+)", got)[-1]) < 8
            assert re.search(r"^the old( \w+)+$", got, re.M)
        if "accuracy" in got:
            assert float(re.search(r"validation accuracy: ([\d.]+) %", got)[1]) > 97


@pytest.mark.parametrize(
    "program, options, word",
    [
        ("gpt", ["--text", "/no/file"], "--text"),
        ("gpt", ["--units", "10"], "--units"),
        ("gpt", ["--epochs", "0"], "--epochs"),
        ("gpt", ["--prompt", "the"], "--prompt"),
        ("classify", ["--text", "/no/file"], "--text"),
        ("classify", ["--length", "0"], "--length"),
        ("classify", ["--predict", "the"], "--predict"),
    ],
)
def test_options_that_are_refused(program, options, word, tmp_path):
    path = ROOT / "examples" / "language" / f"{program}.py"
    done = scripts.run(path, *options, cwd=tmp_path)
    assert done.returncode in (1, 2) and word in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_the_guide_to_tokenizers(tmp_path, monkeypatch):
    """Its first block that is not run with the page runs here, the others are Python."""
    page = (ROOT / "docs" / "guide" / "text.md").read_text()
    first, *others = re.findall(r"^```py\n(.*?)^```", page, re.M | re.S)
    for code in others:
        compile(code, "text.md", "exec")
    import tokenizers

    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    made.save(str(tmp_path / "tokenizer.json"))
    monkeypatch.chdir(tmp_path)
    names = {"mx": mx, "np": np, "texts": ["a", "b", "b"], "labels": [0, 1, 1]}
    exec(first, names)
    rows = [each for batch in names["batches"] for each in zip(*batch)]
    assert len(rows) == 3
    for tokens, mask, label in rows:
        assert tokens.shape == mask.shape == (64,) and mask.sum().asscalar() == 1
        assert tokens[0].asscalar() == label.asscalar()
