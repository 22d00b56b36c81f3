"""Checks that the bytes in proto/README.md are what the page says of them.

    /usr/bin/python3 Tests/Python/test_page.py

It needs no server. test_client.py runs it too.
"""

import os
import re
import struct
import sys
import tempfile
import unittest

from google.protobuf import text_format

import brume_client
from brume_client import FRAME_HEADER, Protocol

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROTO = os.path.join(FOLDER, "../../proto")
PAGE = os.path.join(PROTO, "README.md")

# **Name**: type 1, flags 0, stream 0, `Hello` — then what the payload means, and the bytes of the whole frame.
BLOCK = re.compile(
    r"^\*\*(?P<name>[^*\n]+)\*\*: type (?P<type>\d+), flags (?P<flags>\d+), stream (?P<stream>\d+), (?P<payload>.+)\n\n"
    r"```\n(?P<meaning>[^`]*)```\n\n```\n(?P<bytes>[0-9a-f\s]+)```$", re.MULTILINE)
HEADER = re.compile(r"^```\n[0-9a-f]{2}( [0-9a-f]{2}){3}  [0-9a-f]{2} [0-9a-f]{2}  ", re.MULTILINE)


class Vector:
    """One frame of the page: what the page says of it, and its bytes."""

    def __init__(self, match):
        self.name = match["name"]
        self.type, self.flags, self.stream = int(match["type"]), int(match["flags"]), int(match["stream"])
        message = re.search(r"`(\w+)`", match["payload"])
        self.message = message[1] if message else None
        self.meaning = match["meaning"]
        self.bytes = bytes.fromhex(match["bytes"])


def vectors():
    """The frames of the page, by name."""
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    return {match["name"]: Vector(match) for match in BLOCK.finditer(page)}


class PageTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.vectors = vectors()
        with tempfile.TemporaryDirectory() as generated:
            cls.protocol = Protocol(PROTO, generated)

    def test_every_kind_of_block_is_there(self):
        types = {vector.type for vector in self.vectors.values()}
        self.assertEqual(
            types, {brume_client.HELLO, brume_client.WELCOME, brume_client.CALL, brume_client.MESSAGE,
                    brume_client.STATUS, brume_client.CREDIT, brume_client.PING, brume_client.PONG,
                    brume_client.GOAWAY})

    def test_the_page_has_no_other_bytes(self):
        with open(PAGE, encoding="utf-8") as file:
            blocks = HEADER.findall(file.read())
        self.assertEqual(len(blocks), len(self.vectors))

    def test_headers_and_payloads_are_what_the_page_says(self):
        for vector in self.vectors.values():
            with self.subTest(vector.name):
                length, kind, flags, stream = FRAME_HEADER.unpack(vector.bytes[:FRAME_HEADER.size])
                payload = vector.bytes[FRAME_HEADER.size:]
                self.assertEqual(length, len(payload))
                self.assertEqual((kind, flags, stream), (vector.type, vector.flags, vector.stream))
                if vector.message:
                    message = getattr(self.protocol, vector.message)
                    meant = text_format.Parse(vector.meaning, message())
                    self.assertEqual(message.FromString(payload), meant)
                    self.assertEqual(payload, meant.SerializeToString(deterministic=True))
                elif vector.type == brume_client.CREDIT:
                    self.assertEqual(list(struct.unpack(">II", payload)), [int(number) for number in vector.meaning.split()])
                else:
                    self.assertEqual(payload, bytes.fromhex(vector.meaning))

    def test_a_pong_answers_the_ping(self):
        self.assertEqual(self.vectors["A pong"].bytes[FRAME_HEADER.size:],
                         self.vectors["A ping"].bytes[FRAME_HEADER.size:])


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1)
