"""Section 1: messages as tables of their parts, by which they are written and read."""

from dataclasses import dataclass
from typing import Callable, NamedTuple

from .parts import FORMAT_AND_SUITE, Parts, listed, refuse_if, sized, text, u8, u32, u64


class Part(NamedTuple):
    """Section 1: how a part is written, and how it is read from `Parts`."""

    write: Callable
    read: Callable


def checked(part, holds, reason):
    """Section 13: a part that is refused as damaged where something does not hold of its value."""
    def read(parts):
        value = part.read(parts)
        refuse_if(not holds(value), "damaged", reason)
        return value

    return Part(part.write, read)


def bytes_of(*counts):
    """Section 1: `bytes`, of one of these lengths where any are given."""
    return Part(sized, lambda parts: parts.sized(*counts))


def raw(count):
    """Section 1: so many bytes, without a length."""
    return Part(bytes, lambda parts: parts.raw(count))


def list_of(part, least, most):
    """Section 1: `list`, of so many elements."""
    return Part(lambda values: listed([part.write(each) for each in values]),
                lambda parts: tuple(part.read(parts) for _ in range(parts.count(least, most))))


def one_of(part, *values):
    """Section 1: a part with one of these values."""
    return checked(part, lambda value: value in values, "a value that does not exist")


U8, U32, U64, TEXT = (Part(u8, Parts.u8), Part(u32, Parts.u32), Part(u64, Parts.u64), Part(text, Parts.text))
FLAG = one_of(U8, 0, 1)
NUMBER = checked(U32, lambda value: value > 0, "a number that does not exist")
ACCOUNT = checked(TEXT, lambda value: value not in ("", "__defaultOwner__"), "no account has this name")
ENVIRONMENT = one_of(TEXT, "development", "production")


def message(label=None, versioned=False):
    """Section 1: makes of a class, whose fields are annotated with their parts, what is written and read so."""
    front = (b"" if label is None else text("brume/1/" + label)) + (FORMAT_AND_SUITE if versioned else b"")

    def parts_of(self):
        return b"".join(part.write(getattr(self, name)) for name, part in self.__annotations__.items())

    def encoded(self):
        return front + self.parts()

    def read(cls, parts):
        if label is not None:
            parts.label(label)
        if versioned:
            parts.format_and_suite()
        return cls(*(part.read(parts) for part in cls.__annotations__.values()))

    def decode(cls, source):
        parts = Parts(source)
        value = cls.read(parts)
        parts.end()
        value.check()
        return value

    def make(cls):
        cls = dataclass(frozen=True)(cls)
        cls.parts, cls.read, cls.decode = parts_of, classmethod(read), classmethod(decode)
        cls.check = getattr(cls, "check", lambda self: None)
        if front:
            cls.encoded = encoded
        cls.part = Part(lambda value: front + value.parts(), cls.read)
        return cls

    return make
