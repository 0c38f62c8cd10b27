"""Drawing: boxes and arrows as SVG, laid out by grandalf; interface of graphviz.Digraph."""

from __future__ import annotations

import webbrowser
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.compat import optional
from ..base.errors import ArgumentError, shown, warn_user
from ..base.files import file_name, write_atomically
from ..base.guard import guarded

if TYPE_CHECKING:
    from ..typing import FileName

_POINTS_PER_INCH = 72  # points are the unit of SVG sizes
_FONT_POINTS = 12  # height of text
_MARGIN_POINTS = 12  # space around a drawing
_ROUND_SHAPES = ("oval", "ellipse", "circle")  # shapes drawn as ellipses


@guarded
class Drawing:
    """A drawing of boxes and arrows, which `plot_network` returns.

    Parameters
    ----------
    name : str
        Name of the file without its extension.
    format : str
        Requested format; only SVG is written.

    Examples
    --------
    >>> picture = Drawing("two")
    >>> picture.node("a", label="first")
    >>> picture.node("b")
    >>> picture.edge("a", "b", label="3x3")
    >>> picture.source.splitlines()[1]
    '\\t"a" [label="first"]'
    """

    def __init__(self, name: str = "plot", format: str = "svg") -> None:
        self.name, self.format = name, format
        self._nodes: dict[str, dict[str, str]] = {}
        self._edges: list[tuple[str, str, dict[str, str]]] = []

    def node(self, name: str, label: str | None = None, **attrs: str) -> None:
        """Add a box.

        Parameters
        ----------
        name : str
            Name of the box, for `edge`.
        label : str, optional
            Text in the box; its name by default.
        **attrs : str
            Attributes of graphviz, of which shape, width, height, fillcolor and fontcolor are used.
        """
        self._nodes[name] = {**attrs, "label": name if label is None else label}

    def edge(self, tail: str, head: str, label: str = "", **attrs: str) -> None:
        """Add an arrow; ``dir="back"`` points at its tail.

        Parameters
        ----------
        tail, head : str
            Names of the boxes at its ends.
        label : str
            Text beside the arrow.
        **attrs : str
            Attributes of graphviz, of which dir is used.

        Raises
        ------
        ArgumentError
            If there is no such box.
        """
        for each in (tail, head):
            if each not in self._nodes:
                raise ArgumentError(f"Drawing.edge: there is no node {shown(each)}")
        self._edges.append((tail, head, {**attrs, "label": label}))

    @property
    def source(self) -> str:
        """The drawing as source text for graphviz."""
        lines = [f"digraph {_quote_dot(self.name)} {{"]
        lines += [
            f"\t{_quote_dot(n)} [{_attributes_text(attrs)}]" for n, attrs in self._nodes.items()
        ]
        lines += [
            f"\t{_quote_dot(a)} -> {_quote_dot(b)} [{_attributes_text(w)}]"
            for a, b, w in self._edges
        ]
        return "\n".join([*lines, "}", ""])

    def svg(self) -> str:
        """Lay out the drawing; return it as SVG.

        Raises
        ------
        CynetError
            If grandalf is not installed.

        Examples
        --------
        >>> picture = Drawing("one")
        >>> picture.node("a", label="first")
        >>> picture.svg().splitlines()[1]
        '<title>one</title>'
        """
        boxes, lines = self._compute_layout()
        parts = [_edge_svg(points, attrs) for points, attrs in lines]
        parts += [_box_svg(*boxes[name], attrs) for name, attrs in self._nodes.items()]
        xs = [x + d * w / 2 for x, _, w, _ in boxes.values() for d in (-1, 1)] or [0]
        ys = [y + d * h / 2 for _, y, _, h in boxes.values() for d in (-1, 1)] or [0]
        xs += [x for points, _ in lines for x, _ in points]
        ys += [y for points, _ in lines for _, y in points]
        left, top = min(xs) - _MARGIN_POINTS, min(ys) - _MARGIN_POINTS
        width, height = max(xs) - left + _MARGIN_POINTS, max(ys) - top + _MARGIN_POINTS
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}pt"'
                f' height="{height:.0f}pt" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}"'
                f' font-family="Helvetica, Arial, sans-serif" font-size="{_FONT_POINTS}">',
                f"<title>{escape(self.name)}</title>",
                '<defs><marker id="arrow" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="8"'
                ' markerHeight="8" orient="auto-start-reverse">'
                '<path d="M 0 0 L 10 5 L 0 10" fill="none" stroke="black"/></marker></defs>',
                *parts,
                "</svg>",
                "",
            ]
        )

    def _repr_svg_(self) -> str:
        """Return the drawing as SVG, for notebooks."""
        return self.svg()

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> dict[str, str]:
        """Return a dict of MIME type to SVG, for notebooks that call this method."""
        return {"image/svg+xml": self.svg()}

    def render(
        self,
        filename: FileName | None = None,
        directory: FileName | None = None,
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,
        **kwargs: Any,
    ) -> str:
        """Write the drawing to ``FILENAME.svg`` and its source to ``FILENAME``; return the first.

        Parameters
        ----------
        filename : str, optional
            Name of the file without its extension; by default the name and ``.gv``, as graphviz
            does.
        directory : str, optional
            Folder of the files; by default the current one.
        view : bool
            Whether to show the picture, too.
        cleanup : bool
            Whether to write no source.
        format : str, optional
            Only SVG; another format gives a warning.
        **kwargs
            Other arguments of graphviz; not used.

        Raises
        ------
        FileError
            If a file cannot be written.

        Examples
        --------
        >>> picture = Drawing("two")
        >>> picture.node("a")
        >>> picture.node("b")
        >>> picture.edge("a", "b")
        >>> picture.render(cleanup=True)
        'two.gv.svg'
        """
        wanted = self.format if format is None else format
        if wanted != "svg":
            warn_user(f"plot_network: without graphviz's program dot there is no {wanted}, but SVG")
        directory = "." if directory is None else file_name(directory, "render: directory")
        filename = f"{self.name}.gv" if filename is None else filename
        base = Path(directory, file_name(filename, "render: filename"))
        base.parent.mkdir(parents=True, exist_ok=True)
        if not cleanup:
            write_atomically(base, self.source.encode())
        picture = base.with_name(f"{base.name}.svg")
        write_atomically(picture, self.svg().encode())
        if view:
            webbrowser.open(picture.resolve().as_uri())
        return str(picture)

    def view(self, filename: FileName | None = None, directory: FileName | None = None) -> str:
        """Render the drawing and show it in a browser; return the path of the SVG file.

        Parameters
        ----------
        filename : str, optional
            Name of the file without its extension; by default the name and ``.gv``, as graphviz
            does.
        directory : str, optional
            Folder of the files; by default the current one.

        Examples
        --------
        >>> from unittest import mock  # a mock: no browser is opened
        >>> picture = Drawing("two")
        >>> picture.node("a")
        >>> with mock.patch("webbrowser.open") as opened:
        ...     picture.view("two"), opened.called
        ('two.svg', True)
        """
        return self.render(filename, directory, view=True)

    def _compute_layout(self):
        """Return ({name: (x, y, width, height)}, [(points, attributes)]): boxes and lines."""
        graphs = optional("grandalf.graphs", "plot_network")
        layouts = optional("grandalf.layouts", "plot_network")
        routing = optional("grandalf.routing", "plot_network")
        vertices = {name: graphs.Vertex(name) for name in self._nodes}
        for name, vertex in vertices.items():
            attrs = self._nodes[name]
            vertex.view = layouts.VertexViewer(*_box_size(attrs))
        edges = [graphs.Edge(vertices[a], vertices[b], data=w) for a, b, w in self._edges if a != b]
        for edge in edges:
            edge.view = routing.EdgeViewer()
        graph, right, boxes = graphs.Graph(list(vertices.values()), edges), 0.0, {}
        for part in graph.C:
            layout = layouts.SugiyamaLayout(part)
            layout.yspace = 3 * _MARGIN_POINTS
            layout.route_edge = routing.route_with_lines
            layout.init_all()
            layout.draw(3)
            left = min(v.view.xy[0] - v.view.w / 2 for v in part.sV)
            shift, widest = right - left, 0.0
            for vertex in part.sV:
                x, y = vertex.view.xy
                boxes[vertex.data] = (x + shift, y, vertex.view.w, vertex.view.h)
                widest = max(widest, x + shift + vertex.view.w / 2)
            for edge in part.sE:
                edge.view._pts = [(x + shift, y) for x, y in edge.view._pts]
            right = widest + 4 * _MARGIN_POINTS
        return boxes, [(edge.view._pts, edge.data) for edge in edges]


