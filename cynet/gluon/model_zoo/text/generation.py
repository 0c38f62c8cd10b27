"""Text generation by a language model: greedy, sampling, beam search."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from .... import autograd, ndarray
from ....base.errors import ArgumentError, ArgumentTypeError, shown
from ....base.guard import guarded
from ....base.kinds import to_count, to_index
from ....context import cpu
from ....optimizer.settings import check_real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .gpt import GPT2


@overload
def generate(
    net: GPT2,
    tokens: Sequence[int],
    length: int,
    temperature: float = ...,
    top_k: int | None = ...,
    top_p: float = ...,
    num_beams: int = ...,
    length_penalty: float = ...,
    stop: int | Sequence[int] = ...,
) -> list[int]: ...


@overload
def generate(
    net: GPT2,
    tokens: Sequence[Sequence[int]],
    length: int,
    temperature: float = ...,
    top_k: int | None = ...,
    top_p: float = ...,
    num_beams: int = ...,
    length_penalty: float = ...,
    stop: int | Sequence[int] = ...,
) -> list[list[int]]: ...


@guarded
def generate(
    net,
    tokens,
    length,
    temperature=0.0,
    top_k=None,
    top_p=1.0,
    num_beams=1,
    length_penalty=1.0,
    stop=(),
):
    """Generate the tokens by which a model continues a text.

    Each new token is computed from the keys and values that the earlier ones left.

    Parameters
    ----------
    net : GPT2
        An initialized model, or one that has its method `step`.
    tokens : list of int, or list of lists
        A text, or texts, each of one token or more; those of one length are continued together.
    length : int
        The largest number of new tokens.
    temperature : float
        0 takes the likeliest token each time. Otherwise tokens are drawn, after their scores have
        been divided by it; `mx.random.seed` makes that repeatable.
    top_k : int, optional
        Draw only from the `top_k` likeliest tokens.
    top_p : float
        Draw only from the fewest likeliest tokens that have this chance together.
    num_beams : int
        Follow as many continuations at a time, and give the one of the best sum of logarithms of
        chances, divided by its length to the power of `length_penalty`. Not together with
        `temperature`.
    length_penalty : float
        Above 0 favours longer continuations where beams end at different lengths.
    stop : int or list of int
        A token that ends a text; it is not given.

    Returns
    -------
    list of int, or list of lists
        The new tokens of the text, or of each text.

    Raises
    ------
    ArgumentError
        A text is empty or has tokens that the model lacks, text and `length` exceed the model's
        ``max_length``, or a setting is out of range.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.text.GPT2(50, units=16, num_layers=2, num_heads=2, max_length=8)
    >>> net.initialize()
    >>> len(mx.gluon.model_zoo.text.generate(net, [3, 1, 4], 5, temperature=1.0))
    5
    """
    stops = _check_settings(length, temperature, top_k, top_p, num_beams, length_penalty, stop)
    texts, single = _to_token_lists(net, tokens, length)
    of_length: dict[int, list[int]] = {}
    for i, text in enumerate(texts):
        of_length.setdefault(len(text), []).append(i)
    found: list[list[int]] = [[] for _ in texts]
    with autograd.pause(train_mode=False):
        for indices in of_length.values():
            if not length:
                continue
            rows = np.array([texts[i] for i in indices])
            if num_beams > 1:
                each = [
                    _beam_search(net, row, length, num_beams, length_penalty, stops) for row in rows
                ]
            else:
                each = _sample_sequences(net, rows, length, (temperature, top_k, top_p), stops)
            for i, text in zip(indices, each):
                found[i] = text
    return found[0] if single else found


def _check_settings(length, temperature, top_k, top_p, num_beams, length_penalty, stop):
    """Return the set of stop tokens; raise an error if a setting is out of range."""
    if to_index("generate: length", length) < 0:
        raise ArgumentError(f"generate: length must be 0 or more, got {length}")
    for name, value in (("top_k", top_k), ("num_beams", num_beams)):
        if value is not None:
            to_count(f"generate: {name}", value)
    ranges = {"temperature": (temperature, 0), "top_p": (top_p, 0)}
    ranges["length_penalty"] = (length_penalty, -np.inf)
    for name, (value, low) in ranges.items():
        check_real(f"generate: {name}", value)
        if not low <= value < np.inf:
            _raise_invalid_setting(name, value, f"a finite number of at least {low}")
    if not 0 < top_p <= 1:
        _raise_invalid_setting("top_p", top_p, "a number above 0, up to 1")
    if num_beams > 1 and temperature:
        raise ArgumentError("generate: beams follow the likeliest tokens: temperature must be 0")
    stops = np.ravel(np.asarray(stop))
    if stops.size and stops.dtype.kind not in "iu":
        raise ArgumentTypeError(f"generate: stop is a token or a list of tokens, got {shown(stop)}")
    return set(stops.tolist())


def _raise_invalid_setting(name, value, wanted):
    raise ArgumentError(f"generate: {name} must be {wanted}, got {shown(value)}")


def _to_token_lists(net, tokens, length):
    """Return a list of token lists, and whether `tokens` was a single list."""
    if isinstance(tokens, ndarray.NDArray):
        tokens = tokens.asnumpy().astype(int)
    rows = list(tokens)
    single = not rows or not np.ndim(rows[0])
    texts = []
    for i, row in enumerate([rows] if single else rows):
        text, where = np.asarray(row), "tokens" if single else f"tokens[{i}]"
        if text.ndim != 1 or not text.size or text.dtype.kind not in "iu":
            raise ArgumentError(f"generate: {where} must be one int or more, got {shown(row)}")
        if text.min() < 0 or text.max() >= net.vocab_size:
            raise ArgumentError(
                f"generate: {where} must be from 0 to {net.vocab_size - 1}, got"
                f" {text.min()} to {text.max()}"
            )
        if len(text) + length > net.max_length:
            raise ArgumentError(
                f"generate: {where} has {len(text)} tokens, and {length} more exceed the model's"
                f" max_length {net.max_length}"
            )
        texts.append(text.tolist())
    return texts, single


def _next_log_probs(net, rows, past):
    """Return log-probabilities of the next token, (rows, vocabulary), float64; and the new past."""
    context = net.weight.list_ctx()[0]
    scores, past = net.step(ndarray.array(rows, context, "int32"), past)
    last = scores[:, -1].astype("float32").asnumpy().astype(np.float64)
    if not np.isfinite(last).all():
        raise ArgumentError("generate: the model's scores are not finite")
    last -= last.max(axis=1, keepdims=True)
    return last - np.log(np.exp(last).sum(axis=1, keepdims=True)), past


def _sample_tokens(logs, temperature, top_k, top_p):
    """Draw a token for each row of log-probabilities."""
    if not temperature:
        return logs.argmax(axis=1)
    order = np.argsort(-logs, axis=1, kind="stable")[:, :top_k]
    chances = np.take_along_axis(logs, order, axis=1) / temperature
    chances = np.exp(chances - chances[:, :1])
    chances /= chances.sum(axis=1, keepdims=True)
    before = chances.cumsum(axis=1) - chances  # sum of probabilities of likelier tokens
    chances *= before < top_p
    sums = chances.cumsum(axis=1)
    drawn = ndarray.random.uniform(shape=(len(logs), 1), ctx=cpu()).asnumpy() * sums[:, -1:]
    at = (sums <= drawn).sum(axis=1)
    # rounding errors may put a draw behind the last token of non-zero probability
    at = np.minimum(at, (chances > 0).sum(axis=1) - 1)
    return order[np.arange(len(order)), at]


def _sample_sequences(net, rows, length, settings, stops):
    found, going = [[] for _ in rows], list(range(len(rows)))
    given, past = rows, None
    for _ in range(length):
        logs, past = _next_log_probs(net, given, past)
        token = _sample_tokens(logs, *settings)
        active = [j for j, each in enumerate(token) if int(each) not in stops]
        for j in active:
            found[going[j]].append(int(token[j]))
        if not active:
            break
        if len(active) < len(going):
            past, going = (_select_cache(net, past, len(going), active), [going[j] for j in active])
        given = token[active][:, None]
    return found


def _select_cache(net, past, count, sequences):
    """Select the keys and values of some of `count` sequences, which have one row for each head."""
    heads = past[0][0].shape[0] // count
    rows = (np.array(sequences)[:, None] * heads + np.arange(heads)).ravel()
    index = ndarray.array(rows, past[0][0].context, "int32")
    return [tuple(ndarray.take(each, index) for each in pair) for pair in past]


def _beam_search(net, row, length, count, penalty, stops):
    """Return the best continuation by beam search, which stops when `count` continuations have
    ended."""
    ended: list[tuple[float, list[int]]] = []
    texts, sums = [[]], np.zeros(1)
    given, past = row[None], None
    for step in range(1, length + 1):
        logs, past = _next_log_probs(net, given, past)
        total = sums[:, None] + logs
        order = np.argsort(-total, axis=None, kind="stable")[: count * (1 + len(stops))]
        candidates = []
        for rank, at in enumerate(order):
            beam, token = divmod(int(at), total.shape[1])
            if token in stops:
                if rank < count:
                    ended.append((total[beam, token] / step**penalty, texts[beam]))
            else:
                candidates.append((beam, token))
        candidates = candidates[:count]
        if len(ended) >= count or not candidates:
            break
        sums = np.array([total[each] for each in candidates])
        past = _select_cache(net, past, len(texts), [beam for beam, _ in candidates])
        texts = [[*texts[beam], token] for beam, token in candidates]
        given = np.array([[token] for _, token in candidates])
    else:
        ended += [(total / length**penalty, text) for total, text in zip(sums, texts)]
    return max(ended)[1]
