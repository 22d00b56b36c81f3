"""Section 10: the keys of a ring, and who opens them."""

import os
from dataclasses import dataclass, field

from .constructions import box, box_pair, derive, hash_of, open_box, public_keys, seal, unseal
from .messages import U32, bytes_of, checked, list_of, message
from .parts import Refusal, labelled, read_labelled, refuse_if, sized, u32
from .ring_entries import MOST_EARLIER_KEYS, TREE_RING, SignedEntry
from .ring_rules import read_entries


def key_commitment(ring, number, key):
    """Section 10: the commitment of a ring's key."""
    return hash_of("ring-key", ring.parts(), u32(number), sized(key))


def rise(pairs):
    """Section 10: whether the numbers of keys rise, from 1 on."""
    numbers = [0] + [each.number for each in pairs]
    return all(one < other for one, other in zip(numbers, numbers[1:]))


@message()
class NumberedKey:
    """Section 10: one of the earlier keys."""

    number: U32
    key: bytes_of(32)


KEYS = checked(list_of(NumberedKey.part, 0, MOST_EARLIER_KEYS), rise, "numbers of keys that do not rise")


@message("earlier")
class EarlierKeys:
    """Section 10: what an entry's earlier keys are sealed from."""

    ring_keys: KEYS
    tree_keys: KEYS


def seal_earlier_keys(ring, number, key, ring_keys, tree_keys=(), random=os.urandom):
    """Section 10: the earlier keys, pairs of number and key, sealed with the key of the entry."""
    earlier = EarlierKeys(*([NumberedKey(*pair) for pair in pairs] for pairs in (ring_keys, tree_keys)))
    return seal(derive(key, "earlier-keys-key"), labelled("earlier-keys", ring.parts(), u32(number)),
                earlier.encoded(), random)


def open_earlier_keys(ring, number, key, sealed):
    """Section 10: the ring's earlier keys and the tree's, each by number."""
    data = labelled("earlier-keys", ring.parts(), u32(number))
    earlier = EarlierKeys.decode(unseal(derive(key, "earlier-keys-key"), data, sealed))
    return ({each.number: each.key for each in keys} for keys in (earlier.ring_keys, earlier.tree_keys))


def seal_closed_key(ring, number, zone_key, key, random=os.urandom):
    """Section 10: the key of an entry that closes the ring, for whoever has the zone's newest key."""
    return seal(derive(zone_key, "closed-key", ring.parts()), labelled("closed-data", ring.parts(), u32(number)),
                labelled("closed", sized(key)), random)


def sign_entry(entry, author_seed, key, member_keys, random=os.urandom):
    """Section 10: signs an entry, with boxes for all; `member_keys` are theirs for boxes, in the entry's order."""
    unsigned = SignedEntry(entry.encoded(), b"", ())
    receivers = [*member_keys, *(each.keys.box for each in entry.open_invitations())]
    boxes = tuple(box(receiver, random, "ring-box", sized(key), sized(unsigned.hash)) for receiver in receivers)
    return SignedEntry(unsigned.entry, b"", boxes).signed_by(author_seed)


def boxed_key(signed, pair, place_in_list):
    """Section 10: the key of an entry from one of its boxes."""
    key, boxed_hash = read_labelled(open_box(pair, signed.boxes[place_in_list]), "ring-box", 32, 32)
    refuse_if(boxed_hash != signed.hash, "damaged", "the box of another entry")
    return key


@dataclass
class MemberReader:
    """Section 10: somebody who opens a ring's boxes as a member, with his identity's seed now."""

    user: str
    identity_seed: bytes

    def key(self, signed, statements):
        """Section 10: the key of an entry from the member's box."""
        member = signed.content.member(self.user)
        refuse_if(member is None, "keyMissing", "no member")
        seed = statements.seeds(self.identity_seed).get(statements.find(member.statement_hash).keys)
        refuse_if(seed is None, "keyMissing", "a box to an identity whose seed is not here")
        return boxed_key(signed, box_pair(seed), signed.content.members.index(member))


@dataclass
class InvitationReader:
    """Section 11: somebody who opens a ring's boxes with a link secret."""

    secret: bytes

    def invitation(self, entry):
        """Section 11: the invitation that has the secret's keys."""
        found = [each for each in entry.invitations if each.keys == public_keys(self.secret)]
        refuse_if(not found, "keyMissing", "no invitation with the keys of the secret")
        return found[0]

    def key(self, signed, statements):
        """Section 10: the key of an entry from the box of an open invitation."""
        entry, invitation = signed.content, self.invitation(signed.content)
        refuse_if(not invitation.open, "keyMissing", "an invitation without a box")
        position = len(entry.members) + entry.open_invitations().index(invitation)
        return boxed_key(signed, box_pair(self.secret), position)


@dataclass
class ZoneKeyReader:
    """Section 10: somebody who opens entries that close a tree's ring, with a key of the zone's."""

    number: int
    zone_key: bytes

    def key(self, signed, statements):
        """Section 10: the key of a closing entry."""
        entry, ring = signed.content, signed.content.ring.parts()
        refuse_if(not entry.closed or entry.zone_key != self.number, "keyMissing", "no closing entry of this key")
        data = labelled("closed-data", ring, u32(entry.number))
        return read_labelled(unseal(derive(self.zone_key, "closed-key", ring), data, entry.closed_key), "closed", 32)[0]


@dataclass
class OpenRing:
    """Section 10: what a reader has of a ring: its head, its keys by number, and a tree's keys from before it."""

    number: int
    hash: bytes
    keys: dict = field(default_factory=dict)
    tree_keys: dict = field(default_factory=dict)


def earlier_keys_of(read, position, key):
    """Section 10: an entry's earlier keys, those of the ring checked with the commitments of their entries."""
    entry = read[position].content
    refuse_if(key_commitment(entry.ring, entry.number, key) != entry.commitment, "damaged", "another key")
    ring_keys, tree_keys = open_earlier_keys(entry.ring, entry.number, key, entry.earlier)
    for number, ring_key in ring_keys.items():
        refuse_if(number >= entry.number, "damaged", "a key of an entry that is not before")
        commitment = read[number - 1].content.commitment
        refuse_if(key_commitment(entry.ring, number, ring_key) != commitment, "damaged", "another earlier key")
    begins = entry.ring.kind == TREE_RING and (position == 0 or read[position - 1].content.closed)
    refuse_if(tree_keys and not begins, "damaged", "tree keys where none belong")
    refuse_if(max(tree_keys, default=0) > entry.zone_key, "damaged", "a tree key above the zone's newest")
    return ring_keys, tree_keys


def open_ring(encoded_entries, statements, reader):
    """Section 10: checks a ring's chain and gives its head, with all keys that a reader reaches."""
    read = read_entries(encoded_entries, statements)
    if isinstance(reader, InvitationReader):
        reader.invitation(read[-1].content)
    opened = OpenRing(len(read), read[-1].hash)
    for position, signed in reversed(list(enumerate(read))):
        number = signed.content.number
        try:
            key = opened.keys.get(number) or reader.key(signed, statements)
            ring_keys, tree_keys = earlier_keys_of(read, position, key)
        except Refusal:
            continue  # its key is missing here
        opened.keys = {**ring_keys, **opened.keys, number: key}
        opened.tree_keys = {**tree_keys, **opened.tree_keys}
    return opened
