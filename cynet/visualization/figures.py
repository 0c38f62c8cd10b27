"""matplotlib figures that belong to no window and no notebook."""

from ..base.compat import optional
from ..base.files import file_name, naming

_FIGURE_WIDTH, _FIGURE_HEIGHT = 4.5, 3.2  # inches of one plot


def new_figure(purpose, count=1):
    """Make a Figure with `count` plots side by side; return it and their Axes.

    purpose (str): Who draws, for the error where matplotlib is missing.
    """
    figure = optional("matplotlib.figure", purpose).Figure(
        figsize=(_FIGURE_WIDTH * count, _FIGURE_HEIGHT), layout="constrained"
    )
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def save_figure(figure, path, purpose):
    """Write the figure to `path` unless that is None; return the figure."""
    if path is not None:
        path = file_name(path, f"{purpose}: the file")
        with naming("write", path):
            figure.savefig(path, dpi=100)
    return figure