def _box_size(attrs):
    """Return width and height of a box in points: as given, or more for a long text."""
    lines = attrs["label"].split("\n")
    width = float(attrs.get("width", 1.3)) * _POINTS_PER_INCH
    height = float(attrs.get("height", 0.8034)) * _POINTS_PER_INCH
    return max(width, max(map(len, lines)) * _FONT_POINTS * 0.62 + 10), max(
        height, len(lines) * _FONT_POINTS * 1.3 + 8
    )


def _box_svg(x, y, width, height, attrs):
    fill = escape(attrs.get("fillcolor", "white"))
    if attrs.get("shape") in _ROUND_SHAPES:
        shape = f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{width / 2:.1f}" ry="{height / 2:.1f}"'
    else:
        shape = (
            f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}"'
            f' height="{height:.1f}"'
        )
    return f'{shape} fill="{fill}" stroke="black"/>\n' + _text_svg(
        x, y, attrs["label"].split("\n"), attrs.get("fontcolor", "black")
    )


def _text_svg(x, y, lines, color="black"):
    rows = []
    for i, line in enumerate(lines):
        down = y + (i - (len(lines) - 1) / 2) * _FONT_POINTS * 1.3 + _FONT_POINTS * 0.35
        rows.append(
            f'<text x="{x:.1f}" y="{down:.1f}" text-anchor="middle" fill="{escape(color)}">'
            f"{escape(line)}</text>"
        )
    return "\n".join(rows)


def _edge_svg(points, attrs):
    end = "marker-start" if attrs.get("dir") == "back" else "marker-end"
    path = " L ".join(f"{x:.1f} {y:.1f}" for x, y in points)
    drawn = f'<path d="M {path}" fill="none" stroke="black" {end}="url(#arrow)"/>'
    if not attrs.get("label"):
        return drawn
    (x, y), (to_x, to_y) = points[len(points) // 2 - 1], points[len(points) // 2]
    return drawn + "\n" + _text_svg((x + to_x) / 2, (y + to_y) / 2, [attrs["label"]])


def _quote_dot(text):
    text = str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def _attributes_text(attrs):
    return " ".join(f"{key}={_quote_dot(value)}" for key, value in sorted(attrs.items()) if value)
