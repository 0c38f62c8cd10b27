"""Trains a small GPT on a text, in the tokens of a byte pair encoding, and lets it write."""

import logging
import math
import sys
from pathlib import Path

import numpy as np

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon.model_zoo import text

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common
import tokens

TEXT = common.FOLDER / "data" / "text.txt"


def windows(numbers, length):
    """Pairs (tokens, next tokens) of `length` each, one behind the other."""
    count = (len(numbers) - 1) // length
    x = numbers[: count * length].reshape(count, length)
    return gluon.data.ArrayDataset(x, numbers[1 : count * length + 1].reshape(count, length))


def perplexity(net, loss, batches, tokens_a_word):
    """The perplexity: the number of words among which the network chooses, on average."""
    total = mx.metric.Loss()
    for x, y in batches:
        total.update(None, loss(net(x), y))
    return math.exp(total.get()[1] * tokens_a_word)


def main(argv=None):
    """Train, or with ``--prompt`` continue a text; returns the perplexity or the text."""
    parser = common.parser(__doc__, without=["workers"], epochs=20, batch_size=16, lr=0.006)
    parser.add_argument("--text", default=str(TEXT), help="a file of sentences, one a line")
    parser.add_argument("--vocabulary", type=common.positive, default=400, help="tokens to learn")
    parser.add_argument("--length", type=common.positive, default=64, help="tokens of a sample")
    parser.add_argument("--units", type=common.positive, default=64, help="width of the layers")
    parser.add_argument("--layers", type=common.positive, default=2, help="number of layers")
    parser.add_argument("--heads", type=common.positive, default=4, help="heads of each attention")
    parser.add_argument("--prompt", metavar="TEXT", help="do not train, continue this text")
    parser.add_argument("--temperature", type=float, default=0.8, help="of the drawn tokens")
    args = parser.parse_args(argv)
    if args.units % args.heads:
        parser.error(f"--units: {args.units} is not a multiple of --heads {args.heads}")
    if not Path(args.text).is_file():
        parser.error(f"--text: there is no file {args.text}")
    ctx = common.start(args)
    file, weights = Path(args.out) / "gpt-tokenizer.json", f"{args.out}/gpt.params"

    def network(vocabulary):
        return text.GPT2(
            vocabulary, args.units, args.layers, args.heads, max_length=4 * args.length, dropout=0.1
        )

    if args.prompt is not None:
        tokenizer = tokens.load(file, "--prompt: train first, with the same --out")
        net = network(tokenizer.get_vocab_size())
        net.load_parameters(weights, ctx=ctx)
        return write(net, tokenizer, args.prompt, args)
    lines = Path(args.text).read_text().splitlines(keepends=True)
    tokenizer = tokens.train("bpe", lines, args.vocabulary, file)
    numbers = np.array(tokenizer.encode("".join(lines)).ids, np.float32)
    per_word = len(numbers) / sum(len(line.split()) + 1 for line in lines)
    logging.info(
        "%d tokens, %.2f a word; %s", len(numbers), per_word, tokens.shown(tokenizer, lines[0])
    )
    train, val = np.split(numbers, [len(numbers) * 9 // 10])
    batches, held = (
        gluon.data.DataLoader(windows(part, args.length), args.batch_size, shuffle=shuffle)
        for part, shuffle in ((train, True), (val, False))
    )
    net = network(tokenizer.get_vocab_size())
    net.initialize(mx.init.Xavier(), ctx=ctx)
    if not args.eager:
        net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    steps = args.epochs * len(batches)
    schedule = mx.lr_scheduler.CosineScheduler(
        steps, args.lr, final_lr=args.lr / 20, warmup_steps=min(20, steps // 2)
    )
    settings = {"learning_rate": args.lr, "lr_scheduler": schedule, "wd": 0.01}
    trainer = gluon.Trainer(net.collect_params(), "adamw", settings, clip_global_norm=1.0)
    history = common.History("perplexity", "validation", left=2)
    for _ in range(args.epochs):
        total = mx.metric.Loss()
        for x, y in common.progress(batches, "epoch"):
            x, y = x.as_in_context(ctx), y.as_in_context(ctx)
            with autograd.record():
                each = loss(net(x), y)
            each.backward()
            trainer.step(len(x))
            total.update(None, each)
        history.add(math.exp(total.get()[1] * per_word), perplexity(net, loss, held, per_word))
    history.plot(f"{args.out}/gpt.png")
    net.save_parameters(weights)
    write(net, tokenizer, "the old", args)
    return history.rows[-1][1]


def write(net, tokenizer, prompt, args):
    """The prompt and what the network adds to it, up to the end of the line."""
    found = tokenizer.encode(prompt).ids
    more = text.generate(
        net,
        found,
        min(60, net.max_length - len(found)),
        temperature=args.temperature,
        top_p=0.95,
        stop=tokenizer.token_to_id("Ċ"),  # the end of a line, as byte pair encodings write it
    )
    written = tokenizer.decode([*found, *more])
    logging.info("%s", written)
    return written


if __name__ == "__main__":
    main()
