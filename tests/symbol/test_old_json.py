"""Symbols in files of older versions: what MXNet 1.9.1 reads from each of them
(fixtures/old_json.py), in all dialects and versions."""

import json
from pathlib import Path

import pytest

import cynet as mx
from cynet.base.errors import CynetError
from tests.fixtures.old_json import HIDDEN, NAMES, plain, text

READ = json.loads((Path(__file__).parents[1] / "fixtures" / "old_json.json").read_text())
NOW = 10901  # from which on MXNet changes nothing
KINDS = sorted({name.partition(":")[0] for name in NAMES})
INPUTS = {
    "FullyConnected": 3,
    "Convolution": 3,
    "BatchNorm": 5,
    "LeakyReLU": 2,
    "UpSampling": 2,
    "Embedding": 2,
    "SoftmaxOutput": 2,
    "LinearRegressionOutput": 2,
    "InstanceNorm": 3,
    "RNN": 4,
    "elemwise_add": 2,
    "Concat": 2,
    "_sample_uniform": 2,
    "IdentityAttachKLSparseReg": 2,
}
STATES = {"BatchNorm": 3, "IdentityAttachKLSparseReg": 1}  # the inputs that are no states


def read(name, dialect, version):
    """Nodes, or the message of the refusal."""
    try:
        return plain(mx.sym.load_json(text(name, dialect, version)).tojson())
    except CynetError as error:
        return str(error)


def lacks_inputs(nodes):
    """Whether MXNet made an operator without all of its inputs, which fails when it is bound."""
    full = {
        "LeakyReLU": lambda a: a.get("act_type") == "prelu",
        "UpSampling": lambda a: a.get("sample_type") == "bilinear",
        "FullyConnected": lambda a: a.get("no_bias") != "True",
    }
    return next(
        (
            op
            for op, _, attrs, inputs in nodes
            if len(inputs) < INPUTS.get(op, 0) and full.get(op, bool.__call__)(attrs or {"": ""})
        ),
        None,
    )


def as_here(nodes):
    """One class stands for both versions of BatchNorm; plain keys are read in new files, too."""
    keys = {key: f"__{key}__" for key in HIDDEN}
    return [
        [
            op.removesuffix("_v1") if op.startswith("Batch") else op,
            name,
            {keys.get(k, k): v for k, v in attrs.items()},
            inputs,
        ]
        for op, name, attrs, inputs in nodes
    ]


def expected(wanted, found, name, dialect, version):
    """Whether `found` is right where MXNet read `wanted`."""
    if wanted is None:  # MXNet refuses what an attribute of the user's may well be
        own = name.startswith("hidden_keys")
        return isinstance(found, str) or (own and (version == NOW or dialect == "0.8"))
    lacking = lacks_inputs(as_here(wanted))
    if lacking is None:
        return found == as_here(wanted)
    count = next(len(n[3]) for n in as_here(wanted) if n[0] == lacking)
    if STATES.get(lacking) == count:  # states are made for every file
        return not isinstance(found, str) and lacks_inputs(found) is None
    return isinstance(found, str) and f"takes {INPUTS[lacking]} inputs" in found


@pytest.mark.parametrize("kind", KINDS)
def test_what_mxnet_reads(kind):
    wrong, seen = [], 0
    for name in (each for each in NAMES if each.startswith(kind + ":")):
        for wanted, where in READ[name] or ():  # MXNet ends on three of them
            for dialect, version in where:
                seen += 1
                found = read(name, dialect, version)
                if not expected(wanted, found, name, dialect, version):
                    wrong.append((name, dialect, version, wanted, found))
    assert not wrong[:3] and seen > 300


def test_what_mxnet_ends_on_is_read():
    for name in (each for each in NAMES if READ[each] is None):
        found = read(name, "0.8", 800)
        assert not isinstance(found, str) and lacks_inputs(found) is None, name


def test_gammas_and_other_variables_get_their_initializers():
    """The values, in a Module: PReLU's is 0.25, the weight of UpSampling bilinear."""
    for case, name, value in (
        ("initializers: gamma", "p_gamma", [0.25, 0.25]),
        ("initializers: no gamma", "p_gamma", [0.25, 0.25]),
        ("initializers: UpSampling", "w", [[[[0.0625, 0.1875, 0.1875, 0.0625]]]]),
    ):
        module = mx.mod.Module(mx.sym.load_json(text(case, "0.8", None)), label_names=None)
        shape = (1, 1, 4, 4) if "Up" in case else (1, 2, 4, 4)
        module.bind([("data", shape)], for_training=False)
        module.init_params(mx.init.Xavier())
        got = module.get_params()[0][name]
        assert (got[:, :, :1] if "Up" in case else got).asnumpy().tolist() == value
