"""What operators of cynet declare for sparse arrays."""

from cynet.base.errors import CynetError
from cynet.operator import OPERATORS

RULES = {
    entry.name: entry.prop.sparse
    for _, entry in OPERATORS.items()
    if entry.prop.__module__.startswith("cynet.") and entry.prop.sparse is not None
}
FORMS = {name for name, rule in RULES.items() if rule.form is not None}
_ON_VALUES = [
    name for name in sorted(FORMS) if RULES[name].form.__qualname__.startswith("elementwise_rule.")
]
SCALARS = [name for name in _ON_VALUES if "scalar" in OPERATORS.get(name).prop.fields]


def _stays_by_default(name):
    try:
        prop = OPERATORS.get(name).prop()
    except CynetError:  # parameters that are required
        return name == "Cast"
    return RULES[name].gives(prop, ("csr",)) == "csr"


# f(0) = 0 with the default parameters
ZERO_STAYS = [name for name in _ON_VALUES if name not in SCALARS and _stays_by_default(name)]
