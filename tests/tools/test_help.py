"""--help of every program: each argument is explained, and a default is told once."""

import importlib
import pkgutil
import re

import pytest

import cynet.tools
from cynet.__main__ import main as run

TOOLS = [
    each.name for each in pkgutil.iter_modules(cynet.tools.__path__) if each.name != "__main__"
]


def helped(main, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", [*(f"cynet.tools.{each}" for each in TOOLS), "cynet.launch"])
def test_each_argument_is_explained(name, capsys):
    module = importlib.import_module(name if "launch" not in name else "cynet.launch.__main__")
    text = helped(module.main, capsys)
    assert text.startswith("usage: python -m cynet")
    assert "(default: None)" not in text and not re.search(r"\(default[^)]*\)\s*\(default", text)
    _, _, arguments = text.partition("positional arguments:")
    arguments = re.split(r"\n(?=\S)", arguments.replace("\noptions:\n", "\n"))[0]  # no examples
    found = re.findall(r"^  (\S.*)\n((?: {6,}.*\n)*)", arguments, re.M)
    assert len(found) > 1
    silent = [head for head, more in found if not (more or re.search(r"\S  +\S", head))]
    assert not silent


def test_tools_are_listed_with_what_they_do(capsys):
    importlib.import_module("cynet.tools.__main__").main()
    text = capsys.readouterr().out
    assert all(re.search(rf"^  {name} +\S", text, re.M) for name in TOOLS)


def test_the_command_itself(capsys):
    assert run(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: python -m cynet [script.py")
