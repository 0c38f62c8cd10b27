"""Values for a network whose automatic names have counted on: the error says both names."""

import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, listed


def module(name=None):
    net = mx.sym.BatchNorm(mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=2))
    net = mx.sym.FullyConnected(net, num_hidden=2, name=name)
    made = mx.mod.Module(net, label_names=None)
    made.bind([("data", (1, 2, 3, 3))], for_training=False)
    return made


def test_names_that_differ_by_their_numbers():
    first = module()
    first.init_params()
    args, states = first.get_params()
    of, to = (
        next(n for n in each if "gamma" in n) for each in (args, module().symbol.list_arguments())
    )
    assert of != to
    for call in (
        lambda m: m.set_params(args, states),
        lambda m: m.init_params(arg_params=args, aux_params=states),
    ):
        other = module()
        said = r"The values have '(\w+?)\d+_\w+' for '\1\d+_\w+': names that nobody gives .* name="
        with pytest.raises(ArgumentError, match=said):
            call(other)


def test_other_names_are_listed():
    made = module("fc")
    with pytest.raises(ArgumentError, match=r"The values have 'one', 'two'$"):
        made.set_params({"one": mx.nd.ones(1), "two": mx.nd.ones(1)}, {})
    with pytest.raises(ArgumentError, match=r"arg_params and aux_params$"):
        made.set_params({}, {})


def test_long_lists_end_behind_a_name():
    names = [f"name{i}" for i in range(60)]
    text = listed(names)
    shown, _, more = text.rpartition(" and ")
    assert len(text) < 220 and shown.split(", ") == [repr(n) for n in names[: shown.count(",") + 1]]
    assert more == f"{60 - shown.count(',') - 1} more"
    assert listed(["a" * 190]) == repr("a" * 190) and listed([]) == ""
    assert listed(["a" * 190, "b" * 20]).endswith("' and 1 more")


@pytest.mark.parametrize("shape", [(32, 4), (7,), (415,), (1,)])
def test_fused_rnn_of_another_array(shape):
    init = mx.init.FusedRNN("ones", num_hidden=8, num_layers=1, mode="lstm")
    said = r"FusedRNN: 'enc_proj_weight' has the shape .* of lstm cells with num_hidden=8, num_lay"
    with pytest.raises(ArgumentError, match=said):
        init("enc_proj_weight", mx.nd.zeros(shape))


def test_fused_rnn_of_the_smallest_array():
    init = mx.init.FusedRNN("ones", num_hidden=8, num_layers=1, mode="lstm")
    array = mx.nd.zeros(32 * (1 + 8 + 2))
    init("lstm_weight", array)
    assert array.asnumpy().any()
