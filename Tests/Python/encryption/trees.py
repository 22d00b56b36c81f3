"""Sections 3 to 5: places and trees, encrypted values, stamps."""

import os
from dataclasses import dataclass

from .constructions import SEAL_BYTES, derive, hash_of, pad, seal, unseal
from .messages import ACCOUNT, ENVIRONMENT, NUMBER, TEXT, U8, bytes_of, message, one_of, raw
from .parts import Parts, labelled, refuse_if, sized, text, u8

HEADER_BYTES = 23
PRIVATE_TREE, SHARED_TREE = 0, 1


@message()
class Place:
    """Section 3: where a zone is, and which life of it."""

    container: TEXT
    environment: ENVIRONMENT
    owner: ACCOUNT
    zone: TEXT
    ring: bytes_of(16)


@dataclass(frozen=True)
class Tree:
    """Section 3: a tree of a place; the root is empty where all of the zone is one."""

    place: Place
    kind: int
    root: str = ""

    def identifier(self):
        """Section 3: the tree id, 16 bytes."""
        return hash_of("tree", self.place.parts(), text(self.root))[:16]

    def key(self, ring_key):
        """Section 3: the tree key, from the zone's ring or the tree's own."""
        label = "tree-key" if self.kind == PRIVATE_TREE else "shared-tree-key"
        return derive(ring_key, label, self.place.parts(), sized(self.identifier()))


@message(versioned=True)
class Header:
    """Section 4: what stands in front of a value or a stamp."""

    tree: raw(16)
    kind: one_of(U8, PRIVATE_TREE, SHARED_TREE)
    number: NUMBER


def make_header(tree, number):
    """Section 4: the header."""
    return Header(tree.identifier(), tree.kind, number).encoded()


def check_header(sealed, tree, number):
    """Sections 4 and 13: refuses what is of another tree, or of a key that is not here."""
    header = Header.decode(sealed[:HEADER_BYTES])
    refuse_if((header.tree, header.kind) != (tree.identifier(), tree.kind), "wrongTree", "another tree or kind")
    refuse_if(header.number != number, "keyMissing", "a key of another number")


def value_data(header, place, record, record_type, name, value_type):
    """Section 4: a value's associated data."""
    return labelled("field", sized(header), place.parts(), text(record), text(record_type), text(name),
                    text(value_type))


def padded_value(value):
    """Section 4: the value as `bytes`, then zeros."""
    return sized(value).ljust(pad(len(sized(value))), b"\0")


def make_value(tree, number, ring_key, *names, value, random=os.urandom):
    """Section 4: encrypts a field's value; the names are those of record, record type, field and value type."""
    header = make_header(tree, number)
    data = value_data(header, tree.place, *names)
    return header + seal(derive(tree.key(ring_key), "field-key"), data, padded_value(value), random)


def read_value(tree, number, ring_key, *names, sealed):
    """Section 4: opens a field's value."""
    check_header(sealed, tree, number)
    data = value_data(sealed[:HEADER_BYTES], tree.place, *names)
    plain = unseal(derive(tree.key(ring_key), "field-key"), data, sealed[HEADER_BYTES:])
    value = Parts(plain).sized()
    refuse_if(plain != padded_value(value), "damaged", "a padding of another length, or not of zeros")
    return value


def stamp_data(header, place, record, record_type, parent):
    """Section 5: a stamp's associated data; `parent` is None where there is none."""
    return labelled("stamp", sized(header), place.parts(), text(record), text(record_type),
                    u8(0 if parent is None else 1), text(parent or ""))


def make_stamp(tree, number, ring_key, record, record_type, parent, random=os.urandom):
    """Section 5: makes a stamp."""
    header = make_header(tree, number)
    data = stamp_data(header, tree.place, record, record_type, parent)
    return header + seal(derive(tree.key(ring_key), "stamp-key"), data, b"", random)


def check_stamp(tree, number, ring_key, record, record_type, parent, stamp):
    """Section 5: refuses a stamp that is not this record's."""
    check_header(stamp, tree, number)
    refuse_if(len(stamp) != HEADER_BYTES + SEAL_BYTES, "damaged", "a stamp of another size")
    data = stamp_data(stamp[:HEADER_BYTES], tree.place, record, record_type, parent)
    unseal(derive(tree.key(ring_key), "stamp-key"), data, stamp[HEADER_BYTES:])
