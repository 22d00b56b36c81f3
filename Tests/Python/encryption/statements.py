"""Section 8: statements, one by one."""

import os
from dataclasses import replace
from functools import cached_property

from .codes import make_anchor
from .constructions import (BOX_BYTES, BOX_KEY, SEAL_BYTES, Keys, box, check_signature, derive, hash_of, public_keys,
                            seal, sign, unseal)
from .messages import ACCOUNT, ENVIRONMENT, NUMBER, TEXT, Part, bytes_of, checked, list_of, message
from .parts import Refusal, labelled, length_of_labelled, listed_bytes, read_labelled, refuse_if, sized

MOST_DEVICES = 64
MOST_NAME_BYTES, MOST_SEALED_NAME_BYTES = 200, 256
EARLIER_SEED_BYTES = SEAL_BYTES + length_of_labelled("earlier-seed", 32)
IDENTITY_BOX_BYTES = BOX_BYTES + length_of_labelled("identity-box", 32)


# Section 2: a device's public keys in a statement, where the one for signatures may be any bytes.
DEVICE_KEYS = Part(lambda keys: keys.parts(), lambda parts: Keys(parts.sized(32), BOX_KEY.read(parts)))


@message()
class Device:
    """Section 8: a device in a statement; `name` is sealed, or empty."""

    keys: DEVICE_KEYS
    name: checked(bytes_of(), lambda name: len(name) <= MOST_SEALED_NAME_BYTES, "a name that is too long") = b""


@message("statement", versioned=True)
class Statement:
    """Section 8: one statement of an account's chain."""

    account: ACCOUNT
    container: TEXT
    environment: ENVIRONMENT
    number: NUMBER
    before: bytes_of(32)
    keys: Keys.part
    code: BOX_KEY
    devices: list_of(Device.part, 1, MOST_DEVICES)
    earlier_seed: bytes_of(0, EARLIER_SEED_BYTES) = b""

    @property
    def scope(self):
        """Section 8: what is the same in all statements of a chain."""
        return self.account, self.container, self.environment

    @property
    def device_keys(self):
        """Section 8: the keys of each device, in the statement's order."""
        return [device.keys for device in self.devices]

    def check(self):
        """Section 8: refuses a key that stands twice, and an earlier seed in a first statement."""
        all_keys = [self.code, *(key for keys in [self.keys, *self.device_keys] for key in (keys.signing, keys.box))]
        refuse_if(len(set(all_keys)) != len(all_keys), "damaged", "a key that stands twice")
        refuse_if(self.number == 1 and self.earlier_seed, "damaged", "an earlier seed in a first statement")


@message("signed-statement")
class SignedStatement:
    """Section 8: a statement with its signatures, anchor and boxes."""

    statement: bytes_of()
    own: bytes_of(64)
    by_before: bytes_of(0, 64)
    anchor: bytes_of(0, 32)
    boxes: list_of(bytes_of(IDENTITY_BOX_BYTES), 2, MOST_DEVICES + 1)

    def own_parts(self):
        """Section 8: what a statement's own identity signs."""
        return sized(self.statement), sized(self.anchor), listed_bytes(self.boxes)

    @cached_property
    def hash(self):
        """Section 8: the statement's hash."""
        return statement_hash(self.statement)

    @cached_property
    def content(self):
        """Section 8: what the statement says."""
        return Statement.decode(self.statement)

    def check(self):
        """Section 8: refuses another number of boxes or signatures than the statement needs."""
        refuse_if(len(self.boxes) != len(self.content.devices) + 1, "damaged", "another number of boxes")
        has_before = self.by_before != b""
        refuse_if(has_before != (self.content.number > 1), "damaged", "a signature missing, or one too many")


def statement_hash(statement):
    """Section 8: the hash of a statement's bytes."""
    return hash_of("statement-hash", sized(statement))


def device_name_data(device_box):
    """Section 8: a device's name's associated data."""
    return labelled("device-name", sized(device_box))


def seal_device_name(identity_seed, device_box, name, random=os.urandom):
    """Section 8: a device's name, for the account's devices."""
    return seal(derive(identity_seed, "device-name-key"), device_name_data(device_box), name.encode("utf-8"), random)


def open_device_name(identity_seed, device_box, sealed):
    """Section 8: a device's name, None where there is none."""
    try:
        plain = unseal(derive(identity_seed, "device-name-key"), device_name_data(device_box), sealed)
        return plain.decode("utf-8") if 1 <= len(plain) <= MOST_NAME_BYTES else None
    except (Refusal, UnicodeDecodeError):
        return None


def earlier_seed_data(hash_before):
    """Section 8: the earlier seed's associated data."""
    return labelled("earlier-seed-data", sized(hash_before))


def seal_earlier_seed(identity_seed, hash_before, seed_before, random=os.urandom):
    """Section 8: the identity's earlier seed, for whoever has the new one."""
    return seal(derive(identity_seed, "earlier-seed-key"), earlier_seed_data(hash_before),
                labelled("earlier-seed", sized(seed_before)), random)


def open_earlier_seed(identity_seed, signed, before):
    """Section 8: the seed of the statement before, from the seed of the one behind it."""
    refuse_if(signed.content.before != before.hash, "brokenChain", "not the statement before")
    plain = unseal(derive(identity_seed, "earlier-seed-key"), earlier_seed_data(before.hash),
                   signed.content.earlier_seed)
    seed, = read_labelled(plain, "earlier-seed", 32)
    refuse_if(public_keys(seed) != before.content.keys, "damaged", "an earlier seed of another identity")
    return seed


def sign_statement(statement, identity_seed, seed_before=None, code=None, random=os.urandom):
    """Section 8: signs a statement, with boxes for all; `code` are the 16 bytes where the code is a new one."""
    encoded = statement.encoded()
    receivers = [keys.box for keys in statement.device_keys] + [statement.code]
    by_before = b"" if seed_before is None else sign(seed_before, "statement-next", sized(encoded))
    anchor = b"" if code is None else make_anchor(code, statement_hash(encoded))
    boxes = tuple(box(receiver, random, "identity-box", sized(identity_seed)) for receiver in receivers)
    return signed_by_own(SignedStatement(encoded, b"", by_before, anchor, boxes), identity_seed)


def signed_by_own(signed, identity_seed):
    """Section 8: the same with the signature by its own identity."""
    return replace(signed, own=sign(identity_seed, "statement-own", *signed.own_parts()))


def check_own_signature(signed):
    """Section 8: refuses a statement that its own identity did not sign."""
    check_signature(signed.content.keys.signing, signed.own, "statement-own", *signed.own_parts())


def read_signed_statement(encoded):
    """Section 8: a signed statement, with its own identity's signature checked and nothing of the chain."""
    signed = SignedStatement.decode(encoded)
    check_own_signature(signed)
    return signed
