"""Balances a pole by a deep Q-network, which learns from remembered steps what a push is worth."""

import logging
import sys
from pathlib import Path

import cart_pole
import numpy as np

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common

SCALE = np.array([1 / 2.4, 0.5, 5, 0.5], np.float32)  # network's input = state * SCALE
WORTH = 50  # scale of the values of actions: at most 1 / (1 - gamma)


def worths(width):
    """The values of both pushes (N, 2), in units of WORTH, for states (N, 4)."""
    net = nn.HybridSequential()
    net.add(nn.Dense(width, activation="relu"), nn.Dense(width, activation="relu"), nn.Dense(2))
    return net


class Memory:
    """The last `size` steps: states, pushes, states reached, failures; any of them at random."""

    def __init__(self, size, rng):
        self._rng = rng
        self._size, self._count = size, 0
        self._columns = None

    def add(self, *columns):
        """Note a step of each cart."""
        if self._columns is None:
            self._columns = [np.empty((self._size, *x.shape[1:]), np.float32) for x in columns]
        rows = np.arange(self._count, self._count + len(columns[0])) % self._size
        for kept, new in zip(self._columns, columns):
            kept[rows] = new
        self._count += len(rows)

    def draw(self, count):
        """`count` steps, as arrays."""
        rows = self._rng.integers(min(self._count, self._size), size=count)
        return [kept[rows] for kept in self._columns]


def main(argv=None):
    """Train; returns the mean length of episodes of the trained network."""
    parser = common.parser(__doc__, without=["workers", "epochs"], lr=0.001, batch_size=128)
    parser.add_argument("--steps", type=common.positive, default=6000, help="steps of each cart")
    parser.add_argument("--carts", type=common.positive, default=8, help="carts at once")
    parser.add_argument("--memory", type=common.positive, default=50_000, help="steps remembered")
    parser.add_argument(
        "--follow", type=float, default=0.005, help="how fast the old network follows the new one"
    )
    parser.add_argument("--width", type=common.positive, default=64, help="of the hidden layers")
    parser.add_argument("--gamma", type=float, default=0.99, help="what the next step counts")
    parser.add_argument(
        "--random", type=float, default=0.05, help="share of random pushes, in the end"
    )
    args = parser.parse_args(argv)
    ctx = common.start(args)
    logging.info("%d carts, %d steps of each", args.carts, args.steps)
    rng = np.random.default_rng(args.seed)
    carts, memory = cart_pole.CartPoles(args.carts, rng), Memory(args.memory, rng)
    net, old = worths(args.width), worths(args.width)
    example = mx.nd.array(carts.states * SCALE, ctx=ctx)
    for each in (net, old):
        each.initialize(mx.init.Xavier(), ctx=ctx)
        each(example)
        if not args.eager:
            each.hybridize()
    weights = [[p.data(ctx) for p in each.collect_params().values()] for each in (net, old)]

    def look(network, states):
        return network(mx.nd.array(states * SCALE, ctx=ctx))

    rates = mx.lr_scheduler.PolyScheduler(args.steps, base_lr=args.lr, pwr=1)  # falls to 0
    trainer = gluon.Trainer(net.collect_params(), "adam", {"lr_scheduler": rates})
    loss = gluon.loss.HuberLoss(rho=0.1)
    every = max(1, args.steps // 20)
    history = common.History("training", "evaluation", "loss", left=2, unit="step", every=every)
    seen, total, best_length, best_weights = 0, mx.metric.Loss(), 0, None

    def act(states):
        return look(net, states).asnumpy().argmax(axis=1)

    for step in common.progress(range(1, args.steps + 1), "step"):
        share = max(args.random, 1 - 5 * step / args.steps)
        states = carts.states
        tried = rng.integers(2, size=args.carts)
        pushes = np.where(rng.random(args.carts) < share, tried, act(states))
        reached, failed, _ = carts.step(pushes)
        memory.add(states, pushes, reached, failed)
        states, pushes, reached, failed = memory.draw(args.batch_size)
        # double Q-learning: the network says which push is best, the old one what it is worth
        best, ahead = look(net, reached).argmax(axis=1), look(old, reached)
        ahead = mx.nd.pick(ahead, best) * mx.nd.array(1 - failed, ctx=ctx)
        targets = 1 / WORTH + args.gamma * ahead
        with autograd.record():
            found = mx.nd.pick(look(net, states), mx.nd.array(pushes, ctx=ctx))
            each = loss(found, targets)
        each.backward()
        trainer.step(args.batch_size)
        total.update(None, each)
        for new, kept in zip(*weights):
            kept += args.follow * (new - kept)
        if step % every == 0:
            lengths = carts.finished[seen:] or [cart_pole.LONGEST]
            seen = len(carts.finished)
            now = cart_pole.evaluate(act, rng)[0].mean()
            history.add(np.mean(lengths), now, total.get()[1])
            total.reset()
            if share > args.random:  # earlier results depend on luck
                continue
            if now > best_length:  # Q-learning gets worse now and then
                best_length, best_weights = now, [each.copy() for each in weights[0]]
            if now == cart_pole.LONGEST:
                break
    for kept, each in zip(best_weights, weights[0]):
        kept.copyto(each)
    lengths, path = cart_pole.evaluate(act, rng)
    folder = Path(args.out)
    pyplot = common.matplotlib_or_word("picture")
    if pyplot is not None:
        cart_pole.draw(folder / "balance-dqn.png", carts.finished, path, pyplot)
        logging.info("picture: %s", folder / "balance-dqn.png")
    common.finish(args, "dqn", net, history, example)
    logging.info("steps of %d episodes after training: %.1f", len(lengths), lengths.mean())
    return float(lengths.mean())


if __name__ == "__main__":
    main()
