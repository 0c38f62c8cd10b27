"""Make lists of images, and files of records from lists, with the options of MXNet's im2rec.

    python -m cynet.tools.im2rec PREFIX ROOT --list --recursive --train-ratio 0.9
    python -m cynet.tools.im2rec PREFIX ROOT --resize 256 --num-thread 4

The first writes PREFIX.lst (or PREFIX_train.lst and PREFIX_val.lst) and, with --recursive, the
names of the classes to PREFIX_synset.txt; the second PREFIX.rec and PREFIX.idx of every list whose
name begins with PREFIX. Old files stay until the new ones are whole: also where nothing can be
read, or Ctrl-C ends the program.
"""

import argparse
import glob
import itertools
import os
import random
import signal
import sys
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from tqdm import tqdm

from ..base.errors import ArgumentError, CynetError, FormatError, shown
from ..base.files import naming, read_file, write_atomically
from ..base.opencv import cv, resize_image, size_by_short_side
from ..image.codec import decode_bgr, encode_image
from ..image.source import read_list_file
from ..recordio import IRHeader, MXIndexedRecordIO, pack

_IMAGES_PER_PROCESS = 64  # chunk of a process
_PROGRESS_SECONDS = 10.0  # between two lines of progress
_INTERRUPTED_STATUS = 130  # the exit status of a program that Ctrl-C has ended


def find_images(root, recursive, endings):
    """Find images: [(path below root, label)]; a label is the index of the image's folder."""
    if not recursive:
        names = [n for n in sorted(os.listdir(root)) if os.path.splitext(n)[1].lower() in endings]
        return [(name, 0) for name in names if os.path.isfile(os.path.join(root, name))]
    found, labels = [], {}
    for path, folders, names in os.walk(root, followlinks=True):
        folders.sort()
        for name in sorted(names):
            if os.path.splitext(name)[1].lower() in endings:
                label = labels.setdefault(path, len(labels))
                found.append((os.path.relpath(os.path.join(path, name), root), label))
    return found


def folders_by_label(images):
    """Return the folders of images, in the order of their labels."""
    found = {}
    for path, label in images:
        found.setdefault(label, os.path.dirname(path))
    return list(found.values())


