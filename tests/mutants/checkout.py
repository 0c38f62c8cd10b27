"""A copy of the checkout in which faults are planted: what a run breaks, is broken there alone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT = (".so", ".cpp")  # of the package: ignored by git, needed by tests and builds
# Builds the modules named only, by the setup.py of the folder it runs in.
BUILD = """
import runpy, subprocess, sys
import Cython.Build, setuptools
run = subprocess.run  # writes no stubs: a mutant may end at its import
subprocess.run = lambda command, **options: (
    None if "scripts/make_stubs.py" in command else run(command, **options))
wanted, cythonize = set(sys.argv[1].split()), Cython.Build.cythonize
Cython.Build.cythonize = lambda modules, **options: cythonize(
    [m for m in modules if m.name in wanted], **options) if any(
    m.name in wanted for m in modules) else []
sys.argv = ["setup.py", "build_ext", "--inplace"]
runpy.run_path("setup.py", run_name="__main__")
"""


class Checkout:
    """`folder` has what the checkout has; `write` changes a file of it, `restore` undoes that."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.kept = {}  # of files that were changed: what they held
        tell = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
        names = subprocess.run(tell, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        self.files = {name for name in names.split("\0") if name and (ROOT / name).is_file()}
        built = (p for p in ROOT.glob("cynet*/**/*") if p.suffix in BUILT)
        self.files |= {str(p.relative_to(ROOT)) for p in built}
        self.folder.mkdir(parents=True, exist_ok=True)
        for found in [p for p in self.folder.rglob("*") if p.is_file()]:
            if str(found.relative_to(self.folder)) not in self.files:
                found.unlink()
        for name in self.files:
            self._copy(name)
        git = self.folder / ".git"  # tests that ask git what is there
        if not git.exists():
            subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)

    def _copy(self, name):
        source, target = ROOT / name, self.folder / name
        if target.exists():
            new, old = source.stat(), target.stat()
            if (new.st_mtime_ns, new.st_size) == (old.st_mtime_ns, old.st_size):
                return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)

    def write(self, name, text):
        self._keep(name)
        (self.folder / name).write_text(text)

    def _keep(self, name):
        path = self.folder / name
        if name not in self.kept:
            self.kept[name] = path.read_bytes(), path.stat().st_mtime_ns

    def restore(self):
        for name, (content, when) in self.kept.items():
            path = self.folder / name
            path.unlink(missing_ok=True)  # a library that is still loaded keeps its pages
            path.write_bytes(content)
            os.utime(path, ns=(when, when))
        self.kept = {}

    def build(self, modules, before=(), limit=900):
        """Compile these modules; whether that worked."""
        for module in modules:
            stem = module.replace(".", "/")
            for name in self.files:
                if name.startswith((f"{stem}.cpp", f"{stem}.cpython")):
                    self._keep(name)
        command = [*before, sys.executable, "-c", BUILD, " ".join(modules)]
        environ = dict(os.environ)
        if shutil.which("ccache"):
            environ |= {"CC": "ccache gcc", "CXX": "ccache g++"}
        return (
            subprocess.run(
                command,
                cwd=self.folder,
                env=environ,
                timeout=limit,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ).returncode
            == 0
        )
