"""Accounts whose chains the vectors have."""

from dataclasses import dataclass, replace

from encryption.codes import paper_pair
from encryption.constructions import public_keys
from encryption.parts import ZEROS
from encryption.statements import (Device, Statement, seal_device_name, seal_earlier_seed, sign_statement,
                                   signed_by_own)

from .making import randomness

CONTAINER = "iCloud.notes"


def make_statement(account, number, before, seed, code, devices, random, seed_before=None, first_name="",
                   environment="development", container=CONTAINER):
    """A statement, its devices given by their seeds; the seed before where it was another."""
    listed = []
    for name, keys in zip([first_name] + [""] * len(devices), map(public_keys, devices)):
        listed.append(Device(keys, seal_device_name(seed, keys.box, name, random) if name else b""))
    earlier = b"" if seed_before is None else seal_earlier_seed(seed, before, seed_before, random)
    return Statement(account, container, environment, number, before, public_keys(seed),
                     paper_pair(code, account, container, environment)[0], tuple(listed), earlier)


def signed_again(seed, signed, **changes):
    """A signed statement with something else in it, signed anew by its own identity."""
    return signed_by_own(replace(signed, **changes), seed)


class Identity:
    """An account's chain of four: it begins, a device joins, a device goes with seed and code renewed, one joins."""

    def __init__(self):
        random = randomness("identity")
        self.seeds, self.devices = [random(32) for _ in range(3)], [random(32) for _ in range(4)]
        self.codes = [random(16) for _ in range(3)]
        first = make_statement("alice", 1, ZEROS, self.seeds[0], self.codes[0], self.devices[:1], random,
                               first_name="Laptop")
        self.first = sign_statement(first, self.seeds[0], None, self.codes[0], random)
        self.second = self.sign(self.statement(random, devices=(0, 1)))
        third = self.statement(random, 1, 1, (1,), behind=self.second)
        self.third = self.sign(third, self.seeds[1], code=self.codes[1])
        fourth = self.statement(random, 1, 1, (1, 2), behind=self.third, seed_before=None)
        self.fourth = self.sign(fourth, self.seeds[1], self.seeds[1])
        self.chain = [self.first, self.second, self.third, self.fourth]

    def sign(self, content, seed=None, before=None, code=None):
        """Signs a statement that has one before; seeds are the first one where none are given."""
        return sign_statement(content, seed or self.seeds[0], before or self.seeds[0], code,
                              randomness(f"signing {content.encoded().hex()}"))

    def sign_first(self, content):
        """Signs a first statement."""
        return sign_statement(content, self.seeds[0], None, self.codes[0],
                              randomness(f"signing {content.encoded().hex()}"))

    def statement(self, random, seed=0, code=0, devices=(0,), behind=None, seed_before=0):
        """A statement behind the first or another, with the seeds, codes and devices of these positions."""
        behind = behind or self.first
        before = None if seed_before in (None, seed) else self.seeds[seed_before]
        return make_statement("alice", behind.content.number + 1, behind.hash, self.seeds[seed], self.codes[code],
                              [self.devices[each] for each in devices], random, before)

    def follow(self, label, seed=0, code=0, devices=(0,), behind=None, seed_before=0, **changes):
        """The same, signed, with something in it changed."""
        statement = self.statement(randomness(label), seed, code, devices, behind, seed_before)
        return self.sign(replace(statement, **changes), self.seeds[seed], self.seeds[seed_before or 0],
                         self.codes[code] if code else None)


@dataclass
class Account:
    """An account with a chain of statements, the seed of each of them, and its device and code."""

    name: str
    seeds: list
    device: bytes
    code: bytes
    signed: list

    def renew(self, label):
        """Goes on with another seed."""
        random = randomness(f"renewed {label}, {self.name}, {len(self.signed)}")
        seed, before = random(32), self.seeds[-1]
        statement = make_statement(self.name, len(self.signed) + 1, self.signed[-1].hash, seed, self.code,
                                   [self.device], random, before)
        self.signed.append(sign_statement(statement, seed, before, None, random))
        self.seeds.append(seed)


def make_account(name, label, environment="development", container=CONTAINER):
    """An account of one device, with its first statement."""
    random = randomness(f"account {name}, {label}, {environment}, {container}")
    seed, device, code = random(32), random(32), random(16)
    statement = make_statement(name, 1, ZEROS, seed, code, [device], random, None, "", environment, container)
    return Account(name, [seed], device, code, [sign_statement(statement, seed, None, code, random)])
