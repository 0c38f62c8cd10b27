"""Tells praise from blame: a BERT of two layers over the WordPiece tokens of a review."""

import logging
import sys
from pathlib import Path

import numpy as np

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon.model_zoo import text

sys.path += [str(Path(__file__).parents[1] / each) for each in ("gluon", "text")]
import common
import reviews
import tokens


def encoded(tokenizer, texts, length):
    """Tokens (N, length) of texts, and 1 where a token is, 0 where padding."""
    tokenizer.enable_padding(length=length)
    tokenizer.enable_truncation(length)
    found = tokenizer.encode_batch(texts)
    return tuple(
        np.array([getattr(each, name) for each in found], np.float32)
        for name in ("ids", "attention_mask")
    )


def accuracy(net, batches):
    """Share of the texts whose class is the likeliest one."""
    metric = mx.metric.Accuracy()
    for x, mask, y in batches:
        metric.update(y, net(x, None, mask))
    return metric.get()[1]


def main(argv=None):
    """Train; returns the validation accuracy, or with ``--predict`` the chance of praise."""
    parser = common.parser(__doc__, without=["workers"], epochs=14, batch_size=32, lr=0.001)
    parser.add_argument("--text", metavar="FILE", help="lines of a label, 0 or 1, and a text")
    parser.add_argument("--samples", type=common.positive, default=8000, help="reviews to make up")
    parser.add_argument("--vocabulary", type=common.positive, default=200, help="tokens to learn")
    parser.add_argument("--length", type=common.positive, default=32, help="tokens of a text")
    parser.add_argument("--predict", metavar="TEXT", help="do not train, judge this text")
    args = parser.parse_args(argv)
    ctx = common.start(args)
    file, weights = Path(args.out) / "classify-tokenizer.json", f"{args.out}/classify.params"

    def network(vocabulary):
        sizes = {"units": 48, "num_layers": 2, "num_heads": 4, "hidden_size": 96, "dropout": 0.0}
        return text.BERT(vocabulary, max_length=args.length, classes=2, **sizes)

    if args.predict is not None:
        tokenizer = tokens.load(file, "--predict: train first, with the same --out")
        net = network(tokenizer.get_vocab_size())
        net.load_parameters(weights, ctx=ctx)
        x, mask = (
            mx.nd.array(each, ctx) for each in encoded(tokenizer, [args.predict], args.length)
        )
        chance = mx.nd.softmax(net(x, None, mask))[0, 1].asscalar()
        logging.info("%.3f praise: %s", chance, args.predict)
        return chance
    try:
        texts, labels = (
            reviews.read(args.text)
            if args.text
            else reviews.sentences(args.samples, np.random.default_rng(args.seed))
        )
    except (OSError, ValueError) as error:
        parser.error(f"--text: {error}")
    tokenizer = tokens.train("wordpiece", texts, args.vocabulary, file)
    logging.info("%d texts; %s", len(texts), tokens.shown(tokenizer, texts[0]))
    rows = gluon.data.ArrayDataset(*encoded(tokenizer, texts, args.length), labels)
    return train(args, ctx, network(tokenizer.get_vocab_size()), rows, weights)


def train(args, ctx, net, rows, weights):
    """Train on four fifths of the rows; the accuracy on the others."""
    parts = gluon.data.random_split(rows, [0.8, 0.2])
    batches, held = (
        gluon.data.DataLoader(part, args.batch_size, shuffle=shuffle)
        for part, shuffle in zip(parts, (True, False))
    )
    net.initialize(mx.init.Xavier(), ctx=ctx)
    if not args.eager:
        net.hybridize()
    loss = gluon.loss.SoftmaxCELoss(label_smoothing=0.05)
    settings = {"learning_rate": args.lr, "wd": 0.01}
    trainer = gluon.Trainer(net.collect_params(), "adamw", settings, clip_global_norm=1.0)
    history = common.History("loss", "accuracy")
    for _ in range(args.epochs):
        total = mx.metric.Loss()
        for batch in common.progress(batches, "epoch"):
            x, mask, y = (each.as_in_context(ctx) for each in batch)
            with autograd.record():
                each = loss(net(x, None, mask), y)
            each.backward()
            trainer.step(len(x))
            total.update(None, each)
        history.add(total.get()[1], accuracy(net, held))
    history.plot(f"{args.out}/classify.png")
    net.save_parameters(weights)
    logging.info("validation accuracy: %.2f %%", 100 * history.rows[-1][1])
    return history.rows[-1][1]


if __name__ == "__main__":
    main()
