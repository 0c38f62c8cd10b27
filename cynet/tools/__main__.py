"""``python -m cynet.tools``: list the tools."""

import ast
import pkgutil
import sys
from pathlib import Path


def main():
    """Print each tool with the first line of its description; return the exit status."""
    print("usage: python -m cynet.tools.TOOL --help\n")
    folder = Path(__file__).parent
    for each in sorted(pkgutil.iter_modules([str(folder)]), key=lambda m: m.name):
        if not each.name.startswith("_"):
            text = ast.get_docstring(ast.parse((folder / f"{each.name}.py").read_text())) or ""
            print(f"  {each.name:10}{text.splitlines()[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
