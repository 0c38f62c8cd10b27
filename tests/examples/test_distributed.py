"""examples/distributed: what its README shows in two processes (in one: test_topics.py)."""

from tests.distributed.ranks import need_mpi
from tests.example_output import LAUNCHED, ROOT, difference, run_ranks

need_mpi()


def test_two_ranks_print_what_the_readme_says(tmp_path):
    text = (ROOT / "examples" / "distributed" / "README.md").read_text()
    [(ranks, program, wanted)] = [
        (match[1], match[2].removeprefix("examples/"), match[4])
        for match in LAUNCHED.finditer(text)
    ]
    assert difference(wanted, run_ranks(ranks, program, tmp_path)) is None
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "module-0006.params",
        "module-symbol.json",
    }
