"""A walk calls the test with every value, and tells each that fails."""

import inspect

import pytest

from tests.walks import each


def test_a_walk_goes_on_after_a_failure():
    seen = []

    @each([3, 1, 4, 1, 5], "number {}".format)
    def test_small(value):
        """Below four."""
        seen.append(value)
        if value == 1:
            pytest.skip(str(value))
        assert value < 4, f"{value} is large"

    with pytest.raises(AssertionError, match=r"of 5 2 fail:\nnumber 4: 4 is large") as caught:
        test_small()
    assert seen == [3, 1, 4, 1, 5] and "number 5: 5 is large" in str(caught.value)
    assert isinstance(caught.value.__cause__, AssertionError)
    assert test_small.__name__ == "test_small" and test_small.__doc__ == "Below four."
    assert not inspect.signature(test_small).parameters


def test_a_walk_that_passes_and_an_interrupt():
    each([1, 2])(lambda value: None)()

    def stopped(value):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        each([1])(stopped)()
