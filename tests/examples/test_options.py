"""Options of all examples: each is explained, and help tells no default where there is none."""

import ast
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SOURCES = sorted(EXAMPLES.rglob("*.py"))


def options(source):
    """(name of an option, the names of the keywords it is declared with)."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.args[0].value
            called = getattr(node.func, "attr", getattr(node.func, "id", None))
            if called in ("add_argument", "add") and str(name).startswith("--"):
                yield name, {each.arg for each in node.keywords}


def test_each_is_explained():
    found = [(source, *each) for source in SOURCES for each in options(source)]
    assert len(found) > 80
    silent = [f"{source.name} {name}" for source, name, words in found if "help" not in words]
    assert not silent


@pytest.mark.parametrize(
    "source", [each for each in SOURCES if "formatter_class=" in each.read_text()]
)
def test_defaults_of_none_are_not_told(source):
    assert "formatter_class=argparse." not in source.read_text()
