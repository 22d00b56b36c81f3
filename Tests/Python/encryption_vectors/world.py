"""Accounts, a zone and its rings, whose chains the vectors have."""

from dataclasses import replace

from encryption.constructions import public_keys
from encryption.links import make_invitation, make_join_proof
from encryption.parts import ZEROS
from encryption.ring_entries import ADMINISTRATOR, OWNER, READER, TREE_RING, WRITER, ZONE_RING, Entry, Member, Ring
from encryption.ring_keys import key_commitment, seal_closed_key, seal_earlier_keys, sign_entry
from encryption.trees import PRIVATE_TREE, Place, Tree

from .accounts import CONTAINER, make_account
from .making import randomness

ROLES = {"alice": OWNER, "bob": ADMINISTRATOR, "carol": WRITER, "dave": READER, "erin": READER, "frank": READER}


class World:
    """A zone and its rings: alice owns it, bob administers, carol writes, dave reads, the others join."""

    def __init__(self, vectors, label):
        self.vectors, self.label = vectors, label
        self.accounts = [make_account(name, label) for name in ROLES]
        random = randomness(f"world {label}")
        self.place = Place(CONTAINER, "development", "alice", "Notes", random(16))
        self.ring = Ring(self.place, ZONE_RING)
        self.tree_ring = Ring(self.place, TREE_RING, "note-1")
        self.keys = {number: random(32) for number in range(1, 8)}
        self.zone_keys = {number: random(32) for number in range(1, 8)}

    def account(self, name):
        """The account of that name that was made last."""
        return next(account for account in reversed(self.accounts) if account.name == name)

    def another_chain(self, name, label, **others):
        """From here on an account has another chain."""
        self.accounts.append(make_account(name, label, **others))

    def seed_of(self, statement_hash):
        """The identity's seed of a statement."""
        return next(seed for account in self.accounts for seed, signed in zip(account.seeds, account.signed)
                    if signed.hash == statement_hash)

    def member(self, name, role=None, position=-1):
        """A member with the last statement of his account, or another."""
        return Member(name, self.account(name).signed[position].hash, ROLES[name] if role is None else role)

    def members(self, names, **roles):
        """Members in this order, with the roles that they have, or others."""
        return [self.member(name, roles.get(name)) for name in names.split()]

    def secret(self, name):
        """An invitation's id and link secret."""
        random = randomness(f"invitation {self.label}, {name}")
        return random(16), random(32)

    def invitation(self, name, role=READER, for_one=0, is_open=0, maker="alice"):
        """An invitation, the same each time."""
        identifier, secret = self.secret(name)
        owner_key, maker_key = (public_keys(self.account(each).seeds[0]).box for each in ("alice", maker))
        return make_invitation(secret, identifier, maker, role, for_one, is_open, owner_key,
                               None if maker == "alice" else maker_key,
                               randomness(f"invitation {self.label}, {name}, {role}, {for_one}, {is_open}"))

    def joined(self, name, invitation, role=READER, **others):
        """A member who joins by an invitation; what the join proof is of can be another than it should be."""
        identifier, secret = self.secret(invitation)
        member = self.member(name, role)
        of = {"secret": secret, "ring": self.ring, "identifier": identifier, "guest": name,
              "guest_statement_hash": member.statement_hash, **others}
        return replace(member, invitation=identifier, proof=make_join_proof(**of))

    def entry(self, label, members, before=None, author="alice", ring=None, invitations=(), key=None, ring_keys=None,
              tree_keys=None, closed=0, zone_key=None, **changes):
        """An entry behind another, or a first one, not yet signed."""
        ring = ring or (before.content.ring if before else self.ring)
        number = before.content.number + 1 if before else 1
        key = key or self.keys[number]
        zone_key = (1 if ring.kind == TREE_RING else 0) if zone_key is None else zone_key
        if ring_keys is None:
            ring_keys = {number - 1: self.keys[number - 1]} if before else {}
        begins = ring.kind == TREE_RING and (before is None or before.content.closed)
        if tree_keys is None:
            tree_keys = self.tree_keys(zone_key) if begins else {}
        random = randomness(f"entry {self.label}, {label}")
        entry = Entry(
            ring=ring, number=number, before=before.hash if before else ZEROS, other_branch=b"", author=author,
            scope=before.content.scope if before else 0, assets=before.content.assets if before else 0,
            zone_key=zone_key, closed=closed, commitment=key_commitment(ring, number, key),
            earlier=seal_earlier_keys(ring, number, key, ring_keys.items(), tree_keys.items(), random),
            closed_key=seal_closed_key(ring, number, self.zone_keys[zone_key], key, random) if closed else b"",
            members=tuple(self.members(members) if isinstance(members, str) else members),
            invitations=tuple(invitations))
        return replace(entry, **changes)

    def tree_keys(self, newest):
        """The keys that the zone's keys gave the tree while it was private."""
        tree = Tree(self.place, PRIVATE_TREE, self.tree_ring.root)
        return {number: tree.key(self.zone_keys[number]) for number in range(1, newest + 1)}

    def sign(self, label, entry, signer=None, key=None):
        """The entry signed by its author, or by another, with boxes for its members and open invitations."""
        if signer is None:
            author = entry.member(entry.author)
            signer = self.seed_of(author.statement_hash) if author else self.account(entry.author).seeds[-1]
        member_keys = [public_keys(self.seed_of(each.statement_hash)).box for each in entry.members]
        return sign_entry(entry, signer, key or self.keys[entry.number], member_keys,
                          randomness(f"boxes {self.label}, {label}"))

    def step(self, label, members, before=None, **others):
        """An entry, signed by its author."""
        return self.sign(label, self.entry(label, members, before, **others), key=others.get("key"))

    def again(self, signed, **changes):
        """A signed entry with something else in it, signed anew by its author."""
        author = signed.content.member(signed.content.author)
        return replace(signed, **changes).signed_by(self.seed_of(author.statement_hash))

    def inputs(self, chain, reader="alice", invitation=None, zone_key=None, names=()):
        """A ring's vector, with the statements of all who are named in it, and the reader's."""
        named = {reader, *names}
        for signed in chain:
            named |= {signed.content.author, *(member.user for member in signed.content.members)}
        inputs = {"statements": [{"user": each.name, "signed": each.signed} for each in self.accounts
                                 if each.name in named], "entries": chain}
        if zone_key is not None:
            return {**inputs, "zoneKey": {"number": zone_key, "key": self.zone_keys[zone_key]}}
        if invitation is not None:
            return {**inputs, "reader": {"invitation": self.secret(invitation)[1]}}
        return {**inputs, "reader": {"user": reader, "seed": self.account(reader).seeds[-1]}}

    def add(self, name, *chain, refusal=None, **reading):
        """A vector of a chain."""
        self.vectors.add("ring", name, refusal, **self.inputs(chain, **reading))

    def refuse(self, refusal, name, members, *chain, **others):
        """A vector of a chain whose last entry, one of these members, is refused."""
        self.add(name, *chain, self.step(name, members, chain[-1] if chain else None, **others), refusal=refusal)
