"""Inspect a record file: count, list, check, extract.

python -m cynet.tools.rec FILE.rec                how many records, how large, of which kinds
python -m cynet.tools.rec FILE.rec --list 5       offset, id, label, kind, size of 5 (0: of all)
python -m cynet.tools.rec FILE.rec --check        decodes every image, and compares with the list
                                                  FILE.lst, if it is there, or --list LIST, and with
                                                  FILE.idx; exit status 1 at damage or differences
python -m cynet.tools.rec FILE.rec --index        writes FILE.idx again
python -m cynet.tools.rec FILE.rec --extract DIR  writes images as files
"""

import argparse
import itertools
import os
import sys
from collections import Counter

import numpy as np

from ..base.errors import CynetError, FormatError, listed, shown
from ..base.files import naming, write_atomically
from ..base.opencv import cv
from ..image.codec import decode_rgb
from ..image.source import read_list_file
from ..recordio.files import read_index
from ..recordio.framing import RecordFile
from ..recordio.packing import unpack

_IMAGE_KINDS = {b"\xff\xd8": "jpg", b"\x89P": "png", b"BM": "bmp", b"GI": "gif", b"RI": "webp"}


def _image_extension(content):
    return _IMAGE_KINDS.get(content[:2], "bin")


def _read_image_records(file, damaged):
    """Yield (offset, header, bytes) of each image record."""
    for offset in file.record_offsets(damaged.append):
        try:
            header, content = unpack(file.read_at(offset)[0])
        except CynetError as error:
            damaged.append(error)
            continue
        yield offset, header, content


def _label_text(label):
    return " ".join(f"{each:g}" for each in (label if hasattr(label, "__len__") else [label]))


def _print_summary(file, damaged, out):
    kinds, labels, count, size = Counter(), Counter(), 0, 0
    for _, header, content in _read_image_records(file, damaged):
        count, size = count + 1, size + len(content)
        kinds[_image_extension(content)] += 1
        if header.flag == 0:
            labels[header.label] += 1
    print(f"{count} records, {size / 1e6:.3g} MB of data in {file.size / 1e6:.3g} MB", file=out)
    print("kinds: " + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())), file=out)
    if labels:
        print(f"labels: {len(labels)}, from {min(labels):g} to {max(labels):g}", file=out)


def _list_records(file, maximum, damaged, out):
    found = _read_image_records(file, damaged)
    for offset, header, content in itertools.islice(found, maximum or None):
        label, kind = _label_text(header.label), _image_extension(content)
        print(f"{offset}\t{header.id}\t{label}\t{kind}\t{len(content)}", file=out)


def _check_records(file, path, wanted, damaged, out):
    """Decode all images; compare the records with a list, and with the index beside the file."""
    name = os.path.splitext(path)[0]
    if wanted is None and os.path.exists(f"{name}.lst"):
        wanted = f"{name}.lst"
    entries = None if wanted is None else read_list_file(wanted)
    count, found = 0, {}
    for offset, header, content in _read_image_records(file, damaged):
        found[offset] = header
        try:
            decode_rgb(content, name=f"the record at offset {offset}")
            count += 1
        except CynetError as error:
            damaged.append(error)
    print(f"{count} images are right", file=out)
    if not found:
        damaged.append(FormatError(f"{shown(path)} has no image"))
    if entries is not None:
        damaged += _differences_from_list(found, entries, wanted)
    if os.path.exists(f"{name}.idx"):
        damaged += _differences_from_index(found, f"{name}.idx")


def _differences_from_list(found, entries, name):
    """Return errors for records missing in a list, and entries without a record."""
    numbers = Counter(header.id for header in found.values())
    several = [number for number, times in numbers.items() if times > 1]
    labels = [
        header.id
        for header in found.values()
        if header.id in entries and not _has_same_label(header.label, entries[header.id][0])
    ]
    for what, which in (
        ("are not records of", [number for number in entries if number not in numbers]),
        ("are records that are not in the list, of", numbers.keys() - entries.keys()),
        ("are several records each, of", several),
        ("have other labels than in the list, of", labels),
    ):
        which = sorted(which)
        if which:
            few = listed(which[:10])
            yield FormatError(f"{name}: there {what} {len(which)} images: numbers {few}")


def _has_same_label(label, wanted):
    """Return whether a record has the labels of a list line, or only the first of them."""
    label = np.atleast_1d(np.asarray(label, np.float32))
    return np.array_equal(label, wanted) or np.array_equal(label, wanted[:1])


def _differences_from_index(found, name):
    """Return errors for records missing in an index, and entries without a record."""
    offsets = set(read_index(name, str).values())
    for what, which in (
        ("offsets without a record", offsets - found.keys()),
        ("records that are not in it", found.keys() - offsets),
    ):
        if which:
            few = listed(sorted(which)[:10])
            yield FormatError(f"{name}: {len(which)} {what}: at {few}")


def _write_index(file, path, damaged, out):
    lines, taken = [], set()
    for number, (offset, header, _) in enumerate(_read_image_records(file, damaged)):
        key = number if header.id in taken else header.id
        taken.add(key)
        lines.append(f"{key}\t{offset}\n".encode())
    name = os.path.splitext(path)[0] + ".idx"
    if not lines:
        raise FormatError(f"{name} is not written: {shown(path)} has no record")
    write_atomically(name, lines)
    print(f"{name}: {len(lines)} keys", file=out)


def _extract_images(file, folder, damaged, out):
    with naming("make the folder", folder):
        os.makedirs(folder, exist_ok=True)
    count = 0
    for count, (_, header, content) in enumerate(_read_image_records(file, damaged), 1):
        name = f"{count - 1:08d}_{header.id}.{_image_extension(content)}"
        write_atomically(os.path.join(folder, name), content)
    print(f"{count} files in {folder}", file=out)


def main(arguments=None, out=None):
    """Run the program; return its exit status."""
    parser = argparse.ArgumentParser(
        "python -m cynet.tools.rec",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE.rec", help="file of records")
    what = parser.add_mutually_exclusive_group()
    parser.add_argument(
        "--list", metavar="N", help="show N records, 0: all; with --check: the list to compare with"
    )
    what.add_argument("--check", action="store_true", help="decode every image; status 1 at damage")
    what.add_argument("--index", action="store_true", help="write FILE.idx again")
    what.add_argument("--extract", metavar="DIR", help="write the images as files into DIR")
    options = parser.parse_args(arguments)
    if options.list is not None and not options.check:
        if options.index or options.extract:
            parser.error("--list goes with --check, or alone")
        if not options.list.isdecimal():
            parser.error(f"--list: a number of records, or with --check a file: {options.list}")
    out = out or sys.stdout
    damaged = []
    try:
        file = RecordFile(options.file)
        if options.check:
            cv()
        if options.check:
            _check_records(file, options.file, options.list, damaged, out)
        elif options.list is not None:
            _list_records(file, int(options.list), damaged, out)
        elif options.index:
            _write_index(file, options.file, damaged, out)
        elif options.extract:
            _extract_images(file, options.extract, damaged, out)
        else:
            _print_summary(file, damaged, out)
    except (CynetError, OSError, ImportError) as error:
        damaged.append(error)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    for error in damaged:
        print(f"error: {error}", file=sys.stderr)
    return 1 if damaged else 0


if __name__ == "__main__":
    sys.exit(main())
