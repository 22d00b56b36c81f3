"""Sections 1 and 13: parts, and refusals of what is not as the page describes it."""

import struct
from functools import partialmethod

FORMAT_AND_SUITE = b"\x01\x01"
ZEROS = bytes(32)
MOST_TEXT_BYTES = 1_024


class Refusal(Exception):
    """Section 13: what was read is refused; `name` is what the page calls it, `reason` is for people."""

    def __init__(self, name, reason):
        super().__init__(f"{name}: {reason}")
        self.name = name


def refuse_if(condition, name, reason):
    """Section 13: refuses where something holds."""
    if condition:
        raise Refusal(name, reason)


u8, u32, u64 = (struct.Struct(form).pack for form in ("<B", "<I", "<Q"))


def sized(value):
    """Section 1: `bytes`, of any length or of a fixed one."""
    return u32(len(value)) + value


def text(value):
    """Section 1: `text`."""
    return sized(value.encode("utf-8"))


def listed(elements):
    """Section 1: `list`, of elements that are written already."""
    return u32(len(elements)) + b"".join(elements)


def listed_bytes(elements):
    """Section 1: `list`, of elements that are `bytes`."""
    return listed([sized(each) for each in elements])


def labelled(label, *parts):
    """Section 1: a labelled message."""
    return text("brume/1/" + label) + b"".join(parts)


def length_of_labelled(label, *counts):
    """Section 1: how long a labelled message is whose parts are `bytes` of these lengths."""
    return len(labelled(label, *(sized(bytes(count)) for count in counts)))


class Parts:
    """Section 1: reads parts from bytes that came from elsewhere."""

    def __init__(self, source):
        self.source = source
        self.position = 0

    def raw(self, count):
        """Section 1: so many bytes, without a length."""
        refuse_if(count > len(self.source) - self.position, "damaged", "a length beyond the end")
        self.position += count
        return self.source[self.position - count:self.position]

    def integer(self, count):
        """Section 1: an integer of so many bytes."""
        return int.from_bytes(self.raw(count), "little")

    u8, u32, u64 = partialmethod(integer, 1), partialmethod(integer, 4), partialmethod(integer, 8)

    def sized(self, *counts):
        """Section 1: `bytes`, of one of these lengths where any are given."""
        count = self.u32()
        refuse_if(counts and count not in counts, "damaged", "bytes of another length")
        return self.raw(count)

    def text(self):
        """Section 1: `text`."""
        value = self.sized()
        refuse_if(len(value) > MOST_TEXT_BYTES, "damaged", "a text that is too long")
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            raise Refusal("damaged", "text that is not UTF-8") from None

    def count(self, least, most):
        """Section 1: the number of elements of a `list`."""
        count = self.u32()
        refuse_if(not least <= count <= most, "damaged", "a list of another length")
        return count

    def label(self, label):
        """Section 1: the label that a message has to have."""
        refuse_if(self.text() != "brume/1/" + label, "damaged", "another label")

    def format_and_suite(self):
        """Section 1: format and suite, which are 1 and 1 or newer."""
        for each in FORMAT_AND_SUITE:
            refuse_if(self.u8() != each, "newer", "needs a newer version")

    def end(self):
        """Section 1: nothing stands behind the last part."""
        refuse_if(self.position != len(self.source), "damaged", "bytes behind the last part")


def read_labelled(source, label, *counts):
    """Section 1: the parts of a labelled message that are `bytes` of these lengths."""
    parts = Parts(source)
    parts.label(label)
    values = [parts.sized(count) for count in counts]
    parts.end()
    return values
