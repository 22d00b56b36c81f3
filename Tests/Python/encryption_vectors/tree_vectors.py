"""Sections 3 to 5: vectors of trees, encrypted values and stamps."""

from dataclasses import replace

from encryption.constructions import derive, seal
from encryption.parts import sized, u32
from encryption.trees import (PRIVATE_TREE, SHARED_TREE, Place, Tree, make_stamp, make_value, padded_value, stamp_data,
                              value_data)

from .making import FAR_BEYOND, damages, flipped, newer, randomness, replaced_at

NAMES = ("note-1-line-7", "Line", "words", "STRING")
STAMPED = ("note-1-line-7", "Line", "note-1")


def of_tree(tree, number):
    """Place and tree as inputs."""
    return {"place": tree.place, "tree": {"root": tree.root, "kind": tree.kind, "number": number}}


def named(names):
    """The names that go with a value as inputs."""
    return dict(zip(("record", "type", "field", "valueType"), names))


def add(vectors):
    """Adds all of them."""
    random = randomness("trees")
    place = Place("iCloud.notes", "production", "_0a1b2c", "Notizen ✏️", random(16))
    key = random(32)
    trees = {"a private tree": Tree(place, PRIVATE_TREE, "note-1"), "a shared tree": Tree(place, SHARED_TREE, "note-1"),
             "a whole zone": Tree(place, PRIVATE_TREE)}
    private, shared, whole = trees.values()
    elsewhere = {
        "another container": replace(place, container="iCloud.com.example.other"),
        "the other environment": replace(place, environment="development"),
        "another owner": replace(place, owner="_0a1b2d"), "another zone": replace(place, zone="Notizen"),
        "another life of the zone": replace(place, ring=flipped(place.ring, 0))}
    for name, tree in {**trees, **{name: replace(private, place=other) for name, other in elsewhere.items()}}.items():
        vectors.add("tree", name, place=tree.place, tree={"root": tree.root, "kind": tree.kind}, ringKey=key)
    for name, tree in trees.items():
        add_good(vectors, name, tree, key)
    others = {"of another root": replace(private, root="note-2"), "of a shared tree of the same root": shared,
              "of the whole zone": whole}
    others |= {f"of {name}": replace(private, place=other) for name, other in elsewhere.items()}
    add_bad_fields(vectors, private, key, others)
    others.pop("of the whole zone")
    add_bad_stamps(vectors, private, key, others)


def add_good(vectors, name, tree, key):
    """Values and stamps of a tree."""
    values = {"nothing": b"", "28 bytes, which fill the padding": b"y" * 28, "29 bytes, one too many for it": b"z" * 29}
    if tree.kind == SHARED_TREE:
        values |= {"1,020 bytes": bytes(1020), "1,021 bytes, from where on the padding is Padmé's": bytes(1021)}
    cases = [(f"a value of {what}", 3, NAMES, value, f"{name}, {what}") for what, value in values.items()]
    other_names = ("ÄÖ/1", "Type", "größe", "LIST<INT64>")
    cases.append(("other names and the highest number", 2**32 - 1, other_names, b"\1\2", name))
    for what, number, names, value, label in cases:
        sealed = make_value(tree, number, key, *names, value=value, random=randomness(label))
        vectors.add("field", f"{name}, {what}", **of_tree(tree, number), ringKey=key, **named(names), value=sealed)
    for what, parent in (("a parent", "note-1"), ("no parent", None)):
        stamp = make_stamp(tree, 1, key, *STAMPED[:2], parent, randomness(f"stamp, {name}, {what}"))
        vectors.add("stamp", f"{name}, {what}", **of_tree(tree, 1), ringKey=key, record=STAMPED[0], type=STAMPED[1],
                    parent=parent, stamp=stamp)


