"""Elementwise operators and reductions that are linear in their inputs, or whose gradient has
constant factors."""

# Linear in all inputs together.
_JOINT = """
    _copy negative degrees radians _mul_scalar _div_scalar _grad_add elemwise_add elemwise_sub
    broadcast_add broadcast_sub sum mean
"""
# Operator -> Linear.partners.
LINEAR = {
    **{name: {} for name in _JOINT.split()},
    "elemwise_mul": {0: (1,), 1: (0,)},
    "broadcast_mul": {0: (1,), 1: (0,)},
}
# Elementwise, with a gradient whose factor is constant almost everywhere.
_FLAT = """
    relu abs _plus_scalar _minus_scalar _rminus_scalar _maximum_scalar _minimum_scalar
    _mod_scalar _maximum _minimum _contrib_round_ste _contrib_sign_ste
"""
FLAT = frozenset(_FLAT.split())
