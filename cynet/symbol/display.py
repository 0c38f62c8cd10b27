"""The display of a Symbol in notebooks: a table of its nodes."""

from .node import topological_order

_MAX_ROWS = 60  # rows of a symbol's HTML table
_MAX_CELL_LENGTH = 80  # characters of one table cell


class HtmlDisplay:  # HTML repr of Symbol
    """Gives Symbol the method that notebooks call."""

    __slots__ = ()

    def _repr_html_(self):
        """The graph as an HTML table, one row per node; a large table omits its middle."""
        from html import escape  # imported here, as it is rarely needed and takes 2 ms

        order = topological_order(self.entries)
        outputs = {id(node) for node, _ in self.entries}
        rows = [_table_row(node, id(node) in outputs) for node in order]
        left_out = len(rows) - _MAX_ROWS
        if left_out > 0:
            half = _MAX_ROWS // 2
            gap = f'<tr><td colspan="4">... {left_out} more nodes ...</td></tr>'
            rows = [*rows[:half], gap, *rows[-half:]]
        titles = ("name", "operator", "inputs", "parameters")
        head = "".join(f"<th>{title}</th>" for title in titles)
        caption = f"{escape(repr(self)[:_MAX_CELL_LENGTH])}: {len(order)} nodes"
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{''.join(rows)}</table>"


def _table_row(node, is_output):
    name = _table_cell(node.name)
    inputs = ", ".join(
        source.name if source.num_outputs == 1 else f"{source.name}[{i}]"
        for source, i in node.inputs
    )
    params = {**node.params, **node.attrs}
    cells = (
        f"<b>{name}</b>" if is_output else name,
        "variable" if node.op is None else _table_cell(node.op.name),
        _table_cell(inputs),
        _table_cell(", ".join(f"{key}={params[key]}" for key in sorted(params))),
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _table_cell(text):
    from html import escape

    return escape(text if len(text) <= _MAX_CELL_LENGTH else text[: _MAX_CELL_LENGTH - 3] + "...")
