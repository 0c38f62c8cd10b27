"""What fit says of several ranks at its ends."""

from types import SimpleNamespace

import pytest

from cynet.module.ranks import Alone, Ranks


def of_three(began, ended):
    """Ranks whose world has come from some steps, seconds of moving and of waiting to others."""
    ranks = object.__new__(Ranks)
    vars(ranks).update(size=3, rank=0, is_first=True, _began=began)
    ranks._world = SimpleNamespace(times=ended)
    return ranks


def test_figures_at_the_end():
    """They are of the steps since fit began, in milliseconds a step."""
    ranks = of_three((5, 1.0, 2.0), (15, 1.5, 2.25))
    (line,) = ranks.summed_up(4.0)
    assert line.startswith("fit: a step took 400.00 ms on rank 0; for 50.00 ms of it data moved")
    assert "for 25.00 ms ranks waited for one another" in line


def test_no_steps_no_figures():
    assert of_three((5, 1.0, 2.0), (5, 1.0, 2.5)).summed_up(4.0) == []
    assert Alone().summed_up(4.0) == [] and Alone().told(8) == []


@pytest.mark.parametrize("batch", [1, 8])
def test_what_is_said_at_the_beginning(batch):
    (line,) = of_three((0, 0, 0), (0, 0, 0)).told(batch)
    assert line.startswith(f"fit: 3 ranks with batches of {batch}: {3 * batch} examples a step;")
    assert f"divided by {3 * batch}, the learning rate is taken as it is given" in line
