"""An LSTM that predicts the next word; sentences of similar length share a batch, by buckets."""

import json
import logging
import math
import random
import sys
from pathlib import Path

import numpy as np

import cynet as mx

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common

TEXT = common.FOLDER / "data" / "text.txt"
END = "<eos>"


def network(words, size, layers, dropout):
    """A function of a length: the graph, the names of its inputs and those of its labels."""
    stack = mx.rnn.SequentialRNNCell()
    for layer in range(layers):
        stack.add(mx.rnn.LSTMCell(size, prefix=f"lstm{layer}_"))
        if dropout and layer + 1 < layers:
            stack.add(mx.rnn.DropoutCell(dropout))

    def graph(length):
        data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
        vectors = mx.sym.Embedding(data, input_dim=words, output_dim=size, name="vectors")
        stack.reset()
        outputs, _ = stack.unroll(length, vectors, layout="NTC", merge_outputs=True)
        net = mx.sym.reshape(outputs, shape=(-1, size))
        net = mx.sym.FullyConnected(net, num_hidden=words, name="out")
        labels = mx.sym.reshape(label, shape=(-1,))
        # 0 is padding, which has no part in the gradient
        net = mx.sym.SoftmaxOutput(
            net, labels, use_ignore=True, ignore_label=0, normalization="valid", name="softmax"
        )
        return net, ("data",), ("softmax_label",)

    return graph


def unigram_perplexity(train, val, words):
    """The perplexity of `val` where only the words' frequencies in `train` are known."""
    counts = np.bincount(np.concatenate(train), minlength=words) + 1.0
    chances = counts / counts.sum()
    return math.exp(-np.log(chances[np.concatenate([each[1:] for each in val])]).mean())


def complete(module, numbers, begin, maximum=20):
    """Words after `begin`, each the one that the network finds most likely."""
    words = {number: word for word, number in numbers.items()}
    text = [numbers[word] for word in begin.split()]
    while len(text) < maximum and words[text[-1]] != END:
        row = mx.nd.array([text])
        batch = mx.io.DataBatch(
            [row],
            [row],  # the graph has an input for labels; what is in it has no part in the outputs
            bucket_key=len(text),
            provide_data=[("data", row.shape)],
            provide_label=[("softmax_label", row.shape)],
        )
        module.forward(batch, is_train=False)
        text.append(int(module.get_outputs()[0].asnumpy()[-1].argmax()))
    return " ".join(words[number] for number in text if words[number] != END)


def main(argv=None):
    """Train; returns the perplexity of the sentences held back, and that of frequencies alone."""
    parser = common.parser(__doc__, without=["workers", "eager"], epochs=6, batch_size=32, lr=0.01)
    parser.add_argument("--text", default=str(TEXT), help="a file of sentences, one a line")
    parser.add_argument("--size", type=common.positive, default=64, help="of vectors and states")
    parser.add_argument("--layers", type=common.positive, default=1, help="layers of the LSTM")
    parser.add_argument("--dropout", type=float, default=0.2, help="between layers")
    parser.add_argument(
        "--buckets", type=common.positive, default=4, help="groups of similar length"
    )
    parser.add_argument("--begin", default="the old", help="words for the network to go on from")
    args = parser.parse_args(argv)
    try:
        lines = Path(args.text).read_text().splitlines()
    except OSError as error:
        parser.error(f"--text: {error}")
    ctx = common.start(args)
    random.seed(args.seed)  # BucketSentenceIter shuffles with `random`
    sentences = [[*line.split(), END] for line in lines if line.strip()]
    sentences, numbers = mx.rnn.encode_sentences(sentences, invalid_label=0, start_label=1)
    unknown = [word for word in args.begin.split() if word not in numbers]
    if unknown or not args.begin.strip():
        parser.error(f"--begin: the text has no word {' '.join(unknown)!r}")
    train, val = sentences[: len(sentences) * 9 // 10], sentences[len(sentences) * 9 // 10 :]
    lengths = [len(each) for each in sentences]
    shares = np.linspace(0, 1, args.buckets + 1)[1:]
    buckets = sorted({math.ceil(each) for each in np.quantile(lengths, shares)})
    train_iter, val_iter = (
        mx.rnn.BucketSentenceIter(part, args.batch_size, buckets=buckets, invalid_label=0)
        for part in (train, val)
    )
    logging.info(
        "%d sentences, %d different words, buckets of %s",
        len(sentences),
        len(numbers) - 1,
        ", ".join(map(str, buckets)),
    )
    module = mx.mod.BucketingModule(
        network(len(numbers), args.size, args.layers, args.dropout),
        default_bucket_key=buckets[-1],
        context=ctx,
    )
    history = module.fit(
        train_iter,
        eval_data=val_iter,
        eval_metric=mx.metric.Perplexity(ignore_label=0),
        num_epoch=args.epochs,
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": args.lr},
        batch_end_callback=common.bar(len(train_iter.idx)),
    )
    prefix = Path(args.out) / "bucketing"
    common.plot_fit(history, prefix.with_suffix(".png"))
    module.save_checkpoint(str(prefix), args.epochs)
    prefix.with_suffix(".json").write_text(json.dumps(numbers))
    logging.info("%s", complete(module, numbers, args.begin))
    perplexity = history.metrics["Validation-perplexity"][-1]
    frequencies = unigram_perplexity(train, val, len(numbers))
    logging.info("perplexity %.2f; by frequencies alone %.2f", perplexity, frequencies)
    return perplexity, frequencies


if __name__ == "__main__":
    main()
