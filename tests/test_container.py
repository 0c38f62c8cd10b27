"""The Dockerfile at the root: what its steps name is there, and its steps lead to a server."""

import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
import tomllib

import cynet as mx
from cynet.__main__ import _COMMANDS
from tests.dockerfile import BASE, Build, ignored, steps
from tests.long_runs import only_in_stress

ROOT = Path(__file__).parents[1]
STEPS = steps(ROOT / "Dockerfile")
PATTERNS = (ROOT / ".dockerignore").read_text().split()


def test_what_is_left_out_of_the_context():
    """What git ignores stays behind, and nothing that git knows."""
    for path in (
        ".git/config",
        ".venv/bin/python",
        "build/lib/cynet/_engine.so",
        "cynet/_engine.cpp",
        "cynet/engine/wait.cpp",
        "cynet/engine/wait.cpython-311-x86_64-linux-gnu.so",
        "cynet/__pycache__/libinfo.cpython-311.pyc",
    ):
        assert ignored(path, PATTERNS), path
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    assert tracked.returncode == 0 and "setup.py" in tracked.stdout
    assert not [path for path in tracked.stdout.splitlines() if ignored(path, PATTERNS)]


def test_what_its_steps_name_is_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bases = [step.text.split()[0] for step in STEPS if step.name == "FROM"]
    least = project["requires-python"].removeprefix(">=")
    for base in bases:
        version = BASE.fullmatch(base)[1]
        assert tuple(map(int, version.split("."))) >= tuple(map(int, least.split(".")))
        assert f"Programming Language :: Python :: {version}" in project["classifiers"]
    made, taken = (step.text for step in STEPS if step.text.startswith("pip "))
    assert "'.[serve]'" in made and f"'{project['name']}[serve]'" in taken
    assert project["optional-dependencies"]["serve"] and "cynet" in project["scripts"]
    (entry,) = (json.loads(step.text) for step in STEPS if step.name == "ENTRYPOINT")
    (command,) = (json.loads(step.text) for step in STEPS if step.name == "CMD")
    assert entry == ["cynet"] and command[0] in _COMMANDS and "serve" in _COMMANDS
    assert [step.text for step in STEPS if step.name == "USER"] == ["nobody"]


@only_in_stress
@pytest.mark.skipif(os.geteuid() != 0, reason="chroot and overlays need root")
@pytest.mark.timeout(3600)
def test_its_steps_lead_to_a_server(tmp_path):
    """Without Docker: this machine stands for the images python:*-slim."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (1, 4))], for_training=False)
    module.init_params(mx.init.One())
    wheels = os.environ.get("CYNET_TEST_WHEELS")
    build = Build(tmp_path / "stages", ROOT, wheels and Path(wheels))
    try:
        for step in STEPS:
            build.follow(step)
        folder = Path(f"{build.root}{build.work}")
        module.save_checkpoint(str(folder / "model"), 1)
        said = build.run(" ".join([*build.entry, *build.command]), subprocess.PIPE)
        assert "/opt/python/lib" in said and "oneDNN" in said
        libraries = sorted(p.name for p in Path(f"{build.root}/opt/python/lib").glob("libdnnl*"))
        assert libraries == ["libdnnl.so.3"]
        command = ["chroot", f"--userspec={build.user}", build.root, "sh", "-c"]
        command.append(f"cd {build.work}; exec cynet serve model --shape 4 --port 0")
        server = subprocess.Popen(command, env=build.environment, stdout=subprocess.PIPE, text=True)
        try:
            address = server.stdout.readline().split()[-1]
            body = json.dumps({"inputs": [[1, 2, 3, 4]]}).encode()
            kind = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{address}/predict", body, kind)
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert json.load(answer) == {"outputs": [[[10.0, 10.0]]]}
        finally:
            server.terminate()
            began = time.monotonic()
            server.communicate(timeout=30)
            assert server.returncode == 0 and time.monotonic() - began < 20
    finally:
        build.close()
