"""What ``fit(resume=)`` is asked for now, beside what it was asked for when its file was begun."""

import json

from ..base.errors import ArgumentError, shown
from ..base.kinds import settings_of
from ..optimizer.settings import accepted

# parameters of optimizers that are attributes by another name
_ATTRIBUTES = {"learning_rate": "lr", "eps": "float_stable_eps", "begin_epoch": "init_updates"}
# what has no value that could be compared, or is compared by itself
_OTHERS = ("sym", "param_idx2name", "param_dict", "lr_scheduler")
_MISSING = object()


def asked_of(optimizer, clip_global_norm):
    """The arguments of an optimizer and of ``fit`` that a training depends on, as JSON holds them.

    An optimizer that has worked is described as it is now: a callback may have changed its rate.
    """
    settings, scheduler = settings_of(optimizer), optimizer.lr_scheduler
    found = {}
    for name in accepted(type(optimizer)):
        attribute = name if name in settings else _ATTRIBUTES.get(name)
        if name not in _OTHERS and attribute in settings:
            found[name] = settings[attribute]
    asked = {
        "optimizer": type(optimizer).__name__,
        "settings": found,
        "lr_mult": sorted(map(list, optimizer.lr_mult.items()), key=str),
        "wd_mult": sorted(map(list, optimizer.wd_mult.items()), key=str),
        "lr_scheduler": scheduler
        and {"name": type(scheduler).__name__, "settings": settings_of(scheduler)},
        "clip_global_norm": clip_global_norm,
    }
    return json.loads(json.dumps(asked))  # as it comes back from a file


def reconcile(path, old, kept, now, wanted):
    """Let what can be changed in the middle of a training be as it is asked for now.

    Parameters
    ----------
    path : str
        The file, for messages.
    old : dict or None
        What was asked for when the file was begun; None: the file is too old to say it.
    kept : Optimizer
        That of the file, which goes on.
    now : dict
        What is asked for.
    wanted : Optimizer
        The one that was made for it.

    Returns
    -------
    list of str
        What has changed, in words.

    Raises
    ------
    ArgumentError
        Something else was asked for that cannot be changed: another optimizer, momentum, ...
    """
    found = asked_of(kept, now["clip_global_norm"])
    old = found if old is None else old

    def differs(*place):
        a, b, c = (_at(each, place) for each in (old, found, now))
        # what callbacks have changed is in the file, and in an optimizer that has worked
        return c != a and c != b

    def refuse(what, place):
        values = (shown(_at(each, place)) for each in (old, now))
        raise ArgumentError(
            "fit: resume: {}: the file was begun with {} {}, asked for is {}; ask for the old"
            " one, or begin a training of another name".format(path, what, *values)
        )

    if now["optimizer"] != found["optimizer"]:
        refuse("optimizer", ("optimizer",))
    for name in now["settings"]:
        if name != "learning_rate" and differs("settings", name):
            refuse(f"{now['optimizer']}'s {name}", ("settings", name))
    if differs("wd_mult"):
        refuse("wd_mult", ("wd_mult",))
    changed = []
    if differs("lr_scheduler"):
        changed.append(f"lr_scheduler {_words(old, now, 'lr_scheduler')}")
    elif now["lr_scheduler"] is None and differs("settings", "learning_rate"):
        changed.append(f"learning_rate {_words(old, now, 'settings', 'learning_rate')}")
    if changed:
        kept.lr, kept.lr_scheduler = wanted.lr, wanted.lr_scheduler
    if differs("lr_mult"):
        changed.append(f"lr_mult {_words(old, now, 'lr_mult')}")
        kept.lr_mult = dict(wanted.lr_mult)
    if now["clip_global_norm"] != old["clip_global_norm"]:
        changed.append(f"clip_global_norm {_words(old, now, 'clip_global_norm')}")
    return changed


def _at(asked, place):
    for name in place:
        asked = asked.get(name, _MISSING)
    return asked


def _words(old, now, *place):
    return "{} instead of {}".format(*(shown(_at(each, place)) for each in (now, old)))
