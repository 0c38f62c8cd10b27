"""Forecasts the next day of an hourly series by an LSTM; compared with the same hours before."""

import csv
import logging
import sys
from pathlib import Path

import numpy as np

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn, rnn

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common

DAY, WEEK = 24, 7 * 24


def demand(weeks, rng):
    """A load curve made up: days, weeks, a slow rise, noise that lasts for some hours."""
    hours = np.arange(weeks * WEEK)
    of_day, weekend = hours % DAY, hours % WEEK >= 5 * DAY
    morning = np.exp(-((of_day - 8) ** 2) / 8) * np.where(weekend, 0.3, 1.0)
    evening = np.exp(-((of_day - 19) ** 2) / 10)
    weather = np.zeros(len(hours))
    for i, step in enumerate(rng.normal(scale=0.06, size=len(hours))):
        weather[i] = 0.97 * weather[i - 1] + step
    level = 3 - 0.6 * weekend + 0.3 * hours / len(hours)
    return (level + 1.2 * morning + 1.6 * evening + weather).astype(np.float32)


def column(path, name):
    """The numbers of a column of a CSV file with a header."""
    with open(path, newline="") as file:
        rows = csv.DictReader(file)
        if name not in (rows.fieldnames or ()):
            raise ValueError(f"there is no column {name!r}, but {rows.fieldnames}")
        return np.array([float(row[name]) for row in rows], np.float32)


class Forecaster(gluon.HybridBlock):
    """Features (N, context, features) of the past to `ahead` values."""

    def __init__(self, size, ahead, features, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.lstm = rnn.LSTM(size, layout="NTC", input_size=features)
            self.out = nn.Dense(ahead, in_units=size)

    def hybrid_forward(self, F, x):
        states = self.lstm(x)
        return self.out(F.squeeze(F.slice_axis(states, axis=1, begin=-1, end=None), axis=1))


def features(series):
    """The series beside the hours of the day and of the week, as points on circles: (hours, 5)."""
    hours = np.arange(len(series))
    angles = [2 * np.pi * hours / period for period in (DAY, WEEK)]
    circles = [wave(angle) for angle in angles for wave in (np.sin, np.cos)]
    return np.stack([series, *circles], axis=1).astype(np.float32)


def windows(series, context, ahead, begins):
    """(past, future, level) from each of `begins` on: (N, context, 5), (N, ahead) and (N, 1).

    Past and future are given as differences from the level, which is the mean of the past.
    """
    table = features(series)
    past = np.stack([table[i : i + context] for i in begins])
    future = np.stack([series[i + context : i + context + ahead] for i in begins])
    level = past[:, :, 0].mean(axis=1, keepdims=True)
    past[:, :, 0] -= level
    return past, future - level, level


def draw(path, series, begins, context, forecasts, unit):
    """The last two weeks that were forecast, day after day."""
    pyplot = common.matplotlib_or_word("picture")
    if pyplot is None:
        return
    figure, axis = pyplot.subplots(figsize=(11, 4), layout="constrained")
    shown = list(zip(begins, forecasts))[-14:]
    first, last = shown[0][0] + context, shown[-1][0] + context + len(forecasts[0])
    axis.plot(
        range(first, last), series[first:last] * unit[1] + unit[0], color="gray", label="seen"
    )
    for number, (begin, values) in enumerate(shown):
        hours = range(begin + context, begin + context + len(values))
        label = None if number else "forecast at the day's begin"
        axis.plot(hours, values * unit[1] + unit[0], color="crimson", label=label)
    axis.set(xlabel="hour", title="days that were not trained on")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(path, dpi=100, format="png")
    pyplot.close(figure)
    logging.info("picture: %s", path)


def main(argv=None):
    """Train; returns the mean absolute errors of the network, of the day and of the week before."""
    parser = common.parser(__doc__, without=["workers"], epochs=6, lr=0.005)
    parser.add_argument("--csv", metavar="FILE", help="hourly values of yours, with a header")
    parser.add_argument("--column", default="value", help="column of --csv")
    parser.add_argument("--weeks", type=common.positive, default=30, help="weeks to make up")
    parser.add_argument("--context", type=common.positive, default=72, help="hours it looks back")
    parser.add_argument("--ahead", type=common.positive, default=DAY, help="hours to forecast")
    parser.add_argument("--size", type=common.positive, default=48, help="of the LSTM's state")
    args = parser.parse_args(argv)
    try:
        series = (
            column(args.csv, args.column)
            if args.csv
            else demand(args.weeks, np.random.default_rng(args.seed))
        )
    except (OSError, ValueError) as error:
        parser.error(f"--csv: {error}")
    ctx = common.start(args)
    split = len(series) * 4 // 5
    # forecasts of the last fifth, a day apart; a week before each is needed for comparison
    begins = range(
        max(split, WEEK) - args.context, len(series) - args.context - args.ahead + 1, DAY
    )
    if split < args.context + args.ahead + WEEK or not len(begins) or begins[0] < 0:
        parser.error(f"--context {args.context}: {len(series)} hours are too few")
    mean, spread = series[:split].mean(), series[:split].std()
    scaled = (series - mean) / spread
    logging.info("%d hours to train on, %d to forecast", split, len(begins) * args.ahead)
    past, future, _ = windows(
        scaled, args.context, args.ahead, range(split - args.context - args.ahead + 1)
    )
    loader = gluon.data.DataLoader(
        gluon.data.ArrayDataset(past, future), args.batch_size, shuffle=True
    )
    unseen, truth, level = windows(scaled, args.context, args.ahead, begins)
    unseen = mx.nd.array(unseen, ctx=ctx)
    net = Forecaster(args.size, args.ahead, past.shape[2])
    net.initialize(mx.init.Xavier(), ctx=ctx)
    if not args.eager:
        net.hybridize()
    loss = gluon.loss.HuberLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    history = common.History("loss", "absolute error")
    for _ in range(args.epochs):
        total = mx.metric.Loss()
        for x, y in common.progress(loader, "epoch"):
            x, y = x.as_in_context(ctx), y.as_in_context(ctx)
            with autograd.record():
                each = loss(net(x), y)
            each.backward()
            trainer.step(len(x))
            total.update(None, each)
        forecasts = net(unseen).asnumpy()
        history.add(total.get()[1], spread * abs(forecasts - truth).mean())
    forecasts, truth = forecasts + level, truth + level
    errors = [float(history.rows[-1][1])]
    for period in (DAY, WEEK):
        ends = [i + args.context for i in begins]
        before = np.stack([np.resize(scaled[end - period : end], args.ahead) for end in ends])
        errors.append(float(spread * abs(before - truth).mean()))
    folder = Path(args.out)
    draw(folder / "days.png", scaled, list(begins), args.context, forecasts, (mean, spread))
    np.savez(folder / "forecasts.npz", forecasts=forecasts * spread + mean, hours=np.array(begins))
    common.finish(args, "forecaster", net, history, unseen[:1])
    logging.info("absolute error %.3f; of the day before %.3f, of the week before %.3f", *errors)
    return tuple(errors)


if __name__ == "__main__":
    main()
