"""Trains an LSTM that predicts the next word of a text, and writes sentences with it."""

import logging
import math
from pathlib import Path

import common
import numpy as np
from common import positive

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn, rnn

TEXT = common.FOLDER / "data" / "text.txt"


class Model(gluon.HybridBlock):
    """Words (T, N) and states to scores (T, N, words) and new states."""

    def __init__(self, words, size, layers, dropout, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embed = nn.Embedding(words, size)
            self.lstm = rnn.LSTM(size, layers, dropout=dropout, input_size=size)
            self.drop = nn.Dropout(dropout)
            self.out = nn.Dense(words, flatten=False, in_units=size)

    def hybrid_forward(self, F, x, states):
        x, states = self.lstm(self.drop(self.embed(x)), states)
        return self.out(self.drop(x)), states


def read(path):
    """(words by number, text as numbers); a line's end is the word <eos>."""
    with open(path) as file:
        words = [word for line in file for word in [*line.split(), "<eos>"]]
    known = sorted(set(words))
    numbers = {word: i for i, word in enumerate(known)}
    return known, np.array([numbers[word] for word in words])


def batches(text, batch_size, steps):
    """Pairs (words, next words), (steps, batch_size) each, every column a stretch of the text."""
    columns = text[: len(text) // batch_size * batch_size].reshape(batch_size, -1).T
    for i in range(0, len(columns) - 1 - steps, steps):
        yield columns[i : i + steps], columns[i + 1 : i + 1 + steps]


def detached(states):
    return [each.detach() for each in states]


def perplexity(net, loss, text, steps, ctx):
    """How many words a text leaves open at each place, as if all were equally likely."""
    states, total = net.lstm.begin_state(4, ctx=ctx), mx.metric.Loss()
    for x, y in batches(text, 4, steps):
        scores, states = net(mx.nd.array(x, ctx=ctx), states)
        total.update(None, loss(scores, mx.nd.array(y, ctx=ctx)))
    return math.exp(total.get()[1])


def write(net, known, ctx, count=30):
    """Words that the model draws, one after the other."""
    states = net.lstm.begin_state(1, ctx=ctx)
    word, text = known.index("<eos>"), []
    for _ in range(count):
        scores, states = net(mx.nd.array([[word]], ctx=ctx), states)
        chances = mx.nd.softmax(scores[0, 0]).asnumpy().astype(float)
        word = np.random.choice(len(known), p=chances / chances.sum())
        text.append(known[word])
    return " ".join(text).replace("<eos>", "/")


def main(argv=None):
    """Train; returns the last perplexity of the words that are held back."""
    parser = common.parser(__doc__, epochs=6, batch_size=20, lr=0.005)
    parser.add_argument("--text", default=str(TEXT), help="a file of sentences, one a line")
    parser.add_argument("--steps", type=positive, default=20, help="words of a backward pass")
    parser.add_argument("--size", type=positive, default=64, help="of words' vectors and states")
    parser.add_argument("--layers", type=positive, default=2, help="layers of the LSTM")
    parser.add_argument("--dropout", type=float, default=0.2, help="probability of dropout")
    args = parser.parse_args(argv)
    if not Path(args.text).is_file():
        parser.error(f"--text: there is no file {args.text}")
    ctx = common.start(args)
    known, text = read(args.text)
    train, val = np.split(text, [len(text) * 9 // 10])
    logging.info("%d words, %d different ones", len(text), len(known))
    net = Model(len(known), args.size, args.layers, args.dropout)
    net.initialize(mx.init.Xavier(), ctx=ctx)
    if not args.eager:
        net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    params = [each for each in net.collect_params().values() if each.grad_req != "null"]
    history = common.History("perplexity", "validation", left=2)
    for _ in range(args.epochs):
        states, total = net.lstm.begin_state(args.batch_size, ctx=ctx), mx.metric.Loss()
        for x, y in common.progress([*batches(train, args.batch_size, args.steps)], "epoch"):
            x, y, states = mx.nd.array(x, ctx=ctx), mx.nd.array(y, ctx=ctx), detached(states)
            with autograd.record():
                scores, states = net(x, states)
                each = loss(scores, y)
            each.backward()
            gluon.utils.clip_global_norm([p.grad(ctx) for p in params], 0.5 * args.steps)
            trainer.step(args.steps)
            total.update(None, each)
        history.add(math.exp(total.get()[1]), perplexity(net, loss, val, args.steps, ctx))
    history.plot(f"{args.out}/language.png")
    net.save_parameters(f"{args.out}/language.params")
    logging.info("%s", write(net, known, ctx))
    logging.info(
        "use it: from word_language_model import Model; net = Model(%d, %d, %d, 0);"
        " net.load_parameters('%s/language.params')",
        len(known),
        args.size,
        args.layers,
        args.out,
    )
    return history.rows[-1][1]


if __name__ == "__main__":
    main()
