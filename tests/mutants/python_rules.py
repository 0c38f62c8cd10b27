"""Small faults for Python files, of the kinds that people make.

A kind is drawn by its weight, then a place: else constants would be half of all. The weights are
those of faults that were made by hand on random lines: of 63 a refusal was dropped in 14, a limit
was off in 9, a statement dropped in 13.
"""

import ast
import itertools
import random
import re
from functools import lru_cache

WEIGHTS = {
    "refusal": 14,  # a raise or the call of a check is left out
    "statement": 13,  # so is an assignment or a call, or a part: .lower(), `or 1.0`, clip(...)
    "limit": 9,  # < for <=, one more, one less, in comparisons, ranges and slices
    "constant": 7,  # another number, True for False
    "negated": 6,  # a condition, `and` for `or`
    "argument": 4,  # two arguments or operands exchanged
    "default": 4,  # another default, a keyword that is not handed on
    "index": 4,  # x[0] for x[i] or x[1]
    "return": 4,  # an early return, continue or break is left out
    "arithmetic": 3,  # + for -, * for /
}
CHECKS = re.compile(r"(^|_)(check|require|refuse|forbid|expect|only|ensure|verify|must|validate)")
OPERATORS = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
EQUAL = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
}
# Calls around a value that a person may forget; conversions show too rarely.
AROUND = {"abs", "max", "min", "round", "set", "sorted"}
METHODS = {"copy", "lower", "upper", "strip", "lstrip", "rstrip", "detach", "clip", "flush"}
# Lines whose change shows in speed or to type checkers alone.
SILENT = ("__slots__", "__all__", "__version__", "T_co", "TypeVar")


