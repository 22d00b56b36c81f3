"""Sections 1 and 2: vectors of parts and constructions."""

from encryption.constructions import box, box_bytes, box_pair
from encryption.parts import text

from .checker import parts_of
from .making import FAR_BEYOND, damages, randomness

LENGTHS = (0, 1, 31, 32, 33, 1000, 1023, 1024, 1025, 1088, 1089, 2047, 2048, 2049, 65_495, 65_496, 65_497, 200_000,
           1_000_000, 2**32 - 1, 2**32, 2**40 + 1)
PARTS = [["u8", 5], ["u32", 4_000_000_000], ["u64", "18446744073709551615"], ["text", "Grüße, 世界 \U0001f30a"],
         ["bytes", "00ff10"]]
MESSAGES = (
    ("no parts", "example", []), ("a part of each kind", "example", PARTS), ("another label", "example-2", PARTS),
    ("an empty text", "example", [["text", ""]]),
    ("empty bytes, the same as an empty text", "example", [["bytes", ""]]),
    ("an accent in one code point", "example", [["text", "Zo\u00e9"]]),
    ("the same accent in two code points, which is another text", "example", [["text", "Zoe\u0301"]]),
    ("a text with a zero in it", "example", [["text", "a\u0000b"]]),
    ("more than one block", "example", [["bytes", randomness("blocks")(300).hex()]]))


def add(vectors):
    """Adds all of them."""
    for length in LENGTHS:
        vectors.add("pad", f"a length of {length}", length=length)
    key = randomness("a key of 32 bytes")(32)
    for name, label, parts in MESSAGES:
        vectors.add("hash", name, label=label, parts=parts)
        vectors.add("derive", name, key=key, label=label, parts=parts)
    derive = vectors.like("derive", key=key[:16], label="example", parts=PARTS)
    derive("a key of 16 bytes, as a recovery code is")
    derive("the same key and sixteen zeros, which is another", key=key[:16] + bytes(16))
    for name in ("a seed of zeros", "a seed", "another seed"):
        seed = bytes(32) if name == "a seed of zeros" else randomness(name)(32)
        vectors.add("seed", name, seed=seed)
        vectors.add("sign", f"{name}, a message of parts", seed=seed, label="example", parts=PARTS)
        vectors.add("sign", f"{name}, no parts", seed=seed, label="example", parts=[])
    add_boxes(vectors)


def add_boxes(vectors):
    """Section 2: boxes."""
    seed = randomness("a receiver")(32)
    public = box_pair(seed)[0]
    sealed = box(public, randomness("a bad box"), "example", *parts_of(PARTS))
    like = vectors.like("box", seed=seed, label="example", box=sealed)
    like.each(None, "box", {name: box(public, randomness(name), "example", *parts_of(parts)) for name, parts in (
        ("a box with no parts", []), ("a box with parts", PARTS))})
    like.each("damaged", "box", damages(sealed, {"the one-time key": 3, "the tag": 40, "the content": 50}))
    like("no bytes at all", "damaged", box=b"")
    like("of another receiver", "damaged", seed=randomness("another")(32))
    like("of another label", "damaged", label="example-2")
    like.each("damaged", "box", {name: box_bytes(public, randomness(name), plain) for name, plain in (
        ("without a label", b""), ("a label without its length", b"brume/1/example"),
        ("a label longer than the end", FAR_BEYOND + b"brume/1/example"),
        ("a label of another version", text("brume/2/example")))})
