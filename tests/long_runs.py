"""Which tests run only under ``make stress``."""

import os

import pytest

STRESS = "CYNET_STRESS_ITERATIONS" in os.environ
only_in_stress = pytest.mark.skipif(not STRESS, reason="in full size only under make stress")
