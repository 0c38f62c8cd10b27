"""What the README of an example says that its programs print: ``python -m tests.example_output``.

In a README a command line, indented, with a ``text`` block behind it is an example with its output.
``--write`` runs those of the given folders and puts what they print into their READMEs.
"""

import re
import shlex
import sys
import tempfile
from pathlib import Path

from tests import scripts
from tests.distributed.ranks import finish, start

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = re.compile(r"^    python (examples/\S+\.py)([^\n]*)\n\n```text\n(.*?)^```\n", re.M | re.S)
LAUNCHED = re.compile(
    EXAMPLE.pattern.replace("python ", r"python -m cynet.launch -n (\d+) ", 1), EXAMPLE.flags
)
TIMES = r" \([\d.]+ s\)|(?<=Time cost=)[\d.]+|[\d.]+ ms\b"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def of_folder(folder):
    """[(program, options, output)] of a folder's README; the program as ``"text/text_cnn.py"``."""
    text = (ROOT / "examples" / folder / "README.md").read_text()
    return [
        (program.removeprefix("examples/"), tuple(shlex.split(options)), output)
        for program, options, output in EXAMPLE.findall(text)
    ]


def run(program, *options, cwd):
    """What a program of examples/ prints in the folder `cwd`."""
    done = scripts.run(ROOT / "examples" / program, *options, cwd=cwd)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert "Warning" not in done.stderr
    return done.stdout


def run_ranks(ranks, program, cwd):
    """What a program of examples/ prints as so many ranks in the folder `cwd`."""
    code, out, err = finish(start(ranks, ROOT / "examples" / program, before=("env", "-C", cwd)))
    assert code == 0, out[-2000:] + err[-3000:]
    return out


def difference(wanted, got, figures=True, free=None):
    """The first lines (of the README, printed) that differ, or None.

    Numbers may differ by a quarter, as between processors; seconds and milliseconds, and where
    `figures` is False all numbers, are free. Lines that `free`, a pattern, matches are left out.
    """
    texts = []
    for text in (wanted, got):
        lines = re.sub(TIMES, "", text).splitlines()
        texts.append([line for line in lines if not (free and re.match(free, line))])
    for one, other in zip(*texts):
        if re.sub(r"\s+", " ", NUMBER.sub("#", one)) != re.sub(r"\s+", " ", NUMBER.sub("#", other)):
            return one, other
        numbers = [[float(x) for x in NUMBER.findall(line)] for line in (one, other)]
        if figures and any(abs(a - b) > 0.25 * abs(a) + 0.02 for a, b in zip(*numbers)):
            return one, other
    return None if len(texts[0]) == len(texts[1]) else (texts[0][-1:], texts[1][-1:])


def write(folder):
    """Put what the programs of a folder print, one after the other, into its README."""
    path = ROOT / "examples" / folder / "README.md"
    with tempfile.TemporaryDirectory() as empty:

        def fresh(match):
            program = match[1].removeprefix("examples/")
            output = run(program, *shlex.split(match[2]), cwd=empty)
            return f"    python {match[1]}{match[2]}\n\n```text\n{output}```\n"

        def fresh_ranks(match):
            output = run_ranks(match[1], match[2].removeprefix("examples/"), empty)
            return f"    python -m cynet.launch -n {match[1]} {match[2]}\n\n```text\n{output}```\n"

        text = EXAMPLE.sub(fresh, path.read_text())
        path.write_text(LAUNCHED.sub(fresh_ranks, text))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        if name != "--write":
            write(name)
