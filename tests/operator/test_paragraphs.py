"""cynet.operator.signature: shared text comes where a docstring names it, at its indentation."""

from cynet.operator.signature import with_paragraphs


def test_a_line_stands_for_its_paragraph():
    @with_paragraphs(out="out : NDArray\n    Where to write.\n\nReturns\n-------", one="None")
    def draw():
        """Draw.

        {out}
        {one}
        {other} and {one}
        """

    lines = draw.__doc__.splitlines()
    own = " " * (len(lines[-2]) - len(lines[-2].lstrip()))
    assert [line.removeprefix(own) for line in lines[2:-1]] == [
        *("out : NDArray", "    Where to write.", "", "Returns", "-------", "None"),
        "{other} and {one}",
    ]


def test_a_function_without_docstring_stays_so():
    assert with_paragraphs(out="x")(lambda: None).__doc__ is None
