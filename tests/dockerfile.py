"""Reads a Dockerfile, and follows its steps without Docker: each stage is an overlay over this
machine's own files, in which the commands run by chroot. That needs root and Linux's overlays."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

MOUNTS = "/proc", "/dev", "/sys"
BASE = re.compile(r"python:(3\.\d+)-slim")


class Step(NamedTuple):
    """One instruction, its text, and its options as a dict."""

    name: str
    text: str
    options: dict


def steps(path):
    """The steps of a Dockerfile, with the ARGs before the first FROM put in."""
    text = re.sub(r"^\s*#.*\n", "", Path(path).read_text(), flags=re.M)
    found, given = [], {}
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if not line.strip():
            continue
        name, rest = line.split(None, 1)
        if name == "ARG":
            key, _, value = rest.partition("=")
            given[key] = value
            continue
        options = {}
        while (option := re.match(r"--(\w+)=(\S+)\s+", rest)) is not None:
            options[option[1]] = option[2]
            rest = rest[option.end() :]
        if name == "FROM":  # ARGs from before count here alone
            rest = re.sub(r"\$\{(\w+)\}", lambda match: given[match[1]], rest)
        found.append(Step(name, rest.strip(), options))
    return found


def ignored(path, patterns):
    """Return whether .dockerignore leaves a path, or a folder that it is in, out."""
    parts = path.split("/")
    folders = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return any(pattern.fullmatch(each) for pattern in map(_regex, patterns) for each in folders)


def _regex(pattern):
    """A pattern of .dockerignore: ``**/`` are any folders, or none."""
    text = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return re.compile(text)


class Build:
    """Stages as overlays below `folder`.

    Parameters
    ----------
    folder : Path
        Where they lie; not within /proc, /dev and /sys.
    context : Path
        What COPY copies.
    wheels : Path, optional
        A folder with a wheel of cynet, so that ``pip wheel`` does not compile it again.
    """

    def __init__(self, folder, context, wheels=None):
        self.folder, self.context, self.wheels = folder, context, wheels
        self.stages, self.work, self.user, self.entry, self.command = {}, "/", "root", [], []
        self.root = None
        self.environment = {"PATH": f"/opt/python/bin:{os.environ['PATH']}", "HOME": "/root"}

    def close(self):
        """Unmount all stages."""
        for root in reversed(list(self.stages.values())):
            for mount in MOUNTS:
                subprocess.run(["umount", "-l", f"{root}{mount}"], check=False)
            subprocess.run(["umount", "-l", root], check=True)

    def follow(self, step):
        """Do what one step says."""
        getattr(self, f"_{step.name.lower()}")(step)

    def _from(self, step):
        base, *name = re.split(r"\s+AS\s+", step.text)
        assert BASE.fullmatch(base), base
        at = self.folder / (name[0] if name else f"stage{len(self.stages)}")
        for part in ("upper", "work", "root"):
            (at / part).mkdir(parents=True)
        self.root = at / "root"
        layers = f"lowerdir=/,upperdir={at / 'upper'},workdir={at / 'work'}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, self.root], check=True)
        self.stages[at.name] = self.root
        for mount in MOUNTS:
            subprocess.run(["mount", "--bind", mount, f"{self.root}{mount}"], check=True)
        self.work, self.user = "/", "root"
        python = Path(sys._base_executable).resolve()
        folders = " ".join(shlex.quote(str(each)) for each in python.parents)
        self.run(f"chmod o+x {folders}")  # it may lie in root's home, and USER runs it
        self.run(f"{shlex.quote(str(python))} -m venv /opt/python")

    def run(self, command, stdout=None):
        """Run a command of a shell in the present stage."""
        inside = ["chroot", f"--userspec={self.user}", self.root, "sh", "-ec"]
        inside.append(f"cd {self.work}; {command}")
        return subprocess.run(
            inside, env=self.environment, check=True, stdout=stdout, text=True, timeout=3000
        ).stdout

    def _run(self, step):
        mount = dict(part.split("=") for part in step.options.get("mount", "").split(",") if part)
        if mount:
            target = f"{self.root}{mount['target']}"
            os.makedirs(target)
            source = f"{self.stages[mount['from']]}{mount['source']}"
            subprocess.run(["mount", "--bind", source, target], check=True)
        command = step.text
        if self.wheels is not None and command.startswith("pip wheel "):
            (wheel,) = self.wheels.glob("cynet_mx-*.whl")
            extras = re.search(r"\[[\w,]+\]", command)[0]
            command = command.replace(f".{extras}", f"{wheel}{extras}")
        self.run(command)
        if mount:
            subprocess.run(["umount", target], check=True)

    def _workdir(self, step):
        self.work = step.text
        os.makedirs(f"{self.root}{self.work}", exist_ok=True)

    def _copy(self, step):
        assert step.text == ". .", step
        patterns = (self.context / ".dockerignore").read_text().split()
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=self.context,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        names = "\n".join(name for name in listed if not ignored(name, patterns))
        subprocess.run(
            f"tar -c -T - | tar -x -C {self.root}{self.work}",
            shell=True,
            cwd=self.context,
            input=names,
            text=True,
            check=True,
        )

    def _user(self, step):
        self.user = step.text

    def _entrypoint(self, step):
        self.entry = json.loads(step.text)

    def _cmd(self, step):
        self.command = json.loads(step.text)
