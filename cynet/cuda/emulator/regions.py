"""Kernels as loops over the threads of a block, which the compiler turns into vector instructions.

Between two barriers the threads of a block run in no order, so what stands there becomes a loop
over them (J. Stratton et al., MCUDA, 2008). What a thread keeps from one such region to the next
lies in an array with an element for each thread; what is the same for all threads stays a variable
of the block, and what follows from threadIdx alone is computed again. A loop that strides by
blockDim runs its turns one after another, all threads in each: neighbours read neighbours.

Only control flow around a barrier that is surely the same for all threads is taken apart. Whatever
is not understood leaves the kernel as it was: its threads are fibres, or one after another.
"""

import re
from typing import NamedTuple

from .statements import PURE, Unknown, changes, declared, keeps_address, parse, pieces, words

BARRIER = re.compile(r"__syncthreads\s*\(\s*\)\s*;")
_UNARY = re.compile(r"(?:^|[=(,?:+\-/%<>!|~^\[{]|[*&]{2}|\breturn\b)\s*[*&](?!&)")
_CAST = r"\(\s*(?:const |unsigned )*\w+[\s*]*\)"
_ASSIGN = re.compile(
    r"(?:(?P<v>\w+)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)(?P<e>.*)|(?P<w>\w+)\s*(?:\+\+|--)"
    r"|(?:\+\+|--)\s*(?P<u>\w+))\s*;?\s*$",
    re.DOTALL,
)
_CONSTANTS = set()
_CONSTANTS.update(("blockIdx", "blockDim", "gridDim", "warpSize", "true", "false", "nullptr"))
_CONSTANTS.update(("INFINITY", "NAN", "FLT_MAX", "FLT_MIN", "FLT_EPSILON", "INT_MAX", "INT_MIN"))
_TYPES = {"int", "unsigned", "signed", "long", "short", "char", "bool", "float", "double", "uint"}
_TYPES |= {"const", "volatile", "size_t", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t"}
_TYPES |= {"uint32_t", "int64_t", "uint64_t", "__restrict__", "std"}
UNIFORM, THREAD, OTHER = 0, 1, 2


class _Variable(NamedTuple):
    name: str
    kind: str  # uniform, again (computed again), each (an array), local (a reference)
    given: object  # Declared, or None of a parameter
    number: int
    fixed: bool  # never changes
    needs: dict  # again: what its initialiser names


def has_memory(text):
    """Whether a function may keep variables in memory, not in registers: arrays and addresses.

    The compiler has one copy of that memory for all threads that it takes at a time.
    """
    if re.search(r"\bunion\b|\balloca\b|\barray\s*<|\btypedef\b|\busing\b[^;]*\[", text):
        return True
    for match in re.finditer(r"[^;{}]*", text):
        if "__shared__" in match[0]:
            continue
        try:
            found = declared(re.sub(r"^.*\b(case\b[^:]*:|else\b)|^\s*for\s*\(", "", match[0]))
        except Unknown:
            return True
        if any(one.arrays for one in found or ()):
            return True
        if re.search(r"(^|[=(,?:+\-/%<>!|~^\[{])\s*&\s*[A-Za-z_]\w*\b(?!\s*(\[|->|\.))", match[0]):
            return True
    return False


class _Restart(Exception):
    pass


class Splitter:
    """One kernel taken apart.

    Parameters
    ----------
    text : str
        The blanked source.
    function : Function
        The kernel.
    constants : set of str
        Names outside of it that are the same for all threads and never change.
    shared : set of str
        Names of shared arrays outside of it.
    waits : callable
        Whether a text names something that waits for other threads.
    elsewhere : bool
        Other functions use threadIdx.
    private : bool
        Other functions may have memory of their own.
    """

    def __init__(self, text, function, constants, shared, waits, elsewhere, private):
        self.text, self.function, self.waits = text, function, waits
        self.outside = {name: _Variable(name, "uniform", None, 0, True, {}) for name in constants}
        self.addresses, self.elsewhere = shared, elsewhere
        body = text[function.begin : function.end]
        self.loop = "CYNET_THREADS_ALONE" if private or has_memory(body) else "CYNET_THREADS"
        self.varying = set()  # declarations that looked uniform and are not

    def edits(self):
        """Replacements (begin, end, new), in order, or None: the kernel stays as it is."""
        try:
            nodes = parse(self.text, self.function.begin, self.function.end)
            if self.waits(BARRIER.sub(" ", self.text[self.function.begin : self.function.end])):
                return None
            while True:
                try:
                    return self._whole(nodes)
                except _Restart:
                    pass
        except Unknown:
            return None

    def _whole(self, nodes):
        self.out, self.arrays, self.labels, self.numbers = [], [], 0, 0
        self.pure, self.handled, self.leaves = set(), set(), False
        self.splits = any(self._splits(node) for node in nodes)
        begin, end = self.function.begin, self.function.end
        if self.splits:
            env = dict(self.outside)
            parameters = self._parameters()
            for name in parameters:
                where = list(changes(self.text, name, begin, end))
                env[name] = _Variable(name, "uniform", None, 0, not where, {})
            self._block(nodes, end, env)
            for name in parameters:
                if any(at not in self.handled for at in changes(self.text, name, begin, end)):
                    raise Unknown
        else:
            self._region(list(nodes), end, {}, [])
        start = " CYNET_BLOCK_BEGIN "
        if self.splits:
            start += "CYNET_EACH_BEGIN "
        if self.leaves and self.splits:
            start += "bool *const cynet_live = cynet_each.take<bool>(true); "
        self.out.insert(0, (begin, begin, start + "".join(self.arrays)))
        live = "CYNET_LIVE " if self.leaves and self.splits else ""
        return [(b, e, new.replace("CYNET_LIVE ", live)) for b, e, new in self.out]

    # ----- what there is
    def _parameters(self):
        head = self.function.head
        name = self.function.name.rpartition("::")[2]
        inside = head[re.search(rf"\b{name}\s*\(", head).end() : head.rindex(")")]
        names = []
        for begin, end in pieces(inside, 0, len(inside)):
            found = re.search(r"([A-Za-z_]\w*)\s*$", inside[begin:end])
            if found:
                names.append(found[1])
        return names

    def _barrier(self, node):
        if node.kind == "simple":
            return bool(BARRIER.fullmatch(self.text[node.begin : node.end]))
        return any(self._barrier(each) for each in node.body)

    def _stride(self, node):
        """(type, name, start, condition, step) of a loop that strides by blockDim, or None."""
        if node.kind != "for" or len(node.head) != 3 or self._barrier(node):
            return None
        start, condition, step = (self.text[b:e].strip() for b, e in node.head)
        moved = re.fullmatch(r"(\w+)\s*\+=(.*\bblockDim\b.*)", step, re.DOTALL)
        if not moved or "threadIdx" in step:
            return None
        name = moved[1]
        first = re.fullmatch(
            rf"((?:unsigned |long )*\w+)\s+{name}\s*=(?P<e>[^=].*)", start, re.DOTALL
        )
        bound = re.fullmatch(rf"{name}\s*(<=?)([^<].*)", condition, re.DOTALL)
        if not first or not bound or "&&" in condition or "," in step:
            return None
        body = node.body[0]
        if any(True for _ in changes(self.text, name, body.begin, body.end)):
            return None
        if _jumps(body, ("return", "break", "goto")):
            return None
        return first[1], name, first["e"].strip(), bound[1], bound[2].strip(), moved[2].strip()

    def _splits(self, node):
        if node.kind == "simple":
            return self._barrier(node)
        return bool(self._stride(node)) or any(self._splits(each) for each in node.body)

    # ----- what is the same for all threads
    def _grade(self, expression, env):
        """(UNIFORM, THREAD or OTHER; whether it stays so; the variables it names)."""
        text = expression.strip()
        if "->" in text or re.search(r"\+\+|--|(?<![=!<>])=(?!=)", text) or _UNARY.search(text):
            return OTHER, False, {}
        if re.search(r"\[[^\]]*\]\s*(\([^()]*\))?\s*\{", text):
            return OTHER, False, {}  # a lambda
        worst, fixed, needs = UNIFORM, True, {}
        for match in re.finditer(r"[A-Za-z_]\w*", text):
            name, before = match[0], text[: match.start()].rstrip()
            follows = text[match.end() :].lstrip()[:1]
            if before.endswith((".", "::")) and not before.endswith("std::"):
                continue
            if before[-1:].isdigit() and text[match.start() - 1].isdigit():
                continue  # the letters of a number
            if name == "threadIdx":
                worst = max(worst, THREAD)
            elif name in env:
                known = env[name]
                if follows in ("[", "(") and name not in self.pure:
                    return OTHER, False, {}
                worst = max(worst, {"uniform": UNIFORM, "again": THREAD}.get(known.kind, OTHER))
                fixed = fixed and known.fixed
                needs[name] = known
            elif name in self.addresses:
                if follows == "[":
                    return OTHER, False, {}
            elif name not in _CONSTANTS and name not in _TYPES and name not in PURE:
                return OTHER, False, {}
        if re.search(r"[.)\]]\s*\w*\s*\[", text) or re.search(_CAST + r"\s*[*&]", text):
            return OTHER, False, {}
        return worst, fixed, needs

    def _is_uniform(self, expression, env):
        return self._grade(expression, env)[0] == UNIFORM

    def _declare(self, node, begin, end, scope_end, env):
        """Variables of a declaration: (variables by name, whether the statement is the block's)."""
        found = declared(self.text[begin:end])
        if found is None:
            return None, False
        graded, block = [], node.begin not in self.varying
        inner = dict(env)
        for one in found:
            sites = list(changes(self.text, one.name, end, scope_end))
            if one.arrays:
                init = one.init.strip("{} ")
                plain = one.constant and one.init.startswith("{")
                grade = self._grade(init, inner) if plain else (OTHER, False, {})
            else:
                init = one.init.strip("(){}") if one.init[:1] in ("{", "(") else one.init
                grade = self._grade(init, inner)
            if self._by_value(one):
                grade = (UNIFORM, True, {})
            block = block and grade[0] == UNIFORM and not one.reference
            self.numbers += 1
            graded.append((one, grade, sites, self.numbers))
            inner[one.name] = _Variable(one.name, "uniform", one, 0, not sites, {})
        variables = {}
        for one, (level, fixed, needs), sites, number in graded:
            if block:
                kind = "uniform"
                if one.arrays or (one.constant and self._by_value(one)):
                    self.pure.add(one.name)
            elif level <= THREAD and fixed and not sites and one.init and not one.reference:
                kind = "again"
            else:
                kind = "local" if one.reference or "auto" in one.type.split() else "each"
            variables[one.name] = _Variable(one.name, kind, one, number, not sites, needs)
        return variables, block

    def _by_value(self, one):
        """Whether a pointer is to an array within a parameter that is given by value."""
        found = re.fullmatch(r"(\w+)\.n", one.init)  # rtc.py
        return bool(found) and f"const rtc_sizes {found[1]}" in self.function.head

    # ----- statements of the block
    def _block(self, nodes, scope_end, env):
        env, own, region = dict(env), [], []

        def flush():
            if region:
                self._region(list(region), scope_end, env, own)
            region.clear()

        for node in nodes:
            text = self.text[node.begin : node.end]
            if node.kind == "simple":
                if re.match(r"(using|typedef|static|extern|__shared__|;)", text):
                    flush()
                    if "__shared__" in text:
                        self._shared(text, env)
                    elif text != ";" and not text.startswith(("using", "typedef")):
                        raise Unknown
                    continue
                if self._barrier(node):
                    flush()
                    self.out.append((node.begin, node.end, ";" + "\n" * text.count("\n")))
                    continue
                variables, block = self._declare(node, node.begin, node.end, scope_end, env)
                if variables is not None:
                    if block:
                        flush()
                        own.append((node, variables))
                        env.update(variables)
                        continue
                    env_after = {**env, **variables}
                    region.append((node, variables))
                    env = env_after
                    continue
                if self._assigned(node.begin, node.end, env):
                    flush()
                    continue
            elif node.kind == "block" and not self._splits(node):
                pass
            elif self._splits(node):
                flush()
                self._control(node, env)
                continue
            elif node.kind in ("return", "break", "continue") or self._leaves_together(node, env):
                flush()
                continue
            region.append((node, {}))
        flush()
        for node, variables in own:
            self._check_changes(node, variables, scope_end)

    def _check_changes(self, node, variables, scope_end):
        for name in variables:
            for at in changes(self.text, name, node.end, scope_end):
                if at not in self.handled:
                    self.varying.add(node.begin)
                    raise _Restart

    def _shared(self, text, env):
        for match in re.finditer(r"([A-Za-z_]\w*)\s*(?=[\[;,])", text):
            env.pop(match[1], None)
        arrays = {m[1] for m in re.finditer(r"([A-Za-z_]\w*)\s*\[", text)}
        self.addresses = self.addresses | arrays

    def _assigned(self, begin, end, env):
        """Whether a statement gives a variable of the block what is the same for all threads."""
        found = _ASSIGN.match(self.text, begin, end)
        if not found:
            return False
        name = found["v"] or found["w"] or found["u"]
        if name not in env or env[name].kind != "uniform" or name in self.outside:
            return False
        if found["e"] and not self._is_uniform(found["e"].strip().rstrip(";"), env):
            return False
        self.handled.update(
            m.start() for m in re.compile(rf"\b{name}\b").finditer(self.text, begin, end)
        )
        return True

    def _leaves_together(self, node, env):
        """`if (the same for all) return;`"""
        if node.kind != "if" or len(node.body) != 1:
            return False
        inner = node.body[0]
        while inner.kind == "block" and len(inner.body) == 1:
            inner = inner.body[0]
        if inner.kind not in ("return", "break", "continue"):
            return False
        return self._is_uniform(self._head(node), env)

    def _head(self, node, place=0):
        begin, end = node.head[place]
        return self.text[begin:end]

    def _control(self, node, env):
        """A statement with a barrier or a striding loop in it."""
        found = self._stride(node)
        if found:
            self._striding(node, found, env)
            return
        if node.kind == "block":
            self._block(node.body, node.end - 1, env)
            return
        if node.kind == "ifc" or (node.kind == "if" and self._is_uniform(self._head(node), env)):
            for branch in node.body:
                self._branch(branch, env)
            return
        if node.kind in ("while", "do") and self._is_uniform(self._head(node), env):
            self._branch(node.body[0], env)
            return
        if node.kind == "for" and len(node.head) == 3:
            inner = dict(env)
            begin, end = node.head[0]
            variables, block = {}, True
            if self.text[begin:end].strip():
                variables, block = self._declare(node, begin, end, node.end, env)
                if variables is None:
                    variables, block = {}, self._assigned(begin, end, env)
            inner.update(variables)
            condition, step = self._head(node, 1), node.head[2]
            good = block and (not condition.strip() or self._is_uniform(condition, inner))
            for first, last in pieces(self.text, *step):
                if good and self.text[first:last].strip():
                    start = first + len(self.text[first:last]) - len(self.text[first:last].lstrip())
                    good = self._assigned(start, last, inner)
            if good:
                self._branch(node.body[0], inner)
                for name in variables:
                    for at in changes(self.text, name, end, node.end):
                        if at not in self.handled:
                            raise Unknown
                return
        if self._barrier(node):
            raise Unknown
        self._loose(node, env)

    def _loose(self, node, env):
        # Striding loops in control flow that differs between threads: as they are.
        self._region([(node, {})], node.end, env, [])

    def _branch(self, node, env):
        if node.kind == "block":
            self._block(node.body, node.end - 1, env)
        else:
            self.out.append((node.begin, node.begin, "{ "))
            self._block((node,), node.end, env)
            self.out.append((node.end, node.end, " }"))

    def _striding(self, node, found, env):
        kind, name, start, sign, bound, step = found
        good = self._is_uniform(step, env) and self._is_uniform(bound, env)
        level, fixed, _ = self._grade(start, env)
        if not good or level > THREAD or not fixed:
            self._loose(node, env)
            return
        number = self._label()
        body = node.body[0]
        inside = self._enter(words(start), env)
        head = (
            f"{{ const {kind} cynet_step{number} = {step}; "
            f"const auto cynet_bound{number} = {bound}; "
            f"const {kind} cynet_none{number} = std::numeric_limits<{kind}>::max(); "
            f"{kind} cynet_least{number} = cynet_none{number}; "
            f"{self.loop} CYNET_LIVE {inside}const {kind} cynet_start = {start}; "
            f"if (cynet_start < cynet_least{number}) cynet_least{number} = cynet_start; "
            f"CYNET_THREADS_END if (cynet_least{number} != cynet_none{number}) "
            f"for ({kind} cynet_base = 0; cynet_least{number} + cynet_base {sign} "
            f"cynet_bound{number}; cynet_base += cynet_step{number}) "
        )
        opening = (
            f"const {kind} {name} = ({start}) + cynet_base; "
            f"if ({name} {sign} cynet_bound{number}) {{ "
        )
        at = node.begin
        lines = "\n" * self.text[at : body.begin].count("\n")
        self.out.append((at, body.begin, head.replace("\n", " ") + lines))
        inner = {k: v for k, v in env.items() if k != name}
        self._region([(body, {})], body.end, inner, [], opening.replace("\n", " "), words(start))
        self.out.append((body.end, body.end, " }"))

    # ----- threads
    def _label(self):
        self.labels += 1
        return self.labels

    def _enter(self, names, env):
        """Text that computes again what `names` need."""
        order = {}

        def need(name):
            known = env.get(name)
            if known is None or known.kind != "again" or name in order:
                return
            for each, then in known.needs.items():
                if env.get(each) != then:
                    raise Unknown  # another variable of that name by now
                need(each)
            order[name] = known

        for name in sorted(names):
            need(name)
        out = []
        for known in order.values():
            given = known.given
            init = f"({given.init})" if given.init[:1] not in "({" else given.init
            out.append(f"{_constant(given.type)} {given.name}{init}; ")
        return re.sub(r"\s+", " ", "".join(out))

    def _region(self, region, scope_end, env, _own, opening="", more=()):
        if region and not isinstance(region[0], tuple):
            raise Unknown
        nodes = [node for node, *_ in region] if self.splits else region
        if not nodes:
            return
        begin, end = nodes[0].begin, nodes[-1].end
        text = self.text[begin:end]
        number = self._label()
        mine = {}
        if self.splits:
            for _, variables in region:
                mine.update(variables)
        names = words(text) | set(more)
        before = {k: v for k, v in env.items() if mine.get(k) != v}
        if any(name in env and env[name].kind == "local" and name not in mine for name in names):
            raise Unknown
        enter = self._enter(names, before)
        leave = ""
        for name in sorted(names):
            known = before.get(name)
            if known is None or known.kind != "each":
                continue
            given, place = known.given, f"cynet_each{known.number}"
            if given.arrays:
                enter += f"auto &{name} = {place}[cynet_t]; "
            elif not any(True for _ in changes(self.text, name, begin, end)):
                enter += f"{_constant(given.type)} {name} = {place}[cynet_t]; "
            else:
                enter += f"{given.type} {name} = {place}[cynet_t]; "
                leave += f"{place}[cynet_t] = {name}; "
        keep, later = "", words(self.text[end:scope_end])
        for name, known in mine.items():
            if name not in later or known.kind in ("again", "uniform"):
                continue
            given = known.given
            whole = (self.function.begin, self.function.end)
            if known.kind == "local" or keeps_address(self.text, name, given.arrays, *whole):
                raise Unknown
            self._array(known)
            place = f"cynet_each{known.number}[cynet_t]"
            keep += (
                f"memcpy(&{place}, &{name}, sizeof({name})); "
                if known.given.arrays
                else (f"{place} = {name}; ")
            )
        jumps = self._leave(nodes, number, bool(opening))
        live = "::threadIdx = threadIdx; " if self.elsewhere else ""
        if self.splits:
            live += "CYNET_LIVE "
        self.out.append((begin, begin, f"{self.loop} {live}{enter}{opening}{{ "))
        self.out += jumps
        label = f"cynet_next{number}: ; " if jumps else ""
        close = "} " if opening else ""
        self.out.append((end, end, f" {keep}}} {close}{label}{leave}CYNET_THREADS_END "))

    def _array(self, known):
        given, place = known.given, f"cynet_each{known.number}"
        kind = f"{given.type}{given.arrays}"
        text = f"cynet_emulator::Element<{kind}> *const {place} = cynet_each.take<{kind}>(); "
        if text not in self.arrays:
            self.arrays.append(re.sub(r"\s+", " ", text))

    def _leave(self, nodes, number, striding):
        """What becomes of return, and of a continue of the striding loop."""
        out = []
        for node, depth, switch in _walk(nodes):
            if node.kind == "return":
                if self.text[node.begin + 6 : node.end].strip() != ";":
                    raise Unknown
                self.leaves = True
                mark = "cynet_live[cynet_t] = false; " if self.splits else ""
                out.append((node.begin, node.end, f"{{ {mark}goto cynet_next{number}; }}"))
            elif node.kind in ("break", "continue") and depth == 0:
                if node.kind == "break" and switch:
                    continue
                if node.kind == "break" or not striding:
                    raise Unknown
                out.append((node.begin, node.end, f"goto cynet_next{number};"))
        return sorted(out)


def _walk(nodes, depth=0, switch=False):
    """(statement, loops around it, whether a switch is nearer than they are)"""
    for node in nodes:
        yield node, depth, switch
        loop = node.kind in ("for", "while", "do")
        inside = node.kind == "switch" or (switch and not loop)
        yield from _walk(node.body, depth + loop, inside)


def _jumps(node, kinds):
    return any(
        each.kind in kinds and (each.kind != "break" or (depth == 0 and not switch))
        for each, depth, switch in _walk([node])
    )


def _constant(kind):
    return f"{kind} const"
