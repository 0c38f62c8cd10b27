"""Whether the threads of a region may be declared independent to the compiler.

It then believes that no access to memory depends on another one, of the same thread neither: it
may load what a thread reads behind a store of that thread before the store, where it cannot see
that both are one place. So a region in which a load, or one more store, stands behind a store that
may have hit the same array (arrays given to a kernel may be the same one) is not declared so.
"""

import re

from .statements import PURE, Unknown, pieces

_ACCESS = re.compile(r"(?P<name>[A-Za-z_]\w*(?:\s*(?:\.|->)\s*[A-Za-z_]\w*)*)\s*(?P<at>\[)")
_STORE = re.compile(r"\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)")
_POINTED = re.compile(r"(?:^|[=(,?:+\-/%<>!|~^\[{*&;]|\breturn\b)\s*\*\s*[A-Za-z_(]|->")
_CALL = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^<>;]*>)?\s*\(")
_KNOWN = re.compile(
    r"if|for|while|switch|return|sizeof|make_\w+|(sin|cos|tan|erf|log2|exp2|round|rint|trunc|cbrt"
    r"|log1p|expm1|fmod|rsqrt|__\w+)f?|static_cast|int|float|double|bool|char|u?int\d+_t|T"
)


class Order:
    """The accesses of a kernel's regions.

    Parameters
    ----------
    text : str
        The blanked source.
    shared : set of str
        Names of shared arrays: memory of their own each.
    parameters : set of str
        Names of the kernel's parameters that it does not change.
    restricted : set of str
        Those of them that are declared ``__restrict__``.
    """

    def __init__(self, text, shared, parameters, restricted):
        self.text, self.shared = text, shared
        self.parameters, self.restricted = parameters, restricted

    @classmethod
    def of(cls, text, function, shared, fixed):
        """Of a kernel, whose parameters `fixed` it does not change."""
        body = text[function.begin : function.end]
        declares = r"[\w>*&]\s+[*&]?\s*{}\s*[=;,({{]"
        named = {each for each in fixed if not re.search(declares.format(each), body)}
        alone = r"__restrict(__)?\s+{}\b"
        restricted = {each for each in named if re.search(alone.format(each), function.head)}
        return cls(text, shared, named, restricted)

    def independent(self, nodes):
        """Whether no access in `nodes` may follow a store to the same place."""
        stored = set()
        try:
            for node in nodes:
                self._node(node, stored)
        except Unknown:
            return False
        return True

    def _node(self, node, stored):
        if node.kind in ("simple", "return"):
            for begin, end in pieces(self.text, node.begin, node.end):
                self._accesses(self.text[begin:end], stored)
            return
        loop = node.kind in ("for", "while", "do")
        for _ in range(1 + loop):
            for begin, end in node.head:
                self._accesses(self.text[begin:end], stored)
            after = set(stored)
            for each in node.body:
                if node.kind == "if":
                    own = set(stored)
                    self._node(each, own)
                    after |= own
                else:
                    self._node(each, stored)
            stored |= after

    def _accesses(self, text, stored):
        if _POINTED.search(text) or re.search(r"[\w>]\s*&&?\s*[A-Za-z_]\w*\s*=[^=]", text):
            raise Unknown  # through a pointer or a reference
        for match in _CALL.finditer(text):
            if match[1] not in PURE and not _KNOWN.fullmatch(match[1]):
                raise Unknown
        loads, stores = [], []
        for match in _ACCESS.finditer(text):
            name = re.sub(r"\s+", "", match["name"])
            end = _behind(text, match.start("at"))
            before = text[: match.start()].rstrip()
            depth = len(re.findall(r"[(\[{]", before)) - len(re.findall(r"[)\]}]", before))
            if _STORE.match(text, end) or before.endswith(("++", "--")):
                if depth:
                    raise Unknown
                stores.append(name)
            else:
                loads.append(name)
        for name in loads:
            if any(self._same(name, other) for other in stored):
                raise Unknown
        for name in stores:
            if any(name != other and self._same(name, other) for other in stored):
                raise Unknown
            if stores.count(name) > 1:
                raise Unknown
        stored.update(stores)

    def _same(self, one, other):
        """Whether two names may be of one memory."""
        if one == other:
            return True
        shared = (one in self.shared) + (other in self.shared)
        if shared == 2:
            return False
        known = (one in self.parameters) + (other in self.parameters)
        if shared == 1 and known == 1:
            return False
        return not (known == 2 and (one in self.restricted or other in self.restricted))


def _behind(text, at):
    """Where `[3][4].x` that begins at `at` ends."""
    while True:
        depth = 0
        for match in re.compile(r"[][(){}]").finditer(text, at):
            depth += 1 if match[0] in "([{" else -1
            if depth == 0:
                at = match.end()
                break
        else:
            raise Unknown
        more = re.compile(r"(\s*\.\s*\w+)*\s*(?=\[)|(\s*\.\s*\w+)+").match(text, at)
        if not more:
            return at
        at = more.end()
        if text[at : at + 1] != "[":
            return at
