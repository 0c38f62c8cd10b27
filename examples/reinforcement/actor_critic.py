"""Balances a pole by an actor-critic, trained by proximal policy optimization (PPO)."""

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
WORTH = 50  # scale of the values of states: at most 1 / (1 - gamma)


class ActorCritic(gluon.HybridBlock):
    """States (N, 4) to the logits of both pushes (N, 2) and to the states' values (N,)."""

    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.actor = nn.HybridSequential()
            self.actor.add(nn.Dense(width, activation="tanh"), nn.Dense(2))
            self.critic = nn.HybridSequential()
            self.critic.add(nn.Dense(width, activation="tanh"), nn.Dense(1))

    def hybrid_forward(self, F, states):
        return self.actor(states), WORTH * F.reshape(self.critic(states), shape=(-1,))


class Losses(gluon.HybridBlock):
    """The loss of steps: of the policy, clipped, and of the values, less the policy's entropy.

    A push's chance may change by a share of `clip` from what it was when the push was made:
    beyond that there is no gradient, so steps can be trained on several times.
    """

    def __init__(self, net, clip, entropy, **kwargs):
        super().__init__(**kwargs)
        self.net = net
        self._clip, self._entropy = clip, entropy

    def hybrid_forward(self, F, states, pushes, before, advantages, returns):
        logits, values = self.net(states)
        logs = F.log_softmax(logits)
        ratio = F.exp(F.pick(logs, pushes) - before)
        clipped = F.clip(ratio, 1 - self._clip, 1 + self._clip)
        gain = F.minimum(ratio * advantages, clipped * advantages)
        entropy = -F.sum(F.exp(logs) * logs, axis=1)
        critic = F.square((values - returns) / WORTH)
        return critic - gain - self._entropy * entropy


def advantages(values, last, failed, cut, beyond, gamma, lam):
    """Generalized advantage estimates (steps, carts) of rewards of 1.

    Parameters
    ----------
    values : array (steps, carts)
        The critic's, of the states that were acted on.
    last : array (carts,)
        Of the states after the last step.
    failed, cut : arrays (steps, carts) of bool
        How episodes ended.
    beyond : array (steps, carts)
        Values of the states reached, for the episodes that were cut there.
    """
    out, running = np.zeros_like(values), np.zeros_like(last)
    for t in reversed(range(len(values))):
        reached = np.where(failed[t], 0, np.where(cut[t], beyond[t], last))
        running = np.where(failed[t] | cut[t], 0, running)
        running = 1 + gamma * reached - values[t] + gamma * lam * running
        out[t], last = running, values[t]
    return out


def main(argv=None):
    """Train; returns the mean length of episodes of the trained network."""
    parser = common.parser(__doc__, without=["workers", "epochs"], lr=0.003, batch_size=128)
    parser.add_argument("--updates", type=common.positive, default=60, help="updates to train")
    parser.add_argument("--carts", type=common.positive, default=16, help="carts at once")
    parser.add_argument("--steps", type=common.positive, default=64, help="steps of an update")
    parser.add_argument("--passes", type=common.positive, default=4, help="how often each is used")
    parser.add_argument("--width", type=common.positive, default=64, help="of the hidden layers")
    parser.add_argument("--gamma", type=float, default=0.99, help="what the next step counts")
    parser.add_argument("--lam", type=float, default=0.95, help="how far errors are traced back")
    parser.add_argument("--clip", type=float, default=0.2, help="how far a chance may move")
    parser.add_argument("--entropy", type=float, default=0.01, help="reward of trying things out")
    args = parser.parse_args(argv)
    ctx = common.start(args)
    logging.info("%d carts, %d updates of %d steps", args.carts, args.updates, args.steps)
    rng = np.random.default_rng(args.seed)
    carts = cart_pole.CartPoles(args.carts, rng)
    net = ActorCritic(args.width)
    losses = Losses(net, args.clip, args.entropy)
    losses.initialize(mx.init.Xavier(), ctx=ctx)
    if not args.eager:
        losses.hybridize()

    def look(states):
        logits, values = net(mx.nd.array(states * SCALE, ctx=ctx))
        return logits.asnumpy(), values.asnumpy()

    look(carts.states)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    every = max(1, args.updates // 10)
    history = common.History("steps of an episode", "loss", unit="update", every=every)
    seen, total = 0, mx.metric.Loss()
    for update in common.progress(range(1, args.updates + 1), "update"):
        steps = []
        for _ in range(args.steps):
            states = carts.states
            logits, values = look(states)
            right = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
            pushes = (rng.random(args.carts) < right).astype(np.float32)
            logs = np.log(np.where(pushes, right, 1 - right))
            reached, failed, cut = carts.step(pushes)
            beyond = look(reached)[1] if cut.any() else values
            steps.append((states * SCALE, pushes, logs, values, failed, cut, beyond))
        states, pushes, logs, values, failed, cut, beyond = map(np.array, zip(*steps))
        last = look(carts.states)[1]
        better = advantages(values, last, failed, cut, beyond, args.gamma, args.lam)
        normal = (better - better.mean()) / (better.std() + 1e-6)
        columns = (pushes, logs, normal, better + values)
        table = [states.reshape(-1, 4), *(x.ravel() for x in columns)]
        for _ in range(args.passes):
            order = rng.permutation(len(table[0]))
            for i in range(0, len(order), args.batch_size):
                part = order[i : i + args.batch_size]
                batch = [mx.nd.array(x[part], ctx=ctx) for x in table]
                with autograd.record():
                    each = losses(*batch)
                each.backward()
                trainer.step(len(part))
                total.update(None, each)
        if update % every == 0:
            lengths = carts.finished[seen:]
            seen = len(carts.finished)
            history.add(np.mean(lengths) if lengths else cart_pole.LONGEST, total.get()[1])
            total.reset()
    lengths, path = cart_pole.evaluate(lambda states: look(states)[0].argmax(axis=1), rng)
    folder = Path(args.out)
    pyplot = common.matplotlib_or_word("picture")
    if pyplot is not None:
        cart_pole.draw(folder / "balance.png", carts.finished, path, pyplot)
        logging.info("picture: %s", folder / "balance.png")
    common.finish(args, "actor_critic", net, history, mx.nd.array(carts.states * SCALE, ctx=ctx))
    logging.info("steps of %d episodes after training: %.1f", len(lengths), lengths.mean())
    return float(lengths.mean())


if __name__ == "__main__":
    main()
