"""What packages written for MXNet take from it is there; `make packages` runs them."""

import json
import subprocess
import sys
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"
# Parts of MXNet that cynet does without, which say so.
NOT_HERE = {"mxnet.library"}
CODE = """
import json, sys
import cynet
cynet.install_as_mxnet(numpy_names=False)
sys.path.insert(0, sys.argv[1])
from tests.fixtures import package_imports
lacking = {}
for name in open(sys.argv[1] + '/tests/fixtures/package_imports.txt').read().split():
    try:
        package_imports.resolved(name)
    except (ImportError, AttributeError) as error:
        lacking[name] = str(error)
print(json.dumps(lacking))
"""


def test_names_that_packages_use():
    """gluoncv, gluonnlp, gluonts, sockeye, keras-mxnet, d2lzh, mxboard, insightface."""
    command = [sys.executable, "-c", CODE, str(FIXTURES.parents[1])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lacking = json.loads(done.stdout)
    unexpected = {
        name: said
        for name, said in lacking.items()
        if not any(name == each or name.startswith(f"{each}.") for each in NOT_HERE)
    }
    assert not unexpected
    assert {*lacking} >= NOT_HERE  # what has come is no longer listed
    assert all("that cynet does not provide" in said for said in lacking.values())
    assert len((FIXTURES / "package_imports.txt").read_text().split()) > 500
