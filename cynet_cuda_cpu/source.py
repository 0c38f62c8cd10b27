"""Reading and rewriting CUDA source for the host compiler; line numbers stay the same.

No parser of C++: comments and strings are blanked, braces counted, and what is needed is found by
its shape: the kernels, which functions synchronise, the dynamic shared arrays. Every line keeps
its number, so that messages of the compiler and of the checking mode name the user's lines.
"""

import re
from typing import NamedTuple

from cynet.cuda.sources import blank_comments, spaces_for_match

# Calls that need the threads of a block to be fibres: waiting for threads, or ending the launch.
SYNCHRONISING_CALL = re.compile(  # calls that wait for other threads
    r"__sync(threads|warp)|__(shfl|ballot|any|all|match|reduce)_|__activemask|__trap|\bassert\b"
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")  # C++ name
_DYNAMIC_SHARED = re.compile(  # an array of dynamic shared memory
    r"\bextern\s+__shared__\s+(?:(?:__align__|alignas)\s*\([^()]*\)\s*)?"
    r"([\w:<>,\s\*]*?[\w>\*])\s*(?<![\w])([A-Za-z_]\w*)\s*\[\s*\]\s*;"
)
_DEFINE_PATTERN = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|.)*)", re.M)
_LAUNCH_BOUNDS = re.compile(r"__launch_bounds__\s*\(\s*(\w+)")  # its number of threads
_SHARED_VARIABLE = re.compile(r"(?<!\bextern )\b__shared__\s+([^;{}()=]+);")  # of static size
_STATIC_SHARED = re.compile(r"\b(static\s+__shared__|__shared__\s+static)\b")  # both words


class FunctionDefinition(NamedTuple):  # position and kind of a function
    """A function definition: its position and its kind."""

    name: str  # name of the kernel with its namespaces
    head: str  # text from the end of the previous declaration to its brace
    begin: int  # begin of the body, after its brace
    end: int  # end of the body, at its closing brace
    template: bool


class CudaSource:
    """A parsed CUDA source.

    text (str): CUDA C++.
    folders (sequence of Path): Where headers that it includes may lie; those found are read for
        functions that wait.
    exports (sequence of str): Instances of templates that are launched; a function may be among
        their arguments.

    Attributes:
    kernels (dict): Name to `FunctionDefinition`, of each ``__global__`` function, no templates.
    templates (set of str): Names of ``__global__`` function templates.
    headers (list of str): Texts of the headers found in `folders`.
    """

    def __init__(self, text, folders=(), exports=()):
        self.text = text
        self.exports = exports
        self.blank = blank_comments(text)
        self._code = _erase_directives(self.blank)
        self.functions = list(_function_definitions(self._code))
        self.kernels, self.templates = {}, set()
        for each in self.functions:
            if re.search(r"\b__global__\b", each.head):
                if each.template:
                    self.templates.add(each.name)
                else:
                    self.kernels[each.name] = each
        self.headers = list(included_headers(text, folders, set()))
        self._has_groups = any("cooperative_groups" in each for each in [text, *self.headers])
        blank = [blank_comments(each) for each in self.headers]
        self._marked = self._synchronizing_functions([self.blank, *blank])

    def synchronises(self, name):
        """True if kernel `name` or a function it may call waits for other threads."""
        words = {_unqualified_name(name.partition("<")[0])}
        if name in self.exports:
            words.update(_IDENTIFIER.findall(name))
        # an operator that waits is not called by its name, and a group has any
        return bool(words & self._marked) or "operator" in self._marked or self._has_groups

    def threads_limit(self, name):
        """The number that ``__launch_bounds__`` gives for kernel `name`, or None."""
        kernel = self.kernels.get(name)
        found = _LAUNCH_BOUNDS.search(kernel.head) if kernel else None
        return int(found[1]) if found and found[1].isdigit() else None

    def rewritten_text(self):
        """The text for the host compiler: dynamic shared arrays have become pointers."""
        out, at = [], 0
        for begin, end, new in sorted(self._list_source_edits(), key=lambda edit: edit[0]):
            out += [self.text[at:begin], new]
            at = end
        return "".join(out) + self.text[at:]

    def _list_source_edits(self):
        edits, outside = [], []
        for match in _DYNAMIC_SHARED.finditer(self.blank):
            kind, name = match.groups()
            start = "::cynet_emulator::dynamic_shared"
            pointer = f"{kind}* {name} = reinterpret_cast<{kind}*>({start});"
            inside = any(f.begin <= match.start() < f.end for f in self.functions)
            if not inside:
                outside.append((match.end(), name, pointer))
            lines = "\n" * match[0].count("\n")
            edits.append((match.start(), match.end(), (pointer if inside else "") + lines))
        for function in self.functions:
            words = set(_IDENTIFIER.findall(self.blank[function.begin : function.end]))
            extra = " ".join(
                pointer for end, name, pointer in outside if end <= function.begin and name in words
            )
            if extra:
                edits.append((function.begin, function.begin, " " + extra))
        for match in _SHARED_VARIABLE.finditer(self.blank):
            names = ", ".join(f"sizeof({n})" for n in _declared_names(match[1]))
            edits.append((match.end(), match.end(), f" CYNET_CHECK_SHARED_BYTES({names})"))
        for match in _STATIC_SHARED.finditer(self.blank):
            lines = "\n" * match[0].count("\n")
            edits.append((match.start(), match.end(), "__shared__" + lines))
        return edits

    def _synchronizing_functions(self, texts):
        """Names of functions and macros whose text has a call that waits, or calls such a
        function."""
        bodies = []
        for text in texts:
            for each in _function_definitions(_erase_directives(text)):
                bodies.append((_unqualified_name(each.name), text[each.begin : each.end]))
            for match in _DEFINE_PATTERN.finditer(text):
                bodies.append((match[1], match[2]))
        marked = {name for name, body in bodies if SYNCHRONISING_CALL.search(body)}
        bodies = [(name, set(_IDENTIFIER.findall(body))) for name, body in bodies]
        while True:
            more = {name for name, words in bodies if words & marked} - marked
            if not more:
                return marked
            marked |= more


