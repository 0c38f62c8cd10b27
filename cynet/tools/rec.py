"""Look at a file of records: count, list, check, extract.

python -m cynet.tools.rec FILE.rec                how many records, how large, of which kinds
python -m cynet.tools.rec FILE.rec --list 5       offset, id, label, kind, size of 5 (0: of all)
python -m cynet.tools.rec FILE.rec --check        decodes every image; exit status 1 at damage
python -m cynet.tools.rec FILE.rec --index        writes FILE.idx again
python -m cynet.tools.rec FILE.rec --extract DIR  writes images as files
"""

import argparse
import itertools
import os
import sys
from collections import Counter

from ..base.errors import CynetError
from ..base.files import write_atomically
from ..image.codec import decoded_rgb
from ..recordio.framing import RecordFile
from ..recordio.packing import unpack

_KINDS = {b"\xff\xd8": "jpg", b"\x89P": "png", b"BM": "bmp", b"GI": "gif", b"RI": "webp"}


def _kind(content):
    return _KINDS.get(content[:2], "bin")


def _images(file, damaged):
    """(offset, header, bytes) of each record of an image."""
    for offset in file.offsets(damaged.append):
        try:
            header, content = unpack(file.read_at(offset)[0])
        except CynetError as error:
            damaged.append(error)
            continue
        yield offset, header, content


def _numbers(label):
    return " ".join(f"{each:g}" for each in (label if hasattr(label, "__len__") else [label]))


def _summary(file, damaged, out):
    kinds, labels, count, size = Counter(), Counter(), 0, 0
    for _, header, content in _images(file, damaged):
        count, size = count + 1, size + len(content)
        kinds[_kind(content)] += 1
        if header.flag == 0:
            labels[header.label] += 1
    print(f"{count} records, {size / 1e6:.3g} MB of data in {file.size / 1e6:.3g} MB", file=out)
    print("kinds: " + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())), file=out)
    if labels:
        print(f"labels: {len(labels)}, from {min(labels):g} to {max(labels):g}", file=out)


def _list(file, most, damaged, out):
    found = _images(file, damaged)
    for offset, header, content in itertools.islice(found, most or None):
        text = f"{offset}\t{header.id}\t{_numbers(header.label)}\t{_kind(content)}\t{len(content)}"
        print(text, file=out)


def _check(file, damaged, out):
    count = 0
    for offset, _, content in _images(file, damaged):
        try:
            decoded_rgb(content, name=f"the record at offset {offset}")
            count += 1
        except CynetError as error:
            damaged.append(error)
    print(f"{count} images are right", file=out)


def _index(file, path, damaged, out):
    lines, taken = [], set()
    for number, (offset, header, _) in enumerate(_images(file, damaged)):
        key = number if header.id in taken else header.id
        taken.add(key)
        lines.append(f"{key}\t{offset}\n".encode())
    name = os.path.splitext(path)[0] + ".idx"
    write_atomically(name, lines)
    print(f"{name}: {len(lines)} keys", file=out)


def _extract(file, folder, damaged, out):
    os.makedirs(folder, exist_ok=True)
    count = 0
    for count, (_, header, content) in enumerate(_images(file, damaged), 1):
        name = f"{count - 1:08d}_{header.id}.{_kind(content)}"
        write_atomically(os.path.join(folder, name), content)
    print(f"{count} files in {folder}", file=out)


def main(arguments=None, out=None):
    """Run the program; its exit status."""
    parser = argparse.ArgumentParser(
        "python -m cynet.tools.rec", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("file")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", type=int, metavar="N")
    what.add_argument("--check", action="store_true")
    what.add_argument("--index", action="store_true")
    what.add_argument("--extract", metavar="DIR")
    options = parser.parse_args(arguments)
    out = out or sys.stdout
    damaged = []
    try:
        file = RecordFile(options.file)
        if options.list is not None:
            _list(file, options.list, damaged, out)
        elif options.check:
            _check(file, damaged, out)
        elif options.index:
            _index(file, options.file, damaged, out)
        elif options.extract:
            _extract(file, options.extract, damaged, out)
        else:
            _summary(file, damaged, out)
    except (CynetError, OSError) as error:
        damaged.append(error)
    for error in damaged:
        print(f"error: {error}", file=sys.stderr)
    return 1 if damaged else 0


if __name__ == "__main__":
    sys.exit(main())
