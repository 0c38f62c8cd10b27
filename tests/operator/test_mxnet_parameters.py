"""Names, order, defaults and choices of every operator's parameters are those of MXNet 1.9.1
(tests/fixtures/operator_parameters.py); what differs on purpose stands in the tables here."""

import inspect
import json
import re
import warnings
from pathlib import Path

import pytest

import cynet as mx
from cynet.base.errors import ArgumentTypeError
from cynet.operator import OPERATORS, get_operator_arguments, registered
from cynet.operator.parameters import REQUIRED, Enum

FIXTURE = Path(__file__).parents[1] / "fixtures" / "operator_parameters.json"
MXNET = json.loads(FIXTURE.read_text())
NAMES = sorted(name for name in OPERATORS if not OPERATORS.get(name).prop.users)
COMMON = [name for name in NAMES if name in MXNET["arguments"]]

# operator -> why its arguments are other ones
ARGUMENTS = {
    "BatchNorm_v1": "it is BatchNorm by another name, which lists states and has more parameters",
    "Crop": "MXNet's parser takes no `data`",
    "_Native": "need_top_grad is the object's own",
    "_cond": "the graphs are no arguments of a call",
    "_foreach": "the graphs are no arguments of a call",
    "_while_loop": "the graphs are no arguments of a call",
}
# (operator, parameter) -> why its default is another one
DEFAULTS = {
    ("Custom", "op_type"): "MXNet finds only later that it is missing",
    ("_full", "shape"): "an unknown shape is () in both",
    ("_zeros_without_dtype", "shape"): "an unknown shape is () in both",
    ("_split_v2", "indices"): "sections may be given alone",
    ("_image_normalize", "mean"): "one number for all channels, not one for each of four",
    ("_image_normalize", "std"): "one number for all channels, not one for each of four",
    ("smooth_l1", "scalar"): "MXNet has 1, too, and does not list it",
}
# operator -> parameters that MXNet takes and cynet does not
NOT_TAKEN = {"_Native": {"need_top_grad"}}
# operator -> parameters of cynet's that MXNet refuses
MORE = {
    "BatchNorm_v1": {"axis", "cudnn_off", "min_calib_range", "max_calib_range"},
    "_linspace": {"step", "repeat", "infer_range"},  # which it lists
}


def counted(name):
    return OPERATORS.get(name).prop.key_var_num_args


def default_of(text):
    """What a type's text says of the default, in a form that compares: None where none is."""
    if "required" in text:
        return REQUIRED
    found = re.search(r"default=(.*)$", text)
    return None if found is None else plain(found[1].strip("'"))


def plain(word):
    """'True' and '1', '0.1' and '0.100000001', '[1,2]' and '(1.0, 2.0)' compare alike."""
    word = {"True": "1", "False": "0"}.get(word, word).replace("[", "(").replace("]", ")")
    if word.startswith("("):
        return tuple(plain(each.strip()) for each in word.strip("()").split(",") if each.strip())
    try:
        return float(f"{float(word):.5e}")
    except ValueError:
        return word


def is_array(text):
    return text.startswith(("NDArray", "Symbol"))


def check_arguments(name):
    found = get_operator_arguments(name)
    listed = [pair for pair in MXNET["arguments"][name] if pair[0] != counted(name)]
    listed.sort(key=lambda pair: not is_array(pair[1]))  # as MXNet's functions take them
    if name in ARGUMENTS:
        assert found.names != [key for key, _ in listed], f"{name} is alike: out of the table"
        return
    if counted(name) or OPERATORS.get(name).prop.many_inputs:
        assert found.types[0].endswith("[]") and listed[0][1].endswith("[]")
    assert found.names[1:] == [key for key, _ in listed[1:]]
    assert found.names[:1] in ([key for key, _ in listed[:1]], ["data"])
    for key, ours, theirs in zip(found.names, found.types, (text for _, text in listed)):
        assert is_array(ours) == is_array(theirs), key
        if is_array(ours):
            continue
        same = default_of(ours) == default_of(theirs)
        assert same != ((name, key) in DEFAULTS), f"{key}: {ours}, MXNet: {theirs}"
        field = OPERATORS.get(name).prop.fields[key]
        if theirs.startswith("{") and isinstance(field, Enum):
            words = set(re.findall(r"'([^']+)'", theirs.partition("}")[0])) - {"None"}
            assert words <= set(field.choices), f"{key} takes no {words - set(field.choices)}"


