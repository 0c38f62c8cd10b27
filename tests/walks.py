"""One test over many values, where a test of each would be no more than its overhead."""

import functools

import pytest


def each(values, name=str):
    """A decorator: the test is called with each value in turn, and tells all those it fails for.

    For a check of a millisecond over hundreds of values: collecting and reporting a test takes
    longer. A value for which the test would be skipped is passed over.
    """

    def decorated(test):
        every = tuple(values)

        def walk():
            failed = {}
            for value in every:
                try:
                    test(value)
                except pytest.skip.Exception:
                    continue
                except Exception as error:
                    failed[name(value)] = error
            if failed:
                told = "\n".join(f"{key}: {error}"[:500] for key, error in [*failed.items()][:20])
                first = next(iter(failed.values()))
                raise AssertionError(f"of {len(every)} {len(failed)} fail:\n{told}") from first

        functools.update_wrapper(walk, test)
        del walk.__wrapped__  # else pytest takes the test's argument for a fixture
        return walk

    return decorated
