"""Section 10: the entries of a ring, one by one."""

from dataclasses import replace
from functools import cached_property

from .constructions import BOX_BYTES, SEAL_BYTES, Keys, hash_of, sign
from .messages import FLAG, NUMBER, TEXT, U8, U32, bytes_of, checked, list_of, message, one_of
from .parts import length_of_labelled, listed_bytes, refuse_if, sized
from .trees import Place

ZONE_RING, TREE_RING = 0, 1
OWNER, ADMINISTRATOR, WRITER, READER = 0, 1, 2, 3
MOST_ENTRIES, MOST_MEMBERS, MOST_INVITATIONS, MOST_EARLIER_KEYS = 16_384, 128, 32, 1_000
EARLIER_KEY_BYTES = 4 + 4 + 32
LEAST_EARLIER_BYTES = SEAL_BYTES + length_of_labelled("earlier") + 4 + 4
CLOSED_KEY_BYTES = SEAL_BYTES + length_of_labelled("closed", 32)
RING_BOX_BYTES = BOX_BYTES + length_of_labelled("ring-box", 32, 32)
LINK_BOX_BYTES = BOX_BYTES + length_of_labelled("link-box", 16, 32)
ROLE = one_of(U8, OWNER, ADMINISTRATOR, WRITER, READER)


def is_length_of_earlier(sealed):
    """Section 10: whether earlier keys have the length of some number of keys."""
    keys_bytes = len(sealed) - LEAST_EARLIER_BYTES
    return keys_bytes % EARLIER_KEY_BYTES == 0 and 0 <= keys_bytes <= 2 * MOST_EARLIER_KEYS * EARLIER_KEY_BYTES


@message()
class Ring:
    """Section 10: which ring: a zone's, or that of a record whose tree is shared."""

    place: Place.part
    kind: one_of(U8, ZONE_RING, TREE_RING)
    root: TEXT = ""


@message()
class Member:
    """Section 10: a member in an entry; `invitation` and `proof` where he joins by an invitation in it."""

    user: TEXT
    statement_hash: bytes_of(32)
    role: ROLE
    invitation: bytes_of(0, 16) = b""
    proof: bytes_of(0, 64) = b""


@message()
class Invitation:
    """Section 10: an invitation in an entry; `to_owner` and `to_maker` are boxes with its secret."""

    identifier: bytes_of(16)
    maker: TEXT
    role: ROLE
    for_one: FLAG
    open: FLAG
    keys: Keys.part
    to_owner: bytes_of(LINK_BOX_BYTES)
    to_maker: bytes_of(0, LINK_BOX_BYTES) = b""


@message("ring-entry", versioned=True)
class Entry:
    """Section 10: one entry of a ring's chain."""

    ring: Ring.part
    number: NUMBER
    before: bytes_of(32)
    other_branch: bytes_of(0, 32)
    author: TEXT
    scope: FLAG
    assets: FLAG
    zone_key: U32
    closed: FLAG
    commitment: bytes_of(32)
    earlier: checked(bytes_of(), is_length_of_earlier, "earlier keys of another length")
    closed_key: bytes_of(0, CLOSED_KEY_BYTES)
    members: list_of(Member.part, 1, MOST_MEMBERS)
    invitations: list_of(Invitation.part, 0, MOST_INVITATIONS) = ()

    def check(self):
        """Section 10: refuses parts that are there or missing against what the same bytes say."""
        of_tree, owner = self.ring.kind == TREE_RING, self.ring.place.owner
        has_to_maker = all((each.maker != owner) == (each.to_maker != b"") for each in self.invitations)
        has_pairs = all((each.invitation == b"") == (each.proof == b"") for each in self.members)
        refuse_if((self.ring.root != "") != of_tree, "damaged", "a ring that does not exist")
        refuse_if(not of_tree and (self.zone_key or self.closed), "damaged", "what only a tree's ring has")
        refuse_if(of_tree and (self.scope or not self.zone_key), "damaged", "what only a zone's ring has")
        refuse_if(self.zone_key > MOST_ENTRIES, "damaged", "a key of the zone that no entry can have")
        refuse_if(not has_to_maker, "damaged", "a box to an invitation's maker missing, or one too many")
        refuse_if(not has_pairs, "damaged", "a join proof without its invitation, or the reverse")
        refuse_if((self.closed_key != b"") != bool(self.closed), "damaged", "a closed key missing, or one too many")

    def member(self, user):
        """Section 10: the member of that name, or None."""
        return next((each for each in self.members if each.user == user), None)

    def invitation(self, identifier):
        """Section 10: the invitation of that id, or None."""
        return next((each for each in self.invitations if each.identifier == identifier), None)

    def open_invitations(self):
        """Section 10: the invitations that have boxes, in the entry's order."""
        return [each for each in self.invitations if each.open]


@message("signed-ring-entry")
class SignedEntry:
    """Section 10: an entry with its signature and boxes."""

    entry: bytes_of()
    signature: bytes_of(64)
    boxes: list_of(bytes_of(RING_BOX_BYTES), 1, MOST_MEMBERS + MOST_INVITATIONS)

    def own_parts(self):
        """Section 10: what the author signs."""
        return sized(self.entry), listed_bytes(self.boxes)

    def signed_by(self, author_seed):
        """Section 10: the same with the signature by its author's identity."""
        return replace(self, signature=sign(author_seed, "ring-sign", *self.own_parts()))

    @cached_property
    def hash(self):
        """Section 10: the entry's hash."""
        return hash_of("ring-hash", sized(self.entry))

    @cached_property
    def content(self):
        """Section 10: what the entry says."""
        return Entry.decode(self.entry)

    def check(self):
        """Section 10: refuses another number of boxes than of members and open invitations."""
        receivers = len(self.content.members) + len(self.content.open_invitations())
        refuse_if(len(self.boxes) != receivers, "damaged", "another number of boxes")
