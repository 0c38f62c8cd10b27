"""Files of Blocks: parameters under any of MXNet's kinds of names, and a model's structure."""

import json
import re

from ... import ndarray as nd
from ...base.errors import ArgumentError, ArgumentTypeError, FormatError, shown
from ...base.files import file_name, read_file, write_atomically
from ...base.kinds import check_flag, read_json
from ..errors import MismatchError
from ..parameter import ParameterDict
from ..parameter.parameter_dict import brief_list, read_named_arrays
from ..parameter.shapes import merge_shapes


def select_parameters(block, select):
    """Return the Block's own parameters, then its children's, whose names match `select`."""
    found = ParameterDict(block.params.prefix)
    if select is None:
        found.update(block.params)
    else:
        if not isinstance(select, str):
            raise ArgumentTypeError(f"collect_params: select must be a str, got {shown(select)}")
        pattern = re.compile(select)
        own = ParameterDict()
        own._params.update((k, each) for k, each in block.params.items() if pattern.match(k))
        found.update(own)
    for _, child in block._named_children():
        found.update(child.collect_params(select))
    found._owner = block
    return found


def set_frozen(block, select, frozen):
    """Freeze or thaw the parameters whose structural names match."""
    found = []
    params = block._collect_params_with_prefix()
    for name, each in params.items():
        if re.match(select, name):
            if frozen:
                each._thawed = each._thawed or each.grad_req
                each.grad_req = "null"
                found.append(name)
            elif each._thawed is not None:
                each.grad_req, each._thawed = each._thawed, None
                found.append(name)
    if frozen and not found:
        raise ArgumentError(
            f"freeze: no parameter matches {shown(select)}; there are {brief_list(params)}"
        )
    return found


def save_parameters(block, filename, deduplicate):
    """Write the parameters under their structural names."""
    check_flag("save_parameters", "deduplicate", deduplicate)
    params = block._collect_params_with_prefix()
    if deduplicate:
        first = {}
        for name, each in params.items():
            first.setdefault(id(each), name)
        params = {name: each for name, each in params.items() if first[id(each)] == name}
    nd.save(filename, {name: each._reduce() for name, each in params.items()})


def load_parameters(block, filename, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source):
    """Read parameters by structural names, full names or names without the Block's prefix,
    whichever fit most names in the file."""
    check_flag("load_parameters", "cast_dtype", cast_dtype)
    arrays = read_arrays(filename)
    load_arrays(block, arrays, filename, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)


def read_arrays(filename):
    """Read a file's arrays by name, without the prefixes ``arg:`` and ``aux:`` of a Module."""
    return {
        name.removeprefix("arg:").removeprefix("aux:"): each
        for name, each in read_named_arrays(filename).items()
    }


def load_arrays(
    block,
    arrays,
    filename,
    ctx,
    allow_missing=False,
    ignore_extra=False,
    cast_dtype=False,
    dtype_source="current",
):
    """Fill parameters with arrays that came from a file."""
    layouts = [block._collect_params_with_prefix()]
    whole = dict(block.collect_params().items())
    prefix = block.prefix
    layouts.append(whole)
    layouts.append({name.removeprefix(prefix): each for name, each in whole.items()})
    if not any(names.keys() & arrays.keys() for names in layouts):
        arrays = _rename_to_prefix(arrays, prefix)
    params = max(layouts, key=lambda names: len(names.keys() & arrays.keys()))
    check_parameter_names(params, arrays, filename, allow_missing, ignore_extra)
    for name, array in arrays.items():
        if name in params:
            params[name]._load_init(array, ctx, cast_dtype, dtype_source)


def _rename_to_prefix(arrays, prefix):
    """Rename arrays whose names differ from `prefix` by its counter alone: a file has
    ``mobilenet0_``, the second such network of a process is ``mobilenet1_``."""
    stem = re.escape(prefix.rstrip("_").rstrip("0123456789"))
    before = re.compile(f"{stem}[0-9]+_")
    found = {match and match.group() for match in map(before.match, arrays)}
    if not stem or len(found) != 1 or None in found:
        return arrays
    (other,) = found
    return {prefix + name.removeprefix(other): each for name, each in arrays.items()}


