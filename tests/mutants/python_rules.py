"""Small faults for Python files: the operators of Cosmic Ray, and statements left out."""

import ast
import random

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators import (
    binary_operator_replacement,
    boolean_replacer,
    break_continue,
    comparison_operator_replacement,
    number_replacer,
    unary_operator_replacement,
)
from cosmic_ray.operators.operator import Example, Operator
from parso.python.tree import Number

# Of Cosmic Ray's replacements those that an author could have typed: `a < b` for `a <= b`.
NEAR = {"Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"}
NEAR |= {"Lt_Gt", "Gt_Lt", "Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul"}
NEAR |= {"Mul_FloorDiv", "Mod_FloorDiv", "BitAnd_BitOr", "BitOr_BitAnd", "Pow_Mul"}
NEAR |= {"USub_UAdd", "Delete_USub", "Delete_Not"}


class Integers(number_replacer.NumberReplacer):
    """One more, one less."""

    def mutation_positions(self, node):
        return super().mutation_positions(node) if _number(node, int) else ()

    def mutate(self, node, index):
        value = eval(node.value) + number_replacer.OFFSETS[index]
        return Number(str(value), node.start_pos, node.prefix)


class Floats(Operator):
    """A constant that is a tenth too large."""

    def mutation_positions(self, node):
        if _number(node, float) and eval(node.value):
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        return Number(f"{eval(node.value) * 1.1:.4g}", node.start_pos, node.prefix)

    @classmethod
    def examples(cls):
        return (Example("x = 0.5", "x = 0.55"),)


class Statements(Operator):
    """A statement left out: a call, an assignment, a refusal, an early return or continue."""

    KINDS = ("atom_expr", "power", "expr_stmt", "raise_stmt", "return_stmt", "keyword", "del_stmt")

    def mutation_positions(self, node):
        if node.type == "simple_stmt" and node.children[0].type in self.KINDS:
            first = node.children[0]
            if first.type == "keyword" and first.value not in ("return", "continue", "break"):
                return
            if first.type == "expr_stmt" and not self._remembered(first):
                return
            yield first.start_pos, first.end_pos

    def _remembered(self, statement):
        """Of an object or added to a name: the loss of a new name's value is noticed at once."""
        target, how = statement.children[0], statement.children[1].get_code().strip()
        return target.type in ("atom_expr", "power") or (how.endswith("=") and how != "=")

    def mutate(self, node, index):
        first = node.children[0]
        node.children[0] = parso.parse("pass").children[0]
        leaf = node.children[0].get_first_leaf()
        leaf.prefix = first.get_first_leaf().prefix
        return node

    @classmethod
    def examples(cls):
        return (Example("f(x)\n", "pass\n"), Example("x += 1\n", "pass\n"))


def _number(node, kind):
    return node.type == "number" and isinstance(eval(node.value), kind)


def _near(module):
    return [each() for each in module.operators() if each.__name__.split("_", 1)[1] in NEAR]


# A kind of fault is drawn first, then a place: else constants would be half of all.
KINDS = {
    "comparison": _near(comparison_operator_replacement),
    "number": [Integers(), Floats()],
    "statement": [Statements()],
    "logic": [
        boolean_replacer.AddNot(),
        boolean_replacer.ReplaceTrueWithFalse(),
        boolean_replacer.ReplaceFalseWithTrue(),
        boolean_replacer.ReplaceAndWithOr(),
        boolean_replacer.ReplaceOrWithAnd(),
        break_continue.ReplaceBreakWithContinue(),
        break_continue.ReplaceContinueWithBreak(),
        *[op for op in _near(unary_operator_replacement) if "Not" in type(op).__name__],
    ],
    "arithmetic": [
        *_near(binary_operator_replacement),
        *[op for op in _near(unary_operator_replacement) if "Not" not in type(op).__name__],
    ],
}


def not_run(text):
    """Lines whose change no test could notice: annotations, what only type checkers read, texts."""
    lines = set()
    for node in ast.walk(ast.parse(text)):
        ignored = []
        if (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING") or (
            isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        ):
            ignored = [node]
        elif isinstance(node, ast.AnnAssign):
            ignored = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            ignored = [arg.annotation for arg in every if arg.annotation] + [node.returns]
        for each in filter(None, ignored):
            start, end = (each.lineno, each.col_offset), (each.end_lineno, each.end_col_offset)
            lines.add((start, end))
    return lines


def draw(text, rng: random.Random):
    """A fault in a file: its text with it, or None where the kind that was drawn has no place."""
    tree, left_out = parso.parse(text), not_run(text)
    operators = KINDS[rng.choice(list(KINDS))]
    places = []
    nodes = list(ast_nodes(tree))
    for operator in operators:
        occurrence = 0
        for node in nodes:
            for start, end in operator.mutation_positions(node):
                if not any(low <= start and end <= high for low, high in left_out):
                    places.append((operator, occurrence))
                occurrence += 1
    if not places:
        return None
    operator, occurrence = rng.choice(places)
    return mutate_code(text, operator, occurrence)
