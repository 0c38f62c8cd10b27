"""Names of the operators that MXNet has in mx.nd.sparse and mx.sym.sparse."""

from ..array_methods import declared

OPERATORS = declared("in_sparse")  # name in those modules to the operator's name