def check_parameter_names(params, arrays, filename, allow_missing, ignore_extra):
    """Raise one error for all names that do not match."""
    check_flag("load_parameters", "allow_missing", allow_missing)
    check_flag("load_parameters", "ignore_extra", ignore_extra)
    problems = []
    loaded = {id(each) for name, each in params.items() if name in arrays}
    missing = [name for name, each in params.items() if id(each) not in loaded]
    if missing and not allow_missing:
        word = "is" if len(missing) == 1 else "are"
        problems.append(
            f"{_quote_names(missing)} {word} missing in {filename}, which has {brief_list(arrays)};"
            " allow_missing=True leaves them"
        )
    extra = [name for name in arrays if name not in params]
    if extra and not ignore_extra:
        problems.append(
            f"{filename} has {brief_list(extra)}; expected parameters of the Block, which are"
            f" {brief_list(params)}; ignore_extra=True passes over them"
        )
    for name, array in arrays.items():
        each = params.get(name)
        if each is not None and merge_shapes(each.shape, array.shape) is None:
            problems.append(
                f"parameter '{name}' ('{each.name}') has shape {each.shape}, the saved one"
                f" {array.shape}"
            )
    if problems:
        raise MismatchError("\n".join(problems))


def _quote_names(names):
    return f"parameter{'s' * (len(names) > 1)} {brief_list(names)}"


def save_model(block, prefix):
    """Write ``prefix-model.json``, the structure of Blocks with their hybridization, and
    ``prefix-model.params``."""
    prefix = file_name(prefix, "Block.save: the beginning of file names")
    numbers = iter(range(1 << 30))
    text = json.dumps({_numbered_block_name(block, numbers): _describe_block(block, numbers)})
    write_atomically(f"{prefix}-model.json", text.encode())
    save_parameters(block, f"{prefix}-model.params", False)


def _numbered_block_name(block, numbers):
    return f"{type(block).__name__.lower()}{next(numbers)}"


def _describe_block(block, numbers):
    children = dict(block._named_children())
    out = {
        "orig_name": block.name,
        "hybridized": bool(getattr(block, "_active", False)),
        "children": {each.name: name for name, each in children.items()},
    }
    for each in children.values():
        out[_numbered_block_name(each, numbers)] = _describe_block(each, numbers)
    return out


def load_model(block, prefix):
    """Hybridize the Blocks that are marked in ``prefix-model.json``, and load the parameters."""
    prefix = file_name(prefix, "Block.load: the beginning of file names")
    name = f"{prefix}-model.json"
    content = read_file(name)
    try:
        described = read_json(content)
    except ValueError as error:
        raise FormatError(f"{name}: expected JSON: {error}") from None
    if not isinstance(described, dict) or len(described) != 1:
        raise FormatError(f"{name}: one Block is expected, found {shown(described)}")
    _restore_hybridization(block, next(iter(described.values())), name)
    load_parameters(block, f"{prefix}-model.params", None, False, False, False, "current")


def _restore_hybridization(block, described, name):
    if not isinstance(described, dict) or not isinstance(described.get("children"), dict):
        raise FormatError(f"{name}: {shown(described)} describes no Block")
    children = dict(block._named_children())
    parts = [
        each for key, each in described.items() if isinstance(each, dict) and key != "children"
    ]
    if len(parts) != len(children):
        raise FormatError(
            f"{name}: {block.name} has {len(children)} children, the file has {len(parts)}"
        )
    if hasattr(block, "_active"):
        block._set_active(bool(described.get("hybridized", False)))
    for each, part in zip(children.values(), parts):
        _restore_hybridization(each, part, name)
