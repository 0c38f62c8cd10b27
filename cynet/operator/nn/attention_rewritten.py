"""Products of interleaved attention in terms of other operators."""

from ..second_order import Rewrite


def _split_heads(F, array, heads, parts):
    """Split interleaved queries, keys and values into arrays (batch * heads, length, dim)."""
    n, batch, width = array.shape
    split = array.reshape((n, batch * heads, parts, width // (heads * parts)))
    each = F.split(split, num_outputs=parts, axis=2, squeeze_axis=True) if parts > 1 else None
    each = each or [split.reshape((n, batch * heads, -1))]
    return [F.transpose(part, axes=(1, 0, 2)) for part in each]


def _differentiable_scores(p, F, x, aux, training):
    if len(x) == 1:
        queries, keys, _ = _split_heads(F, x[0], p.heads, 3)
    else:
        queries, keys = _split_heads(F, x[0], p.heads, 1)[0], _split_heads(F, x[1], p.heads, 2)[0]
    return [F.batch_dot(queries, keys, transpose_b=True) * queries.shape[2] ** -0.5]


def _weighted_sums(p, F, x, aux, training):
    values = _split_heads(F, x[0], p.heads, p.projection_counts()[0])[-1]
    out = F.transpose(F.batch_dot(x[1], values), axes=(1, 0, 2))
    return [out.reshape((out.shape[0], x[0].shape[1], -1))]


SCORES, WEIGHTED_SUMS = Rewrite(_differentiable_scores), Rewrite(_weighted_sums)  # second order
