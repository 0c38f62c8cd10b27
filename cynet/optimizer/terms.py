"""Settings of an optimizer that must be equal on all ranks, or their weights would diverge."""

import functools
import hashlib

import numpy as np

from .. import random

_MAX_BRIEF_TEXT = 100  # characters
_SETTING_TYPES = int, float, str, bool, type(None)  # types of settings that can be compared
_EXCLUDED_ATTRIBUTES = {  # not compared as settings
    "idx2name",
    "param_dict",
    "sym_info",
    "lr_scheduler",
    "lr_mult",
    "wd_mult",
    "lr",
}


def all_settings(optimizer):
    """Return all settings of an optimizer that its steps depend on, as text by name.

    Attributes whose names begin with an underscore are nobody's business.

    Parameters
    ----------
    optimizer : Optimizer

    Returns
    -------
    dict of str to str
    """
    out = {"optimizer": type(optimizer).__name__}
    if optimizer.lr_scheduler is None:
        out["learning_rate"] = _value_text(optimizer.lr)
    else:
        out.update(_describe_schedule(optimizer.lr_scheduler))
    out.update(_public_attributes(optimizer, ""))
    for name in ("lr_mult", "wd_mult"):
        factors = dict(getattr(optimizer, name))
        for key, each in optimizer.param_dict.items():
            factors[key] = getattr(each, name, 1.0)
        for key, factor in factors.items():
            if factor != 1:
                out[f"{name} of {key}"] = _value_text(factor)
    for word, table in _group_settings(optimizer):
        out.update({f"{word} of {key}": _value_text(each) for key, each in table.items()})
    return out


def _group_settings(optimizer):
    """Yield pairs (description, values by name) of the settings of a Trainer's groups."""
    tables = ("rate of the group", "_group_rates"), ("decay of the group", "_group_decays")
    for word, name in tables:
        found = getattr(optimizer, name)
        yield word, {key: each for key, each in found.items() if isinstance(key, str)}


def state_digest(updater):
    """Return the digest of an Updater's states, such as momenta, by name."""
    digest = hashlib.blake2b(digest_size=8)
    for each in updater.state_chunks():
        digest.update(each)
    return {"the digest of the states": digest.hexdigest()}


def brief_settings(optimizer):
    """Return the settings that may change between steps, as a short text.

    >>> brief_settings(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9)).split("; ")[:4]
    ['optimizer=SGD', 'rescale_grad=1.0', 'learning_rate=0.5', 'wd=0.0']
    """
    values = vars(optimizer)
    rows = [f"optimizer={type(optimizer).__name__}"]
    for name in _declared_settings(type(optimizer)):
        if name in values:
            rows.append(f"{'learning_rate' if name == 'lr' else name}={_value_text(values[name])}")
    schedule = values.get("lr_scheduler")
    if schedule is not None:
        rows.append(f"base_lr={_value_text(getattr(schedule, 'base_lr', None))}")
    for word, table in _group_settings(optimizer):
        if table:
            text = repr(sorted(table.items()))
            digest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
            rows.append(f"{word}s: {text if len(text) < _MAX_BRIEF_TEXT else digest}")
    if optimizer._draws:
        rows.append(f"random_state={random.get_state()['devices']}")
    return "; ".join(rows)


def describe_rank_differences(rows):
    """Return descriptions of the settings that differ between ranks.

    Parameters
    ----------
    rows : list of dict of str to str
        Of each rank.

    Returns
    -------
    list of str
        ``"learning_rate is 0.1 on rank 0 and 0.2 on rank 1"``, ...
    """
    out = []
    for name in dict.fromkeys(name for row in rows for name in row):
        first = rows[0].get(name)
        for rank, row in enumerate(rows):
            if row.get(name) != first:
                values = [each or "not set" for each in (first, row.get(name))]
                out.append(f"{name} is {values[0]} on rank 0 and {values[1]} on rank {rank}")
                break
        if out and name == "optimizer":  # settings of different optimizers are not comparable
            break
    return out


def _describe_schedule(schedule):
    name = getattr(schedule, "__qualname__", type(schedule).__name__)
    return {"lr_scheduler": name, **_public_attributes(schedule, f"{name}.")}


def _public_attributes(instance, prefix):
    values = getattr(instance, "__dict__", {})
    return {
        f"{prefix}{name}": _value_text(value)
        for name, value in values.items()
        if not name.startswith("_") and name not in _EXCLUDED_ATTRIBUTES and _is_plain_value(value)
    }


def _is_plain_value(value):
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain_value, value))
    return isinstance(value, (*_SETTING_TYPES, np.generic))


def _value_text(value):
    return repr(value.item() if isinstance(value, np.generic) else value)


@functools.cache
def _declared_settings(klass):
    """Return the names of the settings that a class and its bases declare."""
    rows = [vars(owner).get("serialized_fields", ()) for owner in reversed(klass.__mro__)]
    return tuple(dict.fromkeys(name for row in rows for name in row))