class Places:
    """Every place of a text where a fault fits: dict of a kind to (start, end, what stands there
    then), in bytes."""

    def __init__(self, text):
        self.text, self.found = text.encode(), {kind: [] for kind in WEIGHTS}
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self._block(ast.parse(text))

    def _span(self, node):
        first = self.starts[node.lineno - 1] + node.col_offset
        return first, self.starts[node.end_lineno - 1] + node.end_col_offset

    def _source(self, node):
        first, last = self._span(node)
        return self.text[first:last].decode()

    def _add(self, kind, node, new):
        first, last = self._span(node)
        if self.text[first:last].decode() != new:
            self.found[kind].append((first, last, new))

    def _between(self, kind, left, right, old, new):
        """An operator, which stands between two nodes."""
        first, last = self._span(left)[1], self._span(right)[0]
        gap = self.text[first:last].decode()
        if re.fullmatch(rf"[)\s\\]*{re.escape(old)}[(\s\\]*", gap):
            at = first + gap.index(old)
            self.found[kind].append((at, at + len(old), new))

    def _block(self, node):
        """The statements in a node, what they are made of, and those in their blocks."""
        for name in ("body", "orelse", "finalbody"):
            for each in getattr(node, name, []) if isinstance(getattr(node, name, 0), list) else ():
                self._statement(each, node)
        for each in getattr(node, "handlers", []) + getattr(node, "cases", []):
            self._block(each)

    def _statement(self, node, parent):
        kinds = ast.FunctionDef | ast.AsyncFunctionDef
        if _ignored(node):
            return
        if isinstance(node, kinds):
            self._defaults(node.args)
        elif isinstance(node, ast.Raise):
            self._add("refusal", node, "pass")  # what it says is no place
        elif isinstance(node, ast.Expr):
            called = isinstance(node.value, ast.Call) and _name(node.value.func)
            if called is not False:
                check = bool(CHECKS.search(called or ""))
                self._add("refusal" if check else "statement", node, "pass")
            self._expression(node.value)
        elif isinstance(node, ast.AugAssign):
            self._add("statement", node, "pass")
            self._expression(node.value)
        elif isinstance(node, ast.Assign):
            if isinstance(node.targets[0], ast.Attribute | ast.Subscript):
                self._add("statement", node, "pass")
            for each in [*node.targets, node.value]:
                self._expression(each)
        elif isinstance(node, ast.Return | ast.Continue | ast.Break):
            if isinstance(parent, ast.If | ast.For | ast.While | ast.Try):
                self._add("return", node, "pass")
            if isinstance(node, ast.Return) and node.value:
                self._expression(node.value)
        elif isinstance(node, ast.If | ast.While):
            self._negated(node.test)
            self._expression(node.test)
        elif isinstance(node, ast.AnnAssign):
            if node.value:
                self._expression(node.value)
        elif not isinstance(node, ast.ClassDef):
            for each in ast.iter_child_nodes(node):
                if isinstance(each, ast.expr):
                    self._expression(each)
                elif isinstance(each, ast.withitem):
                    self._expression(each.context_expr)
        self._block(node)

    def _defaults(self, args):
        every = [*args.posonlyargs, *args.args]
        pairs = [*zip(every[len(every) - len(args.defaults) :], args.defaults)]
        pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults) if d is not None]
        for _, default in pairs:
            if isinstance(default, ast.Constant):
                for new in _others(default.value):
                    self._add("default", default, new)

    def _expression(self, node, limits=False):
        """A node below statements; `limits` says that its numbers bound something."""
        if isinstance(node, ast.Lambda | ast.JoinedStr):
            return
        handler = getattr(self, f"_of_{type(node).__name__}", None)
        inner = handler(node, limits) if handler else None
        for each in ast.iter_child_nodes(node) if inner is None else inner:
            if isinstance(each, ast.expr):
                self._expression(each)
            elif isinstance(each, ast.keyword | ast.comprehension):
                self._parts(each)

    def _parts(self, node):
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.expr):
                self._expression(each)
        for each in getattr(node, "ifs", ()):
            self._negated(each)

    def _negated(self, node):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._add("negated", node, f"({self._source(node.operand)})")
        elif not isinstance(node, ast.Compare) and not _constant(node, bool):
            self._add("negated", node, f"(not ({self._source(node)}))")

    def _of_Compare(self, node, limits):
        operands = [node.left, *node.comparators]
        for left, op, right in zip(operands, node.ops, operands[1:]):
            for kind, table in (("limit", OPERATORS), ("negated", EQUAL)):
                if type(op) in table:
                    self._between(kind, left, right, *table[type(op)])
        bounds = any(type(op) in OPERATORS for op in node.ops)
        for each in operands:
            self._expression(each, bounds)
        return ()

    def _of_Constant(self, node, limits):
        value = node.value
        kind = "limit" if limits and type(value) is int else "constant"
        for new in _others(value) if type(value) is not str else ():
            self._add(kind, node, new)

    def _of_BinOp(self, node, limits):
        if type(node.op) in ARITHMETIC and not _constant(node.left, str):
            old, new = ARITHMETIC[type(node.op)]
            self._between("arithmetic", node.left, node.right, old, new)
        if isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.MatMult):
            self._exchange(node.left, node.right)
        if limits and isinstance(node.op, ast.Add | ast.Sub) and _constant(node.right, int):
            self._add("limit", node, self._source(node.left))

    def _of_UnaryOp(self, node, limits):
        if isinstance(node.op, ast.USub):
            self._add("arithmetic", node, self._source(node.operand))

    def _of_BoolOp(self, node, limits):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:]):
            self._between("negated", left, right, old, new)
        first, *rest = [self._source(value) for value in node.values]
        if not rest[1:]:
            self._add("statement", node, f"({first})")
            self._add("statement", node, f"({rest[0]})")

    def _of_IfExp(self, node, limits):
        self._negated(node.test)
        self._exchange(node.body, node.orelse, "negated")

    def _of_Subscript(self, node, limits):
        part = node.slice
        if isinstance(part, ast.Slice):
            for each in filter(None, (part.lower, part.upper)):
                self._expression(each, True)
                if isinstance(each, ast.Name | ast.Attribute | ast.Call):
                    self._add("limit", each, f"{self._source(each)} - 1")
            return (node.value,)
        value = getattr(part, "value", None)
        if type(value) is int:
            self._add("index", part, "1" if value == 0 else str(value - 1))
        elif isinstance(part, ast.UnaryOp) or (isinstance(part, ast.Name) and len(part.id) == 1):
            self._add("index", part, "0")
        return (node.value,)

    def _of_Call(self, node, limits):
        name = _name(node.func)
        plain = [each for each in node.args if not isinstance(each, ast.Starred)]
        if len(plain) == len(node.args):
            for one, other in itertools.pairwise(plain):
                if name not in ("isinstance", "min", "max", "getattr", "hasattr"):
                    self._exchange(one, other)
        if name == "range":
            for each in plain:
                self._expression(each, True)
                self._add("limit", each, f"{self._source(each)} - 1")
            return ()
        if name == "get" and len(plain) == 2 and isinstance(plain[1], ast.Constant):
            for new in _others(plain[1].value):
                self._add("default", plain[1], new)
        for keyword in node.keywords:
            if keyword.arg and (node.args or len(node.keywords) > 1):
                self._without(node, keyword)
        if isinstance(node.func, ast.Attribute) and name in METHODS:
            self._add("statement", node, self._source(node.func.value))
        elif isinstance(node.func, ast.Name) and name in AROUND and len(plain) == 1:
            self._add("statement", node, f"({self._source(plain[0])})")

    def _exchange(self, one, other, kind="argument"):
        """Two nodes change places."""
        (first, middle), (rest, last) = self._span(one), self._span(other)
        between = self.text[middle:rest].decode()
        a, b = self._source(one), self._source(other)
        if a != b and rest > middle:
            self.found[kind].append((first, last, f"{b}{between}{a}"))

    def _without(self, call, keyword):
        first, last = self._span(keyword)
        before = self.text[:first].decode(errors="replace").rstrip()
        if before.endswith(","):
            at = len(self.text[:first].rstrip()) - 1
            self.found["default"].append((at, last, ""))

    def text_with(self, place):
        first, last, new = place
        return (self.text[:first] + new.encode() + self.text[last:]).decode()


def _name(node):
    """The last name of what is called."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _constant(node, kind):
    return isinstance(node, ast.Constant) and type(node.value) is kind


def _others(value):
    """Constants that a person may have written instead."""
    if type(value) is bool:
        return [str(not value)]
    if type(value) is int:
        return [str(value + 1), str(value - 1)]
    if type(value) is float and value == value and value:
        return [f"{value * 1.1:.4g}"]
    if type(value) is str and value.isidentifier():
        return ["None"]
    return []


def _ignored(node):
    """What no test could notice: texts, what only type checkers read, the call of a script."""
    if isinstance(node, ast.If):
        test = ast.unparse(node.test)
        return test == "TYPE_CHECKING" or "__name__" in test
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.Assign):
        return any(word in ast.unparse(node) for word in SILENT)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Pass | ast.Assert)


@lru_cache(64)
def _places(text):
    return Places(text)


def draw(text, rng: random.Random):
    """A fault in a file: (its kind, the text with it), or None where the kind that was drawn has no
    place."""
    [kind] = rng.choices([*WEIGHTS], [*WEIGHTS.values()])
    places = _places(text)
    if not places.found[kind]:
        return None
    return kind, places.text_with(rng.choice(places.found[kind]))