def included_headers(text, folders, seen):
    """The texts of the headers that `text` includes, and of those that they include."""
    for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', text, re.M):
        path = next((f / name for f in folders if (f / name).is_file()), None)
        if path is None or path in seen:
            continue
        seen.add(path)
        found = path.read_text(errors="replace")
        yield found
        yield from included_headers(found, [path.parent, *folders], seen)


def _declared_names(text):
    """Names of the variables that a declaration without initialisers declares."""
    for part in re.sub(r"<[^<>]*>|\[[^\]]*\]", "", text).split(","):
        yield _IDENTIFIER.findall(part)[-1]


def _unqualified_name(name):
    return name.rpartition("::")[2]


def _erase_directives(text):
    """Replace preprocessor lines by spaces, since their braces need not balance."""
    return re.sub(r"^[ \t]*#(?:\\\n|.)*", spaces_for_match, text, flags=re.M)


def _function_definitions(text):
    """Yield each function definition that is not inside of another function, in order."""
    scopes, start, at = [], 0, 0
    for match in re.finditer(r"[{};]", text):
        if match.start() < at:
            continue
        if match[0] == "}":
            if scopes:
                scopes.pop()
            start = match.end()
        elif match[0] == ";":
            start = match.end()
        else:
            head = text[start : match.start()]
            name = _function_name(head)
            if name is None:
                scopes.append(_namespace_name(head))
                start = match.end()
                continue
            end = _find_closing_brace(text, match.end())
            path = [s for s in scopes if s]
            yield FunctionDefinition(
                "::".join([*path, name]), head, match.end(), end, "template" in head.split("(")[0]
            )
            at = start = end + 1


def _find_closing_brace(text, at):
    """Return the index of the brace that closes the one opened before index `at`."""
    depth = 1
    for match in re.finditer(r"[{}]", text[at:]):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return at + match.start()
    return len(text)


def _namespace_name(head):
    found = re.search(r"\bnamespace\s+([\w:]+)\s*$", head)
    return found[1] if found else None


def _function_name(head):
    """The name of the function whose body follows `head`, or None: a class, a table, ..."""
    head = re.sub(r"__launch_bounds__\s*\([^()]*\)|__align__\s*\([^()]*\)", " ", head)
    if re.search(r"\b(struct|class|union|enum|namespace)\b[^()]*$", head):
        return None
    if re.search(r"=\s*$", head):
        return None
    if re.search(r"\boperator\b[^(]*\(", head):
        return "operator"
    # the first name followed by parentheses, outside of template arguments
    depth = 0
    for match in re.finditer(r"[<>]|([A-Za-z_]\w*)\s*\(", head):
        if match[0] == "<":
            depth += 1
        elif match[0] == ">":
            depth -= depth > 0
        elif depth == 0 and match[1] not in ("__attribute__", "alignas", "decltype", "extern"):
            return match[1]
    return None