def complaints(check):
    """What a check says of operators, one line for each that it fails for."""
    out = []
    for name in COMMON:
        try:
            check(name)
        except Exception as error:
            out.append(f"{name}: {type(error).__name__}: {error}")
    return "\n".join(out)


def test_arguments():
    assert len(COMMON) > 480
    assert not complaints(check_arguments)


def test_keywords():
    assert not complaints(check_keywords)


def test_tables_name_what_is_there():
    assert set(ARGUMENTS) | {name for name, _ in DEFAULTS} | set(NOT_TAKEN) | set(MORE) <= {*COMMON}


def check_keywords(name):
    """A parser's parameters are all taken; another keyword is an error, or dropped with a warning
    by operators that have no parameters in MXNet either."""
    prop = OPERATORS.get(name).prop
    taken = MXNET["taken"][name]
    if prop.any_parameters or name in ("_cond", "_foreach", "_while_loop"):
        return
    if taken is not None:
        assert set(taken) - NOT_TAKEN.get(name, set()) - {counted(name)} <= {*prop.fields}
        more = set(prop.fields) - set(taken) - {counted(name)}
        assert more == MORE.get(name, set()), name
    for face in (mx.nd, mx.sym):
        face = face._internal if name.startswith("_") else face
        if prop.fields:
            with pytest.raises(ArgumentTypeError, match="has no parameter 'foozle'"):
                getattr(face, name)(foozle=1)
        else:
            assert taken is None, f"{name} drops a keyword, which MXNet refuses"
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                registered._warned_keywords.discard((prop.op_name, "foozle"))
                inputs = () if face not in (mx.nd, mx.nd._internal) else (None,)
                with pytest.raises(UserWarning, match="has no parameters; 'foozle' is ignored"):
                    getattr(face, name)(*inputs, foozle=1)


# --- functions and methods ------------------------------------------------------------------------
def spaces():
    for path, functions in MXNET["signatures"].items():
        owner = {"NDArray": mx.nd.NDArray, "Symbol": mx.sym.Symbol}.get(path)
        if owner is None:
            owner = mx
            for part in path.split("."):
                owner = getattr(owner, part)
        for name, text in functions.items():
            if text is not None and callable(getattr(owner, name, None)):
                yield path, owner, name, text


# why positions differ
SIGNATURES = {
    "BatchNorm_v1": "as above",
    "boolean_mask": "a graph cannot hold it, and it says so",
    "_cond": "as above",
    "_foreach": "as above",
    "_while_loop": "as above",
}


def test_functions_take_the_same_positions():
    wrong, seen = [], 0
    for path, owner, name, text in spaces():
        if name in SIGNATURES:
            continue
        parameters = inspect.signature(getattr(owner, name)).parameters.values()
        kinds = inspect.Parameter
        # names of inputs are keywords, so that `self` is none
        ours = [
            p.name
            for p in parameters
            if p.kind == kinds.POSITIONAL_OR_KEYWORD
            or (p.kind == kinds.POSITIONAL_ONLY and p.name == "self")
        ]
        open_ended = any(p.kind == kinds.VAR_POSITIONAL for p in parameters)
        theirs = [word.partition("=")[0] for word in text.split() if not word.startswith("*")]
        if "sym" in path.lower():  # a symbol has no `out`
            ours, theirs = ([n for n in each if n != "out"] for each in (ours, theirs))
        seen += 1
        if open_ended and (not theirs or theirs == ["self"] or "*" in text):
            continue
        if open_ended and path in ("NDArray", "Symbol"):
            continue  # a method hands on what it is given to the function
        if ours[: len(theirs)] != theirs:
            wrong.append(f"{path}.{name}: {' '.join(ours)} | MXNet: {text}")
    assert seen > 800
    assert not wrong, "\n".join(wrong)