def write_lists(options):
    """Write the list files of a folder, in chunks and parts to train, test and validate, and the
    names of its classes."""
    images = find_images(options.root, options.recursive, options.exts)
    if not images:
        below = "in it and its folders" if options.recursive else "in it; --recursive looks deeper"
        raise FormatError(f"{shown(options.root)} has no {', '.join(options.exts)} {below}")
    if options.recursive:
        names = folders_by_label(images)
        for label, name in enumerate(names):
            print(f"{name} {label}")
        write_atomically(options.prefix + "_synset.txt", "".join(f"{n}\n" for n in names).encode())
    lines = [f"{i}\t{label:f}\t{path}\n" for i, (path, label) in enumerate(images)]
    if options.shuffle:
        random.Random(100).shuffle(lines)
    each = -(-len(lines) // options.chunks) if lines else 0
    for chunk in range(options.chunks):
        part = lines[chunk * each : (chunk + 1) * each]
        name = options.prefix + (f"_{chunk}" if options.chunks > 1 else "")
        tests = int(len(part) * options.test_ratio)
        trains = tests + int(len(part) * options.train_ratio)
        if options.train_ratio == 1.0:
            parts = {"": part}
        else:
            parts = {"_test": part[:tests], "_train": part[tests:trains], "_val": part[trains:]}
        for suffix, some in parts.items():
            if some or not suffix:
                write_atomically(f"{name}{suffix}.lst", "".join(some).encode())
    return len(lines)


def pack_image(number, label, path, options):
    """Pack an image into (id, record, error); either record or error is None."""
    try:
        content = read_file(os.path.join(options.root, path))
        header = IRHeader(0, label if options.pack_label else float(label[0]), number, 0)
        if options.pass_through:
            return number, pack(header, content), None
        image = decode_bgr(content, options.color, path)
        image = image[:, :, None] if image.ndim == 2 else image
        height, width = image.shape[:2]
        if options.center_crop and height != width:
            side = min(height, width)
            top, left = (height - side) // 2, (width - side) // 2
            image = image[top : top + side, left : left + side]
            height = width = side
        if options.resize:
            height, width = size_by_short_side(height, width, options.resize)
            image = resize_image(image, width, height, 1)
        return number, pack(header, encode_image(image, options.encoding, options.quality)), None
    except (CynetError, OSError) as error:
        return number, None, str(error) if path in str(error) else f"{path}: {error}"


def _pack_records(entries, options):
    """Yield records in the order of a list; processes pack them."""
    if options.num_thread <= 1:
        yield from (pack_image(*entry, options) for entry in entries)
        return
    pool = ProcessPoolExecutor(options.num_thread, initializer=_ignore_interrupts)
    try:
        begun, entries = deque(), iter(entries)
        for entry in itertools.islice(entries, _IMAGES_PER_PROCESS * options.num_thread):
            begun.append(pool.submit(pack_image, *entry, options))
        while begun:
            yield begun.popleft().result()
            for entry in itertools.islice(entries, 1):
                begun.append(pool.submit(pack_image, *entry, options))
    except BrokenProcessPool:
        raise CynetError("a process that packs images has died; is there memory for it?") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _ignore_interrupts():
    """Ignore Ctrl-C in a process: the main program ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _report_progress(made, name, count):
    """Report the number of packed records: a bar on a terminal, else a line now and then."""
    if sys.stderr.isatty():
        yield from tqdm(made, name, count, unit=" images")
        return
    last = time.monotonic()
    for done, each in enumerate(made):
        now = time.monotonic()
        if now - last >= _PROGRESS_SECONDS:
            print(f"{name}: {done} of {count} images", file=sys.stderr, flush=True)
            last = now
        yield each


def read_list_entries(path):
    """Read [(id, label, path of the image)] from a list file."""
    entries = [(number, label, file) for number, (label, file) in read_list_file(path).items()]
    if not entries:
        raise FormatError(f"{shown(path)} names no image")
    return entries


def write_records(path, options):
    """Write the records and the index of a list file; return the number of unreadable images.

    Raises FormatError: none of them could be read.
    """
    name, entries = os.path.splitext(path)[0], read_list_entries(path)
    failed = 0
    with MXIndexedRecordIO(f"{name}.idx", f"{name}.rec", "w") as record:
        for number, content, error in _report_progress(
            _pack_records(entries, options), name, len(entries)
        ):
            if error is None:
                record.write_idx(number, content)
            else:
                failed += 1
                print(f"left out: {error}", file=sys.stderr)
        if failed == len(entries):
            raise FormatError(
                f"{name}.rec is not written: none of the {failed} images of {shown(path)} below"
                f" {shown(options.root)} can be read"
            )
    left_out = f", {failed} left out" if failed else ""
    print(f"{name}.rec: {len(entries) - failed} images{left_out}")
    return failed


def check_requirements(options):
    """Check the options before any work."""
    with naming("read", options.root):
        os.listdir(options.root)
    for what, value in (("chunks", options.chunks), ("num-thread", options.num_thread)):
        if value < 1:
            raise ArgumentError(f"--{what} is 1 or more, got {value}")
    if not options.list and not options.pass_through:
        cv()


def parser():
    """Make the parser of the options, which have the names of MXNet's tool."""
    out = argparse.ArgumentParser(
        "python -m cynet.tools.im2rec",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = out.add_argument
    add("prefix", help="path and beginning of the file names: PREFIX.lst, PREFIX.rec")
    add("root", help="folder that contains the images")
    add(
        "--list",
        action="store_true",
        help="write a list of the images (PREFIX.lst) instead of records",
    )
    add(
        "--exts",
        nargs="+",
        default=[".jpeg", ".jpg", ".png"],
        help="file name extensions of images",
    )
    add("--chunks", type=int, default=1, help="number of lists to write")
    add("--train-ratio", type=float, default=1.0, help="share of the images for training")
    add("--test-ratio", type=float, default=0.0, help="share of the images for testing")
    add("--recursive", action="store_true", help="search subfolders; each is a class")
    add("--no-shuffle", dest="shuffle", action="store_false", help="sort the list by file name")
    add("--pass-through", action="store_true", help="copy the files without decoding them")
    add("--resize", type=int, default=0, help="resize the shorter side to this length; 0: do not")
    add("--center-crop", action="store_true", help="crop the center square")
    add("--quality", type=int, default=95, help="JPEG quality (1-100) or PNG compression (1-9)")
    add("--num-thread", type=int, default=1, help="number of processes")
    add("--color", type=int, default=1, choices=[-1, 0, 1], help="1: color, 0: gray, -1: as stored")
    add(
        "--encoding",
        default=".jpg",
        choices=[".jpg", ".png"],
        help="format of the images in the records",
    )
    add("--pack-label", action="store_true", help="store all labels of a line, not only the first")
    return out


def main(arguments=None):
    """Run the program; return its exit status."""
    options = parser().parse_args(arguments)
    try:
        check_requirements(options)
        if options.list:
            print(f"{write_lists(options)} images")
            return 0
        pattern = glob.escape(options.prefix) + "*.lst"
        lists = [options.prefix] if options.prefix.endswith(".lst") else sorted(glob.glob(pattern))
        if not lists:
            print(f"error: there is no {options.prefix}*.lst; --list writes one", file=sys.stderr)
            return 1
        for path in lists:  # all lists are checked before packing begins
            read_list_entries(path)
        return 1 if sum(write_records(path, options) for path in lists) else 0
    except (CynetError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: the files are as they were", file=sys.stderr)
        return _INTERRUPTED_STATUS


if __name__ == "__main__":
    sys.exit(main())
