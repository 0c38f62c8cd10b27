"""A pole on a cart that is to be kept upright by pushes: the physics, for many carts at once."""

import numpy as np

GRAVITY, CART, POLE, HALF, FORCE, STEP = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02  # SI; POLE, CART: masses
FALLEN = np.deg2rad(12)  # an episode ends at this angle,
EDGE = 2.4  # an episode ends so far from the middle,
LONGEST = 500  # or after so many steps of the episode


class CartPoles:
    """`count` carts: states (count, 4) of place, speed, angle, angular speed; rewards of 1.

    A cart whose episode ended begins anew at once.

    Examples
    --------
    >>> carts = CartPoles(2, np.random.default_rng(0))
    >>> carts.states.shape
    (2, 4)
    >>> states, failed, cut = carts.step(np.array([0, 1]))  # push cart 0 left, cart 1 right
    >>> states[:, 1].round() + 0.0, failed, cut
    (array([0., 0.], dtype=float32), array([False, False]), array([False, False]))
    """

    def __init__(self, count, rng):
        self._rng = rng
        self._steps = np.zeros(count, int)
        self.finished = []  # lengths of episodes, which are their returns
        self.states = self._fresh(count)

    def _fresh(self, count):
        return self._rng.uniform(-0.05, 0.05, (count, 4)).astype(np.float32)

    def step(self, pushes):
        """Push each cart to the left (0) or to the right (1).

        Returns
        -------
        (states, failed, cut)
            The states reached, before any begins anew; which of them are failures; which
            episodes end only because they are long.
        """
        place, speed, angle, turn = self.states.T.astype(float)
        force = np.where(pushes == 1, FORCE, -FORCE)
        sine, cosine = np.sin(angle), np.cos(angle)
        push = (force + POLE * HALF * turn**2 * sine) / (CART + POLE)
        bend = (GRAVITY * sine - cosine * push) / (
            HALF * (4 / 3 - POLE * cosine**2 / (CART + POLE))
        )
        pull = push - POLE * HALF * bend * cosine / (CART + POLE)
        moved = (place + STEP * speed, speed + STEP * pull, angle + STEP * turn, turn + STEP * bend)
        states = np.stack(moved, axis=1).astype(np.float32)
        self._steps += 1
        failed = (abs(states[:, 0]) > EDGE) | (abs(states[:, 2]) > FALLEN)
        cut = ~failed & (self._steps >= LONGEST)
        over = failed | cut
        self.finished.extend(self._steps[over].tolist())
        self._steps[over] = 0
        self.states = states.copy()
        self.states[over] = self._fresh(over.sum())
        return states, failed, cut


def evaluate(policy, rng, count=20):
    """Lengths of `count` episodes with ``policy(states)``, and the first one's states."""
    carts = CartPoles(count, rng)
    alive, lengths, path = np.ones(count, bool), np.zeros(count, int), []
    while alive.any():
        if alive[0]:
            path.append(carts.states[0].copy())
        _, failed, cut = carts.step(policy(carts.states))
        lengths += alive
        alive &= ~(failed | cut)
    return lengths, np.array(path)


def draw(path, returns, states, pyplot):
    """Returns of the episodes of training, and place and angle in one episode after it."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(returns, ".", color="silver", label="an episode")
    window = max(1, min(50, len(returns) // 5))
    means = np.convolve(returns, np.ones(window) / window, mode="valid")
    left.plot(range(window - 1, len(returns)), means, label=f"mean of {window}")
    left.set(xlabel="episode of training", title="steps until the pole fell", ylim=(0, LONGEST))
    left.legend()
    right.plot(states[:, 0] / EDGE, label="place (1: the edge)")
    right.plot(states[:, 2] / FALLEN, label="angle (1: fallen)")
    right.set(xlabel="step", title="an episode after training", ylim=(-1, 1))
    right.legend()
    for axis in (left, right):
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=100, format="png")
    pyplot.close(figure)
