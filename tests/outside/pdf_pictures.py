"""Pictures of pages beside the stored ones, for pdf.py. Gray in 16 steps is enough to see a page, and small."""

import struct
import subprocess
import zlib

from secure_programs import ROOT

STORED = ROOT / "tests/outside/pictures"
DOTS_PER_INCH = 60
# Of 16 steps of gray; less is what another version of poppler may do to the edge of a letter.
STEPS_APART = 4
# Of all dots of a page. Another letter is much less than what a block at another height changes.
SHARE_MAX = 0.01


def page(file, number):
    """Width, height and rows of a page, a byte for each dot, 0 to 15."""
    command = ["pdftoppm", "-r", str(DOTS_PER_INCH), "-gray", "-f", str(number), "-l", str(number), str(file)]
    picture = subprocess.run(command, check=True, capture_output=True).stdout
    kind, size, deepest, dots = picture.split(b"\n", 3)
    assert (kind, deepest) == (b"P5", b"255"), picture[:20]
    width, height = map(int, size.split())
    steps = dots.translate(bytes(value // 16 for value in range(256)))
    return width, height, [steps[row * width : (row + 1) * width] for row in range(height)]


def blanked(picture, top):
    """A picture that is white from `top`, in points, to its lower edge."""
    width, height, rows = picture
    first = max(0, int(top * DOTS_PER_INCH / 72) - 2)
    return width, height, rows[:first] + [b"\x0f" * width] * (height - first)


def share_apart(one, other):
    """The share of dots that are not alike; all of them when the sizes differ."""
    if one[:2] != other[:2]:
        return 1.0
    pairs = ((a, b) for row, against in zip(one[2], other[2]) if row != against for a, b in zip(row, against))
    return sum(abs(a - b) >= STEPS_APART for a, b in pairs) / (one[0] * one[1])


def write(path, picture):
    """A PNG of 4 bits for each dot."""
    width, height, rows = picture
    packed = []
    for row in rows:
        row += b"\x00" * (width % 2)
        packed.append(b"\x00" + bytes(left << 4 | right for left, right in zip(row[::2], row[1::2])))
    head = struct.pack(">IIBBBBB", width, height, 4, 0, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(b"".join(packed), 9)), (b"IEND", b"")]
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for name, data in parts:
            file.write(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)))


def read(path):
    """A picture that `write` made."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        (length,), name = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        part = data[at + 8 : at + 8 + length]
        at += 12 + length
        if name == b"IHDR":
            width, height, *form = struct.unpack(">IIBBBBB", part)
            assert form == [4, 0, 0, 0, 0], f"{path} was written by another program"
        if name == b"IDAT":
            packed += part
    lines, stride = zlib.decompress(packed), (width + 1) // 2 + 1
    rows = []
    for row in range(height):
        line = lines[row * stride : (row + 1) * stride]
        assert line[0] == 0, f"{path} was written by another program"
        rows.append(bytes(step for pair in line[1:] for step in (pair >> 4, pair & 15))[:width])
    return width, height, rows
