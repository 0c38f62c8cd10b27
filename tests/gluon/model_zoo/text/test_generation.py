"""Continuations of a language model: against one that computes all anew, and all that there are."""

import itertools

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.model_zoo import text


@pytest.fixture
def net(seed):
    net = text.GPT2(6, units=8, num_layers=2, num_heads=2, max_length=10)
    net.initialize(mx.init.Xavier())
    for param in net.collect_params().values():
        param.set_data(mx.nd.random.normal(0, 0.6, shape=param.shape))
    return net


def logs(net, tokens):
    """Logarithms of the chances of the token behind each place, by the whole network."""
    scores = net(mx.nd.array([tokens])).asnumpy()[0].astype(np.float64)
    scores -= scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def test_the_likeliest_token_each_time(net):
    texts = [[1, 2], [3, 4, 5], [5, 5]]
    wanted = []
    for tokens in texts:
        row = list(tokens)
        for _ in range(5):
            row.append(int(logs(net, row)[-1].argmax()))
        wanted.append(row[len(tokens) :])
    assert text.generate(net, texts, 5) == wanted
    assert text.generate(net, mx.nd.array(texts[1]), 5) == wanted[1]
    assert text.generate(net, texts[0], 0) == [] and text.generate(net, [[1], [2]], 0) == [[], []]
    net.hybridize()
    assert text.generate(net, texts, 5) == wanted


def test_a_stop_ends_its_text_alone(net):
    texts = [[1, 2], [5, 5], [4, 0], [2, 2]]
    whole = text.generate(net, texts, 6)
    for stop in range(6):
        wanted = [each[: each.index(stop)] if stop in each else each for each in whole]
        assert text.generate(net, texts, 6, stop=stop) == wanted
        assert text.generate(net, texts, 6, stop=[stop]) == wanted
    assert text.generate(net, texts, 6, stop=list(range(6))) == [[], [], [], []]


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 1.0},
        {"temperature": 0.5},
        {"temperature": 1.0, "top_k": 2},
        {"temperature": 2.0, "top_p": 0.6},
        {"temperature": 2.0, "top_p": 1e-9},
        {"temperature": 1.5, "top_k": 4, "top_p": 0.8},
    ],
)
def test_tokens_are_drawn_by_their_chances(net, settings):
    chances = np.exp(logs(net, [1, 2])[-1] / settings["temperature"])
    order = np.argsort(-chances)
    chances[order[settings.get("top_k", 6) :]] = 0
    chances /= chances.sum()
    before = 0.0
    for token in order:
        chances[token], before = (
            (chances[token] if before < settings.get("top_p", 1) else 0.0),
            before + chances[token],
        )
    chances /= chances.sum()
    count = 4000
    drawn = np.ravel(text.generate(net, [[1, 2]] * count, 1, **settings))
    shares = np.bincount(drawn, minlength=6) / count
    assert (shares[chances == 0] == 0).all()
    assert np.abs(shares - chances).max() < 5 * np.sqrt(0.25 / count)


def test_a_seed_repeats(net):
    found = []
    for seed in (3, 3, 4):
        mx.random.seed(seed)
        found.append(text.generate(net, [[1], [2]], 8, temperature=1.0))
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("stop", [(), (2,), (0, 3)])
def test_as_many_beams_as_there_are_texts_find_the_best(net, stop, penalty):
    """Nothing falls out of 6 * 6 * 6 beams: where none ends early, the best of all is found."""
    length, best = 3, (-np.inf, None)
    for size in range(1, length + 1):
        for tokens in itertools.product(range(6), repeat=size):
            body, last = tokens[:-1], tokens[-1]
            if any(each in stop for each in body) or (size < length and last not in stop):
                continue
            rows = logs(net, [1, *tokens])
            total = sum(rows[i, token] for i, token in enumerate(tokens))
            best = max(best, (total / size**penalty, [*body] if last in stop else [*tokens]))
    found = text.generate(net, [1], length, num_beams=216, length_penalty=penalty, stop=stop)
    assert found == best[1]


