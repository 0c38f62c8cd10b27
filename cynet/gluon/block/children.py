"""Blocks inside a Block, and the attributes that its graph depends on."""

from ...base.overrides import is_internal
from ...ndarray import NDArray


def unregistered_blocks(owner, kind):
    """Yield pairs of structural name (``layers.0``) and Block, for Blocks in lists, tuples and
    dicts of `owner` that are not registered as children; `kind` is the class Block."""
    known = None
    for name, value in vars(owner).items():
        if name in _BLOCK_ATTRIBUTES or not isinstance(value, (list, tuple, dict)) or not value:
            continue
        for path, each in _blocks_with_paths(value, name, kind, 0):
            if known is None:
                known = {id(owner), *map(id, owner._children.values())}
            if id(each) not in known:
                known.add(id(each))
                yield path, each


_BLOCK_ATTRIBUTES = {  # of every Block
    "_children",
    "_reg_params",
    "_forward_hooks",
    "_forward_pre_hooks",
    "_cached",
    "_flags",
}
_BLOCK_ATTRIBUTES |= {"_formats", "_backward_hooks"}
_MAX_CONTAINER_DEPTH = 8  # levels of lists and dicts that are searched for Blocks


def _blocks_with_paths(value, path, kind, depth):
    if isinstance(value, kind):
        yield path, value
    elif depth < _MAX_CONTAINER_DEPTH:
        if isinstance(value, (list, tuple)):
            for i, each in enumerate(value):
                yield from _blocks_with_paths(each, f"{path}.{i}", kind, depth + 1)
        elif isinstance(value, dict):
            for key, each in value.items():
                yield from _blocks_with_paths(each, f"{path}.{key}", kind, depth + 1)


def block_fingerprint(block):
    """Return all that a graph of a Block depends on: its children, parameters, plain attributes."""
    own = tuple(
        (name, value)
        for name, value in vars(block).items()
        if name not in _IGNORED_ATTRS and isinstance(value, _PLAIN_TYPES) and _is_hashable(value)
    )
    arrays = tuple(
        (name, id(value))
        for name, value in vars(block).items()
        if isinstance(value, NDArray) and name not in _IGNORED_ATTRS
    )
    functions = tuple(
        (name, id(value))
        for name, value in vars(block).items()
        if callable(value) and name not in _IGNORED_ATTRS and not hasattr(value, "_named_children")
    )
    params = tuple((name, id(each)) for name, each in block._reg_params.items())
    children = tuple((name, block_fingerprint(each)) for name, each in block._named_children())
    hooks = bool(block._forward_hooks or block._forward_pre_hooks or block._backward_hooks)
    watched = id(vars(block).get("_op_hook"))
    return id(block), own, arrays, functions, params, children, hooks, watched


_PLAIN_TYPES = (bool, int, float, str, tuple, type(None))  # attributes that graphs depend on
_IGNORED_ATTRS = {  # attributes that no graph depends on
    "_active",
    "_flags",
    "_cached",
    "_counter",
    "_init_counter",
    "_modified",
    "_op_hook",
    "_formats",
    "_previous",
    "_masks",
    "_prefix",
    "_name",
    "_empty_prefix",
}


def copy_attributes(block):
    """Copy the attributes of a Block and of Blocks inside, and nested lists and dicts; return pairs
    of a container and its copy."""
    found, seen = [], set()

    def copy_container(container, depth):
        if id(container) in seen or depth > _MAX_CONTAINER_DEPTH:
            return
        seen.add(id(container))
        found.append((container, container.copy()))
        items = container.items() if isinstance(container, dict) else enumerate(container)
        for name, value in items:
            if isinstance(value, (list, dict)) and not (depth == 0 and name in _BLOCK_ATTRIBUTES):
                copy_container(value, depth + 1)

    def copy_block_tree(each):
        copy_container(vars(each), 0)
        for _, child in each._named_children():
            copy_block_tree(child)

    copy_block_tree(block)
    return found


def restore_attributes(copies, kind):
    """Restore every attribute that is or contains a `kind`; return whether there was one."""
    there_was = False
    for container, before in copies:
        of_names = isinstance(container, dict)
        pairs = list(container.items()) if of_names else list(enumerate(container))
        old = before if of_names else dict(enumerate(before))
        left = [
            n
            for n, new in pairs
            if n not in _IGNORED_ATTRS and new is not old.get(n) and _has_instance(new, kind, 0)
        ]
        there_was = there_was or bool(left)
        if left and not of_names:
            container[:] = before
            continue
        for name in left:
            if name in before:
                container[name] = before[name]
            else:
                del container[name]
    return there_was


def _has_instance(value, kind, depth):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and depth < _MAX_CONTAINER_DEPTH:
        return any(_has_instance(each, kind, depth + 1) for each in value)
    return isinstance(value, kind)


def _is_hashable(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True


def has_own_forward(block):
    """Return whether a user's `forward` wraps the part that becomes a graph (`hybrid_forward`, or
    the symbol of a SymbolBlock): then `forward` runs at each call, as in MXNet."""
    if is_internal(block.forward):
        return False
    hybrid = getattr(block.hybrid_forward, "__func__", block.hybrid_forward)
    return "_graph" in vars(block) or not getattr(hybrid, "is_undefined", False)


def has_hooks(block):
    """Return whether a Block inside has hooks."""
    for _, each in block._named_children():
        if (
            each._forward_hooks
            or each._forward_pre_hooks
            or each._backward_hooks
            or has_hooks(each)
        ):
            return True
    return False