def add_bad_fields(vectors, tree, key, others):
    """Section 4: values that are refused."""
    sealed = make_value(tree, 3, key, *NAMES, value=b"some words", random=randomness("a field"))
    bad = vectors.like("field", **of_tree(tree, 3), ringKey=key, **named(NAMES), value=sealed)
    bad.each("newer", "value", newer(sealed))
    bad.each("damaged", "value", damages(sealed, {"the nonce": 23, "the content": 50, "the tag": -1}))
    bad.each("damaged", "value", {
        "no bytes at all": b"", "only a format": sealed[:1], "a header that is cut": sealed[:22],
        "only a header": sealed[:23], "one byte less than anything sealed": sealed[:23 + 39]})
    bad("another format and nothing else", "newer", value=b"\x02")
    bad.each("wrongTree", "value", {
        "the tree id": flipped(sealed, 2), "the last byte of the tree id": flipped(sealed, 17),
        "the kind": flipped(sealed, 18)}, "a bit flipped in ")
    bad("a kind that does not exist", "damaged", value=replaced_at(sealed, 18, b"\x02"))
    bad.each("keyMissing", "value", {"the number": flipped(sealed, 19, 2), "the highest byte of the number": flipped(
        sealed, 22, 7)}, "a bit flipped in ")
    bad("the number 0, which no key has", "damaged", value=replaced_at(sealed, 19, bytes(4)))
    for name, other in others.items():
        bad(name, "wrongTree", **of_tree(other, 3))
    bad("another number", "keyMissing", **of_tree(tree, 4))
    bad("another key of the ring", "damaged", ringKey=flipped(key, 0))
    for name, changes in (
            ("of another record", {"record": "note-1-line-8"}), ("of another record type", {"type": "Lines"}),
            ("of another field", {"field": "word"}), ("of another value type", {"valueType": "BYTES"}),
            ("names that flow into each other", {"record": "note-1-line-7L", "type": "ine"})):
        bad(name, "damaged", **changes)
    header, words = sealed[:23], sized(b"some words")
    data, field_key = value_data(header, tree.place, *NAMES), derive(tree.key(key), "field-key")
    bad.each("damaged", "value", {name: header + seal(field_key, data, plain, randomness(name)) for name, plain in (
        ("a padding that is not zeros", words + bytes(17) + b"\x01"),
        ("a padding that is one step too long", words + bytes(50)), ("no padding", words),
        ("a padding that is one byte short", words + bytes(17)), ("a length beyond the end", u32(29) + bytes(28)),
        ("a length far beyond the end", FAR_BEYOND + bytes(28)), ("no length", b"\0\0\0"), ("nothing sealed", b""))})
    for name, label, other_key in (
            ("sealed with the stamps' key", "as a stamp", derive(tree.key(key), "stamp-key")),
            ("sealed with the tree's key itself", "as a tree", tree.key(key))):
        bad(name, "damaged", value=header + seal(other_key, data, padded_value(b"some words"), randomness(label)))


def add_bad_stamps(vectors, tree, key, others):
    """Section 5: stamps that are refused."""
    stamp = make_stamp(tree, 1, key, *STAMPED, randomness("a stamp"))
    bad = vectors.like("stamp", **of_tree(tree, 1), ringKey=key, record=STAMPED[0], type=STAMPED[1], parent=STAMPED[2],
                       stamp=stamp)
    bad.each("newer", "stamp", newer(stamp))
    bad.each("damaged", "stamp", damages(stamp, {"the nonce": 30, "the tag": -1}))
    bad.each("damaged", "stamp", {"no bytes at all": b"", "only a header": stamp[:23]})
    bad.each("wrongTree", "stamp", {"the tree id": flipped(stamp, 9), "the kind": flipped(stamp, 18)},
             "a bit flipped in ")
    bad("a bit flipped in the number", "keyMissing", stamp=flipped(stamp, 19, 1))
    for name, other in others.items():
        bad(name, "wrongTree", **of_tree(other, 1))
    bad("another number", "keyMissing", **of_tree(tree, 2))
    for name, changes in (
            ("another key of the ring", {"ringKey": flipped(key, 0)}), ("of another record", {"record": "note-1"}),
            ("of another record type", {"type": "Note"}), ("of another parent", {"parent": "note-2"}),
            ("of a record without a parent", {"parent": None}), ("of a parent without a name", {"parent": ""})):
        bad(name, "damaged", **changes)
    data = stamp_data(stamp[:23], tree.place, *STAMPED)
    for name, key_label, plain, label in (("with something sealed", "stamp-key", b"\0", "something"),
                                          ("sealed with the fields' key", "field-key", b"", "as a field")):
        sealed = seal(derive(tree.key(key), key_label), data, plain, randomness(label))
        bad(name, "damaged", stamp=stamp[:23] + sealed)
