"""Names of the operators that MXNet has in mx.nd.sparse and mx.sym.sparse."""

from .._base import OPERATORS as REGISTRY

# Name in those modules to the operator's.
OPERATORS = {
    name: entry.name
    for entry in {entry.name: entry for _, entry in REGISTRY.loaded_items()}.values()
    for name in vars(entry.prop).get("in_sparse", ())
}
