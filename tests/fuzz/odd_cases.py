"""Cases for the test of worker.py: one each that passes, is wrong, spins, rests, waits, dies."""

import os
import time

from tests.fuzz.worker import Fault


def prepare(seed):
    """The function that runs a case of a run."""

    def run(number):
        if number == 1:
            raise Fault(f"seed {seed} is wrong")
        while number == 2:
            pass
        if number == 3:
            time.sleep(1)  # longer than the limit, but of the clock alone
        if number == 4:
            time.sleep(3600)
        if number == 5:
            os._exit(3)

    return run
