"""What processes print, line by line: prefixes, files of ranks, noise."""

import io
import os
import types

import pytest

from cynet.base.errors import CynetError
from cynet.launch.outputs import OutputForwarder, print_message

NOISE = b"NBC_Progress: an error in the middle\n"


def passed(lines, prefix=True, folder=None):
    """What comes out for the lines of one pipe."""
    outputs = OutputForwarder(prefix, folder)
    target = types.SimpleNamespace(buffer=io.BytesIO(), flush=lambda: None)
    outputs._forward_output(iter(lines), target)
    outputs.close()
    return target.buffer.getvalue()


@pytest.mark.parametrize(
    "line, wanted, plain",
    [
        (b"[1,3]<stdout>: a: b\n", b"[3] a: b\n", b"a: b\n"),  # Open MPI
        (b"[12,3]<stderr>:no space\n", b"[3] no space\n", b"no space\n"),
        (b"[1,3]<stdout>:  two\n", b"[3]  two\n", b" two\n"),
        (b"[7] of MPICH\n", b"[7] of MPICH\n", b"of MPICH\n"),
        (b"[1,13]<stdout>:\n", b"[13] \n", b"\n"),
        (b"no tag\n", b"no tag\n", b"no tag\n"),
        (b" [3] not at the front\n", b" [3] not at the front\n", b" [3] not at the front\n"),
        (b"[x] a word\n", b"[x] a word\n", b"[x] a word\n"),
        (b"[1,3]<stdout>: \xff\xfe\n", b"[3] \xff\xfe\n", b"\xff\xfe\n"),
        (b"[1,3]<stdout>: no end", b"[3] no end", b"no end"),
    ],
)
def test_tags(line, wanted, plain):
    assert passed([line]) == wanted
    assert passed([line], prefix=False) == plain


def test_a_line_without_a_tag_is_of_the_rank_before_it():
    """The second part of what one has printed at once."""
    assert passed([b"[1,2]<stdout>: a\n", b"b\n", b"[1,0]<stdout>: c\n", b"d\n"]) == (
        b"[2] a\n[2] b\n[0] c\n[0] d\n"
    )


def test_noise_goes_with_the_blank_line_behind_it():
    tagged = b"[1,0]<stderr>: "
    assert passed([b"a\n", NOISE, b"\n", b"b\n"]) == b"a\nb\n"
    assert passed([NOISE, b"b\n", b"\n"]) == b"b\n\n"
    assert passed([NOISE, b"\n", b"\n", b"b\n"]) == b"\nb\n"
    assert passed([NOISE, NOISE, b" \n", b"b\n"]) == b"b\n"
    assert passed([b"\n", NOISE, b"b\n"]) == b"\nb\n"
    assert passed([tagged + NOISE, tagged + b"\n", tagged + b"b\n"]) == b"[0] b\n"
    assert passed([b"x " + NOISE, b"\n"]) == b"x " + NOISE + b"\n"


def test_files_of_ranks(tmp_path):
    folder = tmp_path / "a" / "logs"
    lines = [b"none\n", b"[1,1]<stdout>: a\n", b"[1,0]<stderr>: b\n", b"[1,1]<stdout>: c\n", NOISE]
    assert passed(lines, True, str(folder)) == b"none\n[1] a\n[0] b\n[1] c\n"
    assert passed(lines[1:2], False, str(folder)) == b"a\n"  # they are added to
    files = {each.name: each.read_bytes() for each in folder.iterdir()}
    assert files == {"rank-1.log": b"a\nc\na\n", "rank-0.log": b"b\n"}
    with pytest.raises(CynetError, match="cannot make"):
        OutputForwarder(True, str(folder / "rank-0.log" / "x"))


def test_two_pipes_at_once(tmp_path):
    outputs = OutputForwarder(True, str(tmp_path))
    target = types.SimpleNamespace(buffer=io.BytesIO(), flush=lambda: None)
    threads = []
    pipes = [os.pipe() for _ in range(2)]
    files = [os.fdopen(reading, "rb") for reading, _ in pipes]
    for rank, (_, writing) in enumerate(pipes):
        threads.append(outputs.follow_pipe(files[rank], target))
        assert threads[-1].daemon  # it holds up no end
        with open(writing, "wb") as file:
            file.writelines(b"[1,%d]<stdout>: %d\n" % (rank, i) for i in range(200))
    for each in threads:
        each.join(10)
    for each in (*files, outputs):
        each.close()
    lines = target.buffer.getvalue().splitlines()
    for rank in range(2):
        wanted = [b"%d" % i for i in range(200)]
        assert [each[4:] for each in lines if each[:3] == b"[%d]" % rank] == wanted
        assert (tmp_path / f"rank-{rank}.log").read_bytes().split() == wanted


def test_own_lines(capsys):
    print_message("begins again (1)")
    assert capsys.readouterr() == ("", "cynet.launch: begins again (1)\n")
