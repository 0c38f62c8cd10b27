"""Reports the names in an MXNet script that cynet lacks, without running the script.

python -m cynet --check train.py folder/ ...    each use of a missing name with its line

The exit status is 0 if cynet has all of them, 1 if not, 2 if a file cannot be read.
"""

import argparse
import ast
import importlib
import inspect
import os
import sys
from pathlib import Path

from ..base.as_mxnet import install_as_mxnet
from ..base.errors import CynetError, shown

_MODULE_NAMES = ("mxnet", "cynet")  # modules whose names are checked


class _NameChecker(ast.NodeVisitor):
    """Finds names in one file that are used from MXNet's (or cynet's) modules but are missing."""

    def __init__(self, tree):
        self.names_in_file = {}  # name in the file -> object
        self.registered = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
        imports = (n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)))
        self.registered.update(alias.name for node in imports for alias in node.names)
        self.findings = []  # (line, text)

    def _add_finding(self, node, text):
        finding = (node.lineno, " ".join(str(text).split()))
        if finding not in self.findings:
            self.findings.append(finding)

    def visit_Import(self, node):
        for alias in node.names:
            root = alias.name.partition(".")[0]
            if root in _MODULE_NAMES:
                try:
                    module = importlib.import_module(alias.name)
                except ImportError as error:
                    self._add_finding(node, error)
                    continue
                names_in_file = module if alias.asname else importlib.import_module(root)
                self.names_in_file[alias.asname or root] = names_in_file

    def visit_ImportFrom(self, node):
        if node.level or (node.module or "").partition(".")[0] not in _MODULE_NAMES:
            return
        for alias in node.names:
            if alias.name == "*":
                self._import_all_names(node)
                continue
            try:
                found = getattr(__import__(node.module, fromlist=[alias.name]), alias.name)
            except (ImportError, AttributeError) as error:
                self._add_finding(node, error)
            else:
                self.names_in_file[alias.asname or alias.name] = found

    def _import_all_names(self, node):
        try:
            module = importlib.import_module(node.module)
        except ImportError as error:
            self._add_finding(node, error)
            return
        public = getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")])
        self.names_in_file.update({name: getattr(module, name) for name in public})

    def visit_Try(self, node):
        """Skip names used under ``try`` if the error of a missing name is caught."""
        before = list(self.findings)
        for each in node.body:
            self.visit(each)
        caught = {
            n.id
            for h in node.handlers
            for n in ast.walk(h.type or ast.Name("Exception"))
            if isinstance(n, ast.Name)
        }
        if caught & {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception"}:
            self.findings = before
        for each in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(each)

    def visit_Attribute(self, node):
        self._resolve_object(node)

    def _resolve_object(self, node):
        """Return the object of a chain of attributes from a known name, or None."""
        if isinstance(node, ast.Name):
            return self.names_in_file.get(node.id)
        if not isinstance(node, ast.Attribute):
            self.visit(node)
            return None
        owner = self._resolve_object(node.value)
        if not (inspect.ismodule(owner) or inspect.isclass(owner)):
            return None
        if isinstance(node.ctx, ast.Store):
            return None
        try:
            return getattr(owner, node.attr)
        except AttributeError as error:
            # the script, or a module it imports, may register an operator by this name
            if node.attr not in self.registered:
                self._add_finding(node, error)
            return None

    def visit_Call(self, node):
        function = self._resolve_object(node.func)
        for child in (*node.args, *node.keywords):
            self.visit(child)
        if function is None:
            return
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            return
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            return
        for keyword in node.keywords:
            if keyword.arg and keyword.arg not in parameters and keyword.arg not in ("name", "out"):
                name = getattr(function, "__name__", "function")
                self._add_finding(keyword.value, f"{name} has no parameter {shown(keyword.arg)}")

    def _forget_name(self, node):
        """Forget a name that the file binds itself: it is no module any more."""
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                self.names_in_file.pop(each.id, None)

    def visit_Assign(self, node):
        self.visit(node.value)
        found = self._resolve_object(node.value) if isinstance(node.value, ast.Attribute) else None
        for target in node.targets:
            self._forget_name(target)
            if isinstance(target, ast.Name) and found is not None:
                self.names_in_file[target.id] = found  # nd = mx.nd

    def visit_For(self, node):
        self._forget_name(node.target)
        self.generic_visit(node)

    def visit_FunctionDef(self, node):
        outer = dict(self.names_in_file)  # names inside of a function are local
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                self.names_in_file.pop(arg.arg, None)
        self.generic_visit(node)
        self.names_in_file = outer

    visit_AsyncFunctionDef = visit_FunctionDef


def check_file(path):
    """Return the names of MXNet or cynet that a file uses and cynet lacks.

    path (str or Path): A Python file.

    Returns list of (int, str): Line and sentence of each use, in the order of the lines. Raises
    CynetError: the file cannot be parsed; the message has the line.
    """
    text = Path(path).read_bytes()
    try:
        tree = ast.parse(text, str(path))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", 0)
        raise CynetError(f"{path}:{line}: not Python 3: {getattr(error, 'msg', error)}") from None
    install_as_mxnet(numpy_names=False)
    uses = _NameChecker(tree)
    uses.visit(tree)
    return sorted(uses.findings)


def python_files(paths):
    """Return the Python files at paths, those of folders in alphabetical order."""
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(path.rglob("*.py"))
        else:
            yield path


def main(arguments):
    """Check files and folders; print missing names and return the exit status: 0 if none is
    missing, 1 if some are, 2 if a file cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m cynet --check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="script, or folder of scripts")
    paths = parser.parse_args(arguments).paths
    count, lacking, status = 0, 0, 0
    for path in python_files(paths):
        try:
            findings = check_file(path)
        except (OSError, CynetError) as error:
            print(error, file=sys.stderr)
            status = 2
            continue
        count += 1
        lacking += bool(findings)
        for line, text in findings:
            print(f"{os.fspath(path)}:{line}: {text}")
    print(f"{count} files checked: {count - lacking} use only what cynet has, {lacking} do not")
    return status or int(lacking > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
