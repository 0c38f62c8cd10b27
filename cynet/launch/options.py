"""The command line of ``python -m cynet.launch``, with the options of MXNet's tools/launch.py."""

import argparse

from .command import Job

_DESCRIPTION = """Run a script in several processes that train together (mx.kv.create('dist_sync')).
It builds one command line of mpiexec or srun, which --dry-run prints, and looks after the
processes: what they print, signals, what a killed one leaves behind."""
_EPILOG = """examples:
  python -m cynet.launch -n 4 train.py --batch-size 64
  python -m cynet.launch -n 8 -H hosts --env OMP_NUM_THREADS:4 train.py
  python -m cynet.launch -n 2 python -m cynet train_for_mxnet.py --kv-store dist_sync
A host file has a machine a line: its name, or `name slots=4`."""


def make_parser():
    """The ArgumentParser."""
    out = argparse.ArgumentParser(
        "python -m cynet.launch",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = out.add_argument
    add("-n", "--num-workers", type=_positive_int, required=True, help="how many processes")
    add("-H", "--hostfile", help="file with the machines, one a line; default: this machine")
    add(
        "--launcher",
        choices=("auto", "local", "ssh", "mpi", "slurm", "sge", "yarn"),
        default="auto",
        help="mpiexec (auto, local, ssh, mpi), or srun (slurm)",
    )
    add(
        *("--env", "--env-worker"),
        action="append",
        default=[],
        metavar="NAME:VALUE",
        help="set an environment variable in each process; may be given several times",
    )
    add("--threads", type=_positive_int, help="threads of a process; default: cores over processes")
    add("--log-dir", help="also write what each process prints to rank-N.log in this folder")
    add("--no-prefix", action="store_true", help="show lines without the number of their rank")
    add("--restarts", type=int, default=0, help="how often to begin again after a failure")
    add(
        "--elastic",
        action="store_true",
        help="begin again without the processes that have died, down to --min-workers",
    )
    add(
        "--min-workers",
        type=_positive_int,
        default=1,
        help="the fewest that --elastic goes on with",
    )
    add(
        "--grace",
        type=float,
        default=10.0,
        help="seconds from a failure until all that is left is killed (default 10)",
    )
    add("--mpi-args", default="", help="further arguments of mpiexec or srun, in one string")
    add("--no-check", action="store_true", help="do not look at the machines of -H first")
    add("--dry-run", action="store_true", help="print the command line and do nothing")
    # options of MXNet's tools/launch.py that have no effect here
    for name in ("-s", "--num-servers"), ("--env-server",), ("--sync-dst-dir",), ("--queue",):
        add(*name, action="append", help=argparse.SUPPRESS)
    add("--p3", action="store_true", help=argparse.SUPPRESS)
    add("command", nargs=argparse.REMAINDER, help="the script and its arguments")
    return out


def parse_arguments(arguments):
    """Parse a command line; return (options, Job, notes to print)."""
    out = make_parser()
    options = out.parse_args(arguments)
    if not options.command:
        out.error("say which script to run")
    if options.launcher in ("sge", "yarn"):
        out.error(
            f"--launcher {options.launcher}: start mpiexec in a job of that system, or give"
            " --launcher slurm, ssh or local"
        )
    if options.restarts < 0:
        out.error("--restarts must not be negative")
    pairs = []
    for each in options.env:
        name, mark, value = each.partition(":")
        if not mark or not name or "=" in name:
            out.error(f"--env takes NAME:VALUE, got {each!r}")
        pairs.append((name, value))
    notes = []
    if options.num_servers or options.env_server or options.p3:
        notes.append("there are no servers: every process keeps the parameters")
    if options.sync_dst_dir:
        notes.append("--sync-dst-dir is not done: the script must be there on all machines")
    job = Job(
        options.num_workers,
        options.command,
        hostfile=options.hostfile,
        slurm=options.launcher == "slurm",
        env=pairs,
        threads=options.threads,
        more=options.mpi_args,
    )
    return options, job, notes


def _positive_int(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {number}")
    return number
