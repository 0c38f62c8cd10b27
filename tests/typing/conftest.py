"""The stubs of operators are those of the sources as they are now, built or edited since."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
if (ROOT / "setup.py").exists():  # not beside an installed package, whose wheel has them
    subprocess.run([sys.executable, "scripts/make_stubs.py"], cwd=ROOT, check=True)
