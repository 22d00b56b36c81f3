"""What all makers of vectors need: a collection, randomness that is the same each time, bytes damaged on purpose."""

import hashlib
import json
import struct

from .checker import fault_of, result_of
from .values import plain

FAR_BEYOND = b"\xff\xff\xff\xff"  # as a length or as a number of elements


class Vectors:
    """Collects vectors; each is checked as it comes, so that nothing is written that this side does not hold."""

    def __init__(self):
        self.list = []
        self.names = set()

    def add(self, kind, name, refusal=None, **inputs):
        """A good vector, its result computed; or a bad one, with its refusal."""
        assert (kind, name) not in self.names, (kind, name)
        self.names.add((kind, name))
        vector = {"kind": kind, "name": name, **plain(inputs)}
        vector |= {"result": result_of(vector)} if refusal is None else {"refusal": refusal}
        fault = fault_of(vector)
        assert fault is None, (kind, name, fault)
        self.list.append(vector)

    def like(self, kind, **inputs):
        """Adds vectors of one kind, most of whose inputs are these."""
        return Like(self, kind, inputs)

    def text(self):
        """All vectors, as the text of a file, one a line."""
        lines = ",\n".join(json.dumps(vector, separators=(",", ":"), ensure_ascii=True) for vector in self.list)
        return f'{{"format":1,"vectors":[\n{lines}\n]}}\n'


class Like:
    """Adds vectors of one kind, most of whose inputs are the same."""

    def __init__(self, vectors, kind, inputs):
        self.vectors, self.kind, self.inputs = vectors, kind, inputs

    def __call__(self, name, refusal=None, **changes):
        """A vector with some inputs changed."""
        self.vectors.add(self.kind, name, refusal, **{**self.inputs, **changes})

    def each(self, refusal, key, values, front=""):
        """Vectors with one input changed, its values by name."""
        for name, value in dict(values).items():
            self(front + name, refusal, **{key: value})


def randomness(label):
    """A callable that gives the same bytes each time: SHA-256 of a counter and the label."""
    counter = 0

    def random(count):
        nonlocal counter
        found = b""
        while len(found) < count:
            found += hashlib.sha256(struct.pack("<Q", counter) + label.encode("utf-8")).digest()
            counter += 1
        return found[:count]

    return random


def flipped(data, position, bit=0):
    """The bytes with one bit flipped."""
    position %= len(data)
    return data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1:]


def flipped_within(data, part, bit=0):
    """The bytes with one bit flipped in the last byte of a part that stands in them once."""
    return replaced(data, part, flipped(part, -1, bit))


def replaced(data, part, other):
    """The bytes with a part that stands in them once replaced by another."""
    assert data.count(part) == 1, part
    return data.replace(part, other)


def replaced_at(data, position, other):
    """The bytes with others written over them from a position on."""
    return data[:position] + other + data[position + len(other):]


def damages(data, parts):
    """What each format refuses as damaged: cut, longer, and one bit flipped at each of these positions."""
    yield "cut by one byte", data[:-1]
    yield "one byte more", data + b"\0"
    for name, position in parts.items():
        yield f"a bit flipped in {name}", flipped(data, position)


def newer(data, start=0):
    """Other formats and suites, which are newer; format and suite stand from a position on."""
    for name, position, value in (("another format", 0, 2), ("format 0", 0, 0), ("another suite", 1, 2)):
        yield name, replaced_at(data, start + position, bytes([value]))