def test_steps_continue(net):
    tokens = mx.nd.array([[3, 1, 4, 1, 5], [2, 0, 5, 3, 5]])
    whole, past, parts = net(tokens), None, []
    for start, end in ((0, 2), (2, 3), (3, 5)):
        scores, past = net.step(tokens[:, start:end], past)
        parts.append(scores)
    assert mx.test_utils.almost_equal(mx.nd.concat(*parts, dim=1), whole, rtol=1e-5, atol=1e-6)


def test_later_tokens_do_not_count(net):
    one, two = mx.nd.array([[3, 1, 4, 1, 5]]), mx.nd.array([[3, 1, 4, 0, 0]])
    assert mx.test_utils.same(net(one)[:, :3].asnumpy(), net(two)[:, :3].asnumpy())


@pytest.mark.parametrize(
    "tokens, more, match",
    [
        ([], {}, "tokens must be one int or more"),
        ([[1], []], {}, r"tokens\[1\] must be one int or more"),
        ([[1], [0.5]], {}, r"tokens\[1\] must be one int or more"),
        ([1, 6], {}, "tokens must be from 0 to 5, got 1 to 6"),
        ([[-1]], {}, r"tokens\[0\] must be from 0 to 5"),
        ([1] * 8, {}, "8 tokens, and 3 more exceed the model's max_length 10"),
        ([1], {"length": -1}, "length must be 0 or more"),
        ([1], {"temperature": -1}, "temperature must be a finite number of at least 0"),
        ([1], {"temperature": np.nan}, "temperature must be a finite number"),
        ([1], {"top_k": 0}, "top_k must be an int from 1 on"),
        ([1], {"top_p": 0.0}, "top_p must be a number above 0, up to 1"),
        ([1], {"top_p": 1.5}, "top_p must be a number above 0, up to 1"),
        ([1], {"num_beams": 0}, "num_beams must be an int from 1 on"),
        ([1], {"num_beams": 2, "temperature": 1.0}, "temperature must be 0"),
        ([1], {"stop": "x"}, "stop is a token or a list of tokens"),
    ],
)
def test_bad_input_is_refused(net, tokens, more, match):
    with pytest.raises((mx.errors.ArgumentError, mx.errors.ArgumentTypeError), match=match):
        text.generate(net, tokens, **{"length": 3, **more})


def test_broken_weights_are_refused(net):
    net.norm.gamma.set_data(mx.nd.full((8,), np.nan))
    with pytest.raises(mx.errors.ArgumentError, match="scores are not finite"):
        text.generate(net, [1], 2)


@pytest.mark.parametrize("make", [text.GPT2, text.BERT])
def test_networks_refuse_sizes_and_long_texts(make):
    settings = {"units": 8, "num_layers": 1, "num_heads": 2, "hidden_size": 8, "max_length": 4}
    for name in ("vocab_size", "max_length", "num_layers", "hidden_size", "units"):
        given = {"vocab_size": 9, **settings, name: 0}
        with pytest.raises(mx.errors.ArgumentError, match=name.removeprefix("max_")):
            make(**given)
    with pytest.raises(mx.errors.ArgumentError, match="multiple of num_heads"):
        make(9, **{**settings, "units": 9})
    net = make(9, **settings)
    net.initialize()
    for hybrid in (False, True):
        if hybrid:
            net.hybridize()
        for shape in ((1, 5), (4,), (1, 2, 2)):
            with pytest.raises(mx.errors.ArgumentError, match="up to max_length 4"):
                net(mx.nd.zeros(shape))


@pytest.mark.parametrize("make", [text.GPT2, text.BERT])
def test_networks_train(make, seed):
    more = {"classes": 6, "dropout": 0.0} if make is text.BERT else {"dropout": 0.0}
    net = make(6, units=16, num_layers=1, num_heads=2, hidden_size=16, max_length=6, **more)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    tokens = mx.nd.array(np.random.default_rng(0).integers(0, 6, (16, 6)))
    label = tokens[:, 0] if make is text.BERT else (tokens * 1)
    loss, losses = mx.gluon.loss.SoftmaxCELoss(), []
    for _ in range(60):
        with mx.autograd.record():
            value = loss(net(tokens), label)
        value.backward()
        trainer.step(16)
        losses.append(value.mean().asscalar())
    assert losses[-1] < 0.1 * losses[0]
