"""Runs the Python of the documents: ``python -m tests.pages [--write] PAGE...``.

Each page is a program: its ``python`` blocks run in order, in a folder of its own that holds the
``.pyx`` files the page shows. A ``text`` block right behind a ``python`` block is what that block
prints, where ``...`` stands for anything. A picture of the page (``pictures/NAME.png``) is one that
its code saves as NAME.png. cynet is imported once; each page runs in a fork of that process.
``--write`` puts outputs and pictures into the pages.
"""

import contextlib
import doctest
import io
import os
import re
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)
FILE = re.compile(r"`(\w+\.pyx)`:\n\n```cython\n(.*?)^```", re.M | re.S)
PICTURE = re.compile(r"!\[[^\]]*\]\((pictures/[\w-]+\.png)\)")


class PageError(Exception):
    """What a page says is not so."""


def run(page, write=False):
    """Run a page in the current folder; PageError, or what its code raised."""
    text = fresh = page.read_text()
    for name, source in FILE.findall(text):
        Path(name).write_text(source)
    names = {"__name__": "__main__"}
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        code = "\n" * line + match[1]  # so that errors name the page's lines
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(compile(code, str(page), "exec"), names)
        got = shown.getvalue()
        if match[2] is not None and not doctest.OutputChecker().check_output(match[2], got, ALIKE):
            if not write:
                raise PageError(f"line {line} shows\n{match[2]}\nbut prints\n{got}")
            head = match[0][: match.start(2) - match.end()]
            fresh = fresh.replace(match[0], f"{head}{got}```\n")
    for picture in PICTURE.findall(text) if "architecture" not in page.parts else ():
        drawn = Path(picture).name
        if not os.path.exists(drawn):
            raise PageError(f"no block makes the picture {drawn}")
        if write:
            target = page.parent / picture
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(Path(drawn).read_bytes())
    if fresh != text:
        page.write_text(fresh)


def forked(page, write):
    """Run a page in a child process; whether it went well."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    status = 1
    try:
        warnings.simplefilter("error")
        from cynet.base import cache

        compiled = [cache.code_folder(kind) for kind in ("kernels", "pyx")]
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
            for kept in compiled:  # what pages compile is looked up as in a program of the user's
                os.symlink(kept, os.path.join(home, kept.name))
            os.environ["CYNET_HOME"] = home
            os.chdir(folder)
            run(page, write)
            os.chdir("/")
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main(arguments):
    write = "--write" in arguments
    import cynet  # noqa: F401  once for all pages

    with contextlib.suppress(ImportError):
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot
    for name in arguments:
        if not name.startswith("--"):
            start = time.perf_counter()
            print(f"=== {name}", file=sys.stderr, flush=True)
            well = forked(ROOT / name, write)
            print(f"{'passed' if well else 'FAILED'} {time.perf_counter() - start:.1f} {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
