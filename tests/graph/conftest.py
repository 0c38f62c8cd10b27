"""What tests of passes share."""

import pytest

from cynet.kernels.parallel import set_num_threads


@pytest.fixture
def threads():
    """Two threads, whatever the machine has; ``threads(n)``: so many from now on."""
    before = set_num_threads(2, beyond_cores=True)
    yield lambda n: set_num_threads(n, beyond_cores=True)
    set_num_threads(before, beyond_cores=True)
