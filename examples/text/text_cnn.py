"""Tells praise from blame: convolutions over the words of a review, by Symbol and Module."""

import collections
import json
import logging
import sys
from pathlib import Path

import numpy as np
import reviews

import cynet as mx

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common


def convolutional(words, length, size, filters):
    """Filters over 3, 4 and 5 words, of each of which the largest value counts."""
    data = mx.sym.Variable("data")  # (N, length), numbers of words
    vectors = mx.sym.Embedding(data, input_dim=words, output_dim=size, name="vectors")
    image = mx.sym.expand_dims(vectors, axis=1)  # (N, 1, length, size)
    largest = []
    for width in (3, 4, 5):
        found = mx.sym.Convolution(
            image, kernel=(width, size), num_filter=filters, name=f"width{width}"
        )
        largest.append(mx.sym.max(mx.sym.relu(found), axis=(2, 3)))
    net = mx.sym.Dropout(mx.sym.concat(*largest, dim=1), p=0.3)
    net = mx.sym.FullyConnected(net, num_hidden=2, name="out")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def bag_of_words(words):
    """A network of word counts and a linear layer."""
    data = mx.sym.Variable("data")
    counts = mx.sym.sum(mx.sym.one_hot(data, depth=words), axis=1)
    net = mx.sym.FullyConnected(counts, num_hidden=2, name="out")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def numbers(texts, vocabulary, length):
    """Texts as an array (N, length) of numbers of words; 1 is padding, what is longer is cut."""
    out = np.ones((len(texts), length), np.float32)
    for row, text in zip(out, texts):
        found = vocabulary.to_indices(text.split()[:length])
        row[: len(found)] = found
    return out


def predict(args):
    """The chance that a text is praise, as the saved network sees it."""
    prefix = Path(args.out) / args.name
    try:
        saved = json.loads(prefix.with_suffix(".json").read_text())
        predictor = mx.Predictor(str(prefix), shapes={"data": (saved["length"],)})
    except (OSError, mx.base.MXNetError) as error:
        raise SystemExit(f"--predict: train first, with the same --out: {error}") from None
    known = {word: number for number, word in enumerate(saved["words"])}
    row = np.ones((1, saved["length"]), np.float32)
    for i, word in enumerate(args.predict.lower().split()[: saved["length"]]):
        row[0, i] = known.get(word, 0)
    with predictor:
        chance = float(predictor(row)[0][1])
    logging.info("%.3f praise: %s", chance, args.predict)
    return chance


def main(argv=None):
    """Train; returns the validation accuracy, or with ``--predict`` the chance of praise."""
    parser = common.parser(__doc__, without=["workers", "eager"], epochs=8, lr=0.003)
    parser.add_argument("--text", metavar="FILE", help="lines of a label, 0 or 1, and a text")
    parser.add_argument("--samples", type=common.positive, default=4000, help="reviews to make up")
    parser.add_argument("--size", type=common.positive, default=16, help="numbers of a word")
    parser.add_argument("--filters", type=common.positive, default=32, help="filters of a width")
    parser.add_argument("--plain", action="store_true", help="a linear map of the words' counts")
    parser.add_argument("--predict", metavar="TEXT", help="do not train, judge this text")
    args = parser.parse_args(argv)
    args.name = "bag-of-words" if args.plain else "text-cnn"
    ctx = common.start(args)
    if args.predict is not None:
        return predict(args)
    try:
        texts, labels = (
            reviews.read(args.text)
            if args.text
            else reviews.sentences(args.samples, np.random.default_rng(args.seed))
        )
    except (OSError, ValueError) as error:
        parser.error(f"--text: {error}")
    counts = collections.Counter(word for text in texts for word in text.split())
    vocabulary = mx.contrib.text.vocab.Vocabulary(counts, reserved_tokens=["<pad>"])
    length = max(5, *(len(text.split()) for text in texts))  # 5: the widest filter
    logging.info("%d texts, %d different words", len(texts), len(vocabulary))
    rows = numbers(texts, vocabulary, length)
    held_back = np.arange(len(rows)) % 5 == 4
    train = mx.io.NDArrayIter(rows[~held_back], labels[~held_back], args.batch_size, shuffle=True)
    val = mx.io.NDArrayIter(rows[held_back], labels[held_back], args.batch_size)
    network = (
        bag_of_words(len(vocabulary))
        if args.plain
        else convolutional(len(vocabulary), length, args.size, args.filters)
    )
    module = mx.mod.Module(network, context=ctx)
    history = module.fit(
        train,
        eval_data=val,
        eval_metric=["acc", "ce"],
        num_epoch=args.epochs,
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": args.lr},
        batch_end_callback=common.bar(-(-train.num_data // args.batch_size)),
    )
    prefix = Path(args.out) / args.name
    common.plot_fit(history, prefix.with_suffix(".png"))
    module.save_checkpoint(str(prefix), args.epochs)
    prefix.with_suffix(".json").write_text(
        json.dumps({"length": length, "words": vocabulary.idx_to_token})
    )
    accuracy = history.metrics["Validation-accuracy"][-1]
    logging.info("validation accuracy: %.2f %%", 100 * accuracy)
    return accuracy


if __name__ == "__main__":
    main()
