"""Runs packages that were written for MXNet, unmodified, by ``python -m cynet``.

    python -m tests.packages.run [names]                    # make packages
    python -m tests.packages.run --mxnet FOLDER [names]     # writes what is due

Each package is downloaded without its dependencies into ``build/packages``, where an environment
has what it needs beside MXNet. Its own tests and those of ``scripts/`` run there; none needs the
network. ``due/`` lists the tests that pass with MXNet 1.9.1; the run fails if one of them does not
pass, and writes docs/packages.md. FOLDER is the site-packages of an MXNet 1.9.1 with its NumPy.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DUE = HERE / "due"
TABLE = ROOT / "docs" / "packages.md"
TIMEOUT = 3600  # seconds for all tests of a package


@dataclass
class Package:
    """A package, and what of it runs."""

    what: str  # in the table
    version: str = ""  # empty: nothing is downloaded
    project: str = ""  # on the index; empty: as it is named here
    tests: tuple = ()  # folders of its own tests, in what is installed
    scripts: tuple = ()  # of scripts/
    sdist: str = ""  # the folder of tests that only its source archive has, copied from there

    def fetch(self, name, env, folder):
        """Put the package into `folder` unless it is there."""
        if (folder / "done").exists():
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        project = self.project or name
        if self.version:
            pip(env, "--no-deps", "--target", str(folder), f"{project}=={self.version}")
        if self.sdist:
            unpack(project, self.version, self.sdist, folder)
        (folder / "done").touch()


PACKAGES = {
    "gluoncv-0.8.0": Package(
        "its unit tests, the model zoo, small trainings",
        "0.8.0",
        "gluoncv",
        ("tests/unittests",),
        ("gluoncv_models.py",),
    ),
    "gluoncv-0.10.5": Package(
        "its unit tests, the model zoo, small trainings",
        "0.10.5.post0",
        "gluoncv",
        ("tests/unittests",),
        ("gluoncv_models.py",),
    ),
    "gluonnlp": Package(
        "language models, BERT, transformers, data: trained for a moment",
        "0.10.0",
        scripts=("gluonnlp_models.py", "gluonnlp_values.py"),
    ),
    "gluonts": Package(
        "its estimators: trained, asked for forecasts, written and read",
        "0.8.1",
        scripts=("gluonts_estimators.py", "gluonts_values.py"),
    ),
    "sockeye": Package(
        "its unit tests; its integration tests, which train and translate",
        "2.3.24",
        tests=("test/unit", "test/integration"),
        sdist="test",
    ),
    "keras-mxnet": Package(
        "small models: trained, asked, written and read", "2.2.4", scripts=("keras_models.py",)
    ),
    "d2lzh": Package(
        "chapters of Dive into Deep Learning, first edition",
        "1.0.0",
        scripts=("d2lzh_chapters.py",),
    ),
    "mxboard": Package("its writers of events", "0.1.0", scripts=("mxboard_events.py",)),
    "examples": Package(
        "programs in the manner of MXNet's example/", scripts=("mxnet_examples.py",)
    ),
    "recognition": Package(
        "a training in the manner of insightface's recognition/", scripts=("face_recognition.py",)
    ),
}


def pip(env, *arguments):
    command = [str(env / "bin" / "python"), "-m", "pip", "install", "-q", *arguments]
    if subprocess.run(command).returncode:
        raise SystemExit(f"packages: {' '.join(command)} failed")


def unpack(project, version, part, folder):
    """A folder of a source archive that pip cannot read the metadata of."""
    index = urllib.request.Request(
        f"https://pypi.org/simple/{project}/",
        headers={"Accept": "application/vnd.pypi.simple.v1+json"},
    )
    name = f"{project}-{version}.tar.gz"
    with urllib.request.urlopen(index, timeout=60) as answer:
        (file,) = [f for f in json.load(answer)["files"] if f["filename"] == name]
    with urllib.request.urlopen(file["url"], timeout=60) as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != file["hashes"]["sha256"]:
        raise SystemExit(f"packages: {name} is not what the index says")
    (folder / name).write_bytes(data)
    with tarfile.open(folder / name) as archive:
        archive.extractall(folder / "sdist", filter="data")
    shutil.copytree(folder / "sdist" / f"{project}-{version}" / part, folder / part)
    for file in (folder / "sdist" / f"{project}-{version}").glob("*.md"):
        shutil.copy(file, folder)


def environment(folder):
    """An environment with what the packages need beside MXNet."""
    if sys.version_info >= (3, 12):  # pandas 1.5, which gluonts asks for, has no wheels
        raise SystemExit("packages: a checkout built with Python 3.10 or 3.11 is needed")
    env = folder / "env"
    wanted = (HERE / "dependencies.txt").read_text()
    kept = env / "dependencies.txt"
    if not kept.exists() or kept.read_text() != wanted:
        shutil.rmtree(env, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(env)], check=True)
        pip(env, "setuptools<70", "wheel", "cython")
        pip(env, "--no-build-isolation", "-r", str(HERE / "dependencies.txt"))
        kept.write_text(wanted)
    return env


def run(name, package, env, folder, mxnet):
    """Set of the tests that pass, and dict of the others to what they say."""
    run_in = folder / "run" / name
    shutil.rmtree(run_in, ignore_errors=True)
    run_in.mkdir(parents=True)
    # scripts and tests are copied: beside them lies nothing of ours that pytest would read
    for part in package.tests:
        shutil.copytree(folder / name / part, run_in / part, dirs_exist_ok=True)
    for each in {part.partition("/")[0] for part in package.tests}:
        for file in (folder / name / each).glob("*.py"):
            shutil.copy(file, run_in / each)
        if (folder / name / each / "data").is_dir():
            shutil.copytree(folder / name / each / "data", run_in / each / "data")
    for file in (folder / name).glob("*.md"):
        shutil.copy(file, run_in)
    for script in package.scripts:
        for file in (HERE / "scripts").glob(f"{Path(script).stem}.*"):  # with what it expects
            shutil.copy(file, run_in)
    report = run_in / "report.xml"
    paths = [str(mxnet or ROOT), str(run_in), str(folder / name)]
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "HOME": str(run_in),
        "MPLBACKEND": "agg",
    }
    command = [
        str(env / "bin" / "python"),
        "-W",
        "ignore",
        *([] if mxnet else ["-m", "cynet"]),
        "-m",
        "pytest",
        "-q",
        "-c",
        os.devnull,
        "--rootdir",
        str(run_in),
        "-p",
        "no:cacheprovider",
        "--tb=line",
        "--timeout=600",
        "--continue-on-collection-errors",
        f"--junitxml={report}",
        *package.tests,
        *package.scripts,
    ]
    subprocess.run(command, cwd=run_in, env=variables, timeout=TIMEOUT)
    passed, failed = set(), {}
    for case in ElementTree.parse(report).iter("testcase"):
        test = f"{case.get('classname')}::{case.get('name')}"
        said = case.find("failure") if case.find("failure") is not None else case.find("error")
        if said is not None:
            failed[test] = (said.get("message") or "").partition("\n")[0]
        elif case.find("skipped") is None:
            passed.add(test)
    return passed - failed.keys(), failed


def write_rows(rows):
    """Put rows into the table in place of those of the same packages."""
    lines = TABLE.read_text().splitlines()
    for name, row in rows.items():
        (place,) = [i for i, line in enumerate(lines) if line.startswith(f"| {name} |")]
        lines[place] = row
    TABLE.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="make packages", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(PACKAGES))
    parser.add_argument("--mxnet", type=Path, help="site-packages of MXNet 1.9.1: writes due/")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "packages")
    given = parser.parse_args()
    if unknown := {*given.names} - PACKAGES.keys():
        parser.error(f"no packages {', '.join(sorted(unknown))}; there are {', '.join(PACKAGES)}")
    folder = given.folder.absolute()
    env, rows, lacking = environment(folder), {}, []
    for name in given.names or PACKAGES:
        package = PACKAGES[name]
        package.fetch(name, env, folder / name)
        print(f"--- {name}", flush=True)
        passed, failed = run(name, package, env, folder, given.mxnet)
        listed = DUE / f"{name}.txt"
        if given.mxnet:
            listed.parent.mkdir(exist_ok=True)
            listed.write_text("".join(f"{test}\n" for test in sorted(passed)))
            print(f"{name}: {len(passed)} pass with MXNet, {len(failed)} do not")
            continue
        due = listed.read_text().split("\n")[:-1]
        missed = [test for test in due if test not in passed]
        lacking += [f"{name}: {test}: {failed.get(test, 'did not run')}" for test in missed]
        rows[name] = f"| {name} | {package.what} | {len(due) - len(missed)} / {len(due)} |"
        print(rows[name])
    if rows:
        write_rows(rows)
    if lacking:
        raise SystemExit("\n".join(["packages: due with MXNet 1.9.1 and not passed:", *lacking]))


if __name__ == "__main__":
    main()