def test_positions_reach_the_parameters():
    """Every operator without required parameters, all defaults given by position."""
    tried = 0
    for name in COMMON:
        prop = OPERATORS.get(name).prop
        what = mx.operator.signature.describe_operator(OPERATORS.get(name))
        if what.variable or name in ARGUMENTS:
            continue
        face = mx.sym._internal if name.startswith("_") else mx.sym
        inputs = [mx.sym.Variable(n) for n in what.inputs[: what.listed]]
        needed = list(prop.with_defaults().list_inputs()) if prop.fields else what.inputs
        if set(what.inputs[: what.listed]) - set(needed):
            inputs = [mx.sym.Variable(n) if n in needed else None for n in what.inputs]
            inputs = inputs[: what.listed]
        values = []
        for key in what.positional:
            default = prop.fields[key].default
            if default is REQUIRED:
                break
            values.append(default)
        else:
            function, tail = getattr(face, name), ("its_name", {"__mark__": "x"})
            by_name = dict(zip(what.positional, values), name=tail[0], attr=tail[1])
            try:
                wanted = function(*inputs, **by_name).tojson()
            except mx.errors.CynetError as error:  # the defaults alone make no sense
                with pytest.raises(type(error), match=re.escape(str(error))):
                    function(*inputs, *values, *tail)
                continue
            assert function(*inputs, *values, *tail).tojson() == wanted
            tried += 1
    assert tried > 200


def test_out_by_position():
    x, out = mx.nd.array([[1, -2], [3, 4]]), mx.nd.zeros((2, 2))
    assert mx.nd.relu(x, out) is out and out.asnumpy().tolist() == [[1, 0], [3, 4]]
    total = mx.nd.zeros((2,))
    assert mx.nd.sum(x, 1, False, False, total) is total and total.asnumpy().tolist() == [-1, 7]
    assert mx.nd.sum(x, 1, False, False, total, "name") is total
    with pytest.raises(ArgumentTypeError, match="operator relu: 'out' is given twice"):
        mx.nd.relu(x, out, out=out)
    with pytest.raises(ArgumentTypeError, match="relu takes at most 3 positional arguments, got 4"):
        mx.nd.relu(x, out, "name", 1)
    with pytest.raises(ArgumentTypeError, match="relu: argument 'name' is given twice"):
        mx.sym.relu(mx.sym.Variable("x"), "a", name="b")
    with pytest.raises(ArgumentTypeError, match="out must be an NDArray or a list of them, got 3"):
        mx.nd.relu(x, 3)


def test_what_mxnet_does_not_list_goes_by_name():
    x, length = mx.nd.array([[1, 2, 3]]), mx.nd.array([2], dtype="int32")
    by_name = mx.nd.log_softmax(x, length=length, use_length=True)
    assert by_name.asnumpy()[0, 2] == 0
    split_out_keepdims = mx.nd.log_softmax(x, length, use_length=True)
    for again in (split_out_keepdims, x.log_softmax(length, -1, None, None, True)):
        assert again.asnumpy().tolist() == by_name.asnumpy().tolist()
    assert "length" not in get_operator_arguments("softmin").names
    assert list(inspect.signature(mx.nd.softmin).parameters)[:2] == ["data", "axis"]
    with pytest.raises(ArgumentTypeError, match="takes at most"):
        mx.nd.linalg.potrf(mx.nd.ones((1, 1)), None, None, False)
