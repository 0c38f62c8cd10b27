"""Names of the operators that MXNet has in mx.nd.sparse and mx.sym.sparse."""

from ..array_methods import declared_names

OPERATORS = declared_names("in_sparse")  # name in those modules -> the operator's name
