"""Names of attributes that are read by a string: each is defined somewhere in the package, or is
one of Python's or of another library's. A rename that forgets one takes a slower way in silence."""

import ast
import re

from .test_house import PACKAGES, ROOT, files

READERS = {"getattr", "hasattr", "getattr_static", "attrgetter", "methodcaller"}
# names that others define, with the files that read them
OUTSIDE = {
    "_fields": {
        "cynet/gluon/data/batchify.py",
        "cynet/gluon/data/dataloader.py",
        "cynet/gluon/data/transport.py",
        "cynet/numpy/dispatch.py",
    },
    "BaseExceptionGroup": {"cynet/base/errors.py"},
    "IMREAD_COLOR_RGB": {"cynet/image/codec.py"},
    "LZMAError": {"cynet/io/unpack.py"},
    "O_BINARY": {"cynet/base/files.py"},
    "WinDLL": {"cynet/cuda/backend.py"},
    "column_names": {"cynet/io/array_iter.py"},
    "cuFuncGetParamInfo": {"cynet/cuda/driver.pyx"},
    "fchmod": {"cynet/base/files.py"},
    "get_int_max_str_digits": {"cynet/base/kinds.py"},
    "get_ipython": {"cynet/module/progress.py"},
    "geteuid": {"cynet/base/cache.py"},
    "getuid": {"cynet/launch/command.py"},
    "iloc": {"cynet/gluon/data/dataset.py"},
    "is_numeric": {"cynet/ndarray/creation.py"},
    "last_value": {"cynet/recordio/files.py"},
    "lineno": {"cynet/tools/check.py"},
    "memfd_create": {"cynet/gluon/data/transport.py"},
    "msg": {"cynet/tools/check.py"},
    "nnz": {"cynet/ndarray/creation.py"},
    "ps1": {"cynet/recordio/files.py"},
    "reconfigure": {"cynet/launch/_rank.py"},
    "register_at_fork": {"cynet/ndarray/bulk/note.pyx"},
    "sched_getaffinity": {"cynet/base/cores.py"},
    "set_epoch": {"cynet/gluon/data/stream.py"},
    "should_prune": {"cynet/callback/sweeps.py"},
}


def read_and_defined(text):
    """Sets of names in Python: those that are read by a string, and those that are defined."""
    read, defined = set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            defined.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
        elif isinstance(node, ast.keyword) and node.arg:  # changed(node_name=...)
            defined.add(node.arg)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            defined.update(c.value for c in ast.walk(node.slice) if isinstance(c, ast.Constant))
        elif isinstance(node, ast.Call):
            function = getattr(node.func, "id", getattr(node.func, "attr", None))
            strings = [a.value for a in node.args if isinstance(a, ast.Constant)]
            if function in READERS:
                read.update(
                    name for name in strings if isinstance(name, str) and name.isidentifier()
                )
            elif function == "setattr":
                defined.update(name for name in strings if isinstance(name, str))
    return read, defined


def read_and_defined_compiled(text):
    """The same of Cython, by its lines."""
    read = {m[2] for m in re.finditer(r"\b(getattr|hasattr)\([^\"\n]*\"(\w+)\"", text)}
    defined = set(re.findall(r"\b(?:def|class)\s+(\w+)|\bcpdef[^\n(]*?(\w+)\(", text))
    defined = {name for pair in defined for name in pair}
    defined.update(re.findall(r"(?:self|cls)\.(\w+)\s*[,=]", text))
    for fields in re.findall(r"\b(?:readonly|public)\s+([^\n#]*)", text):
        defined.update(re.findall(r"\w+", fields))
    return read, defined


def test_attributes_that_are_read_by_a_string_exist():
    read, defined = {}, set()
    readers = {(".py",): read_and_defined, (".pyx", ".pxd"): read_and_defined_compiled}
    for suffixes, reader in readers.items():
        for path in files(*PACKAGES, suffixes=suffixes):
            names, more = reader((ROOT / path).read_text())
            defined |= more
            for name in names:
                read.setdefault(name, set()).add(str(path))
    unknown = {
        name: paths
        for name, paths in read.items()
        if name not in defined and not name.startswith("__")
    }
    assert unknown == OUTSIDE
    assert len(read) > 150


def test_names_are_found():
    text = 'self.a = getattr(x, "b", None) or y.c("d")\nsetattr(x, "e", 1)\nvars(f)["g"] = 1\n'
    assert read_and_defined(text) == ({"b"}, {"a", "e", "g"})
    text = 'cdef class A:\n    cdef public int a, b\n    def c(self): return hasattr(self, "d")\n'
    read, defined = read_and_defined_compiled(text)
    assert read == {"d"} and {"A", "a", "b", "c"} <= defined
