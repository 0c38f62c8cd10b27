"""Reading Symbols from JSON files and JSON text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import FormatError
from ..base.files import file_name, read_file
from .serialization import from_json
from .symbol import Symbol

if TYPE_CHECKING:
    from ..typing import FileName


def load_json(json_str: str) -> Symbol:
    """The Symbol that a JSON text describes.

    Parameters
    ----------
    json_str : str
        What ``Symbol.tojson`` returned.

    Raises
    ------
    FormatError
        Text that is no such JSON; the message names the node.
    NotFoundError
        An operator that is not registered.

    Examples
    --------
    >>> text = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc").tojson()
    >>> mx.sym.load_json(text).list_outputs()
    ['fc_output']
    """
    return Symbol(from_json(json_str))


def load(fname: FileName) -> Symbol:
    """The Symbol in the file `fname`, of any MXNet 1.x dialect.

    Parameters
    ----------
    fname : str
        A file that ``Symbol.save`` or MXNet wrote.

    Raises
    ------
    FileError
        A file that cannot be read; also the OSError of its kind.
    FormatError
        A file that is truncated or holds something else.

    Examples
    --------
    >>> mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc").save("net.json")
    >>> mx.sym.load("net.json").list_arguments()
    ['data', 'fc_weight', 'fc_bias']
    """
    name = file_name(fname, "load: a file name")
    data = read_file(name)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not a symbol's JSON: {error}") from None
    return Symbol(from_json(text, name))
