"""Section 10: the nine rules by which an entry is taken."""

from dataclasses import dataclass, field

from .chains import all_seeds
from .constructions import check_signature, public_keys
from .links import join_parts
from .parts import ZEROS, refuse_if
from .ring_entries import ADMINISTRATOR, MOST_ENTRIES, OWNER, READER, WRITER, SignedEntry

ENTRIES_OF_OWNER = 1_024
MOST_BYTES, BYTES_OF_OWNER = 64 * 1024 * 1024, 4 * 1024 * 1024


class Statements:
    """Section 10: the statements that a reader of rings has, in their chains."""

    def __init__(self, chains):
        self.chains = chains
        self.hashes = [[signed.hash for signed in chain] for chain in chains]

    def find(self, wanted):
        """Section 10: the statement of a hash, or None."""
        return next((signed.content for chain in self.chains for signed in chain if signed.hash == wanted), None)

    def distance(self, before, now):
        """Section 10: how much later one statement is than another of its chain; None where it is of another."""
        return next((hashes.index(now) - hashes.index(before) for hashes in self.hashes
                     if before in hashes and now in hashes), None)

    def seeds(self, identity_seed):
        """Section 10: an identity's seed and all that went before, by the keys that they give."""
        return {public_keys(seed): seed for chain in self.chains for seed in all_seeds(identity_seed, chain)}


@dataclass
class Changes:
    """Section 10: what an entry changes in the one before."""

    stay: dict = field(default_factory=dict)  # by name, the member before
    added: list = field(default_factory=list)
    renewed: set = field(default_factory=set)  # the names of those who stay with other keys
    dropped: bool = False


def broken_if(condition, reason):
    """Section 10: refuses what does not follow."""
    refuse_if(condition, "brokenChain", reason)


def forbid_if(condition, reason):
    """Section 10: refuses what an author may not do."""
    refuse_if(condition, "notAllowed", reason)


def check_order(entry, signed_before):
    """Section 10, rule 1: an entry is the first, or right behind another of the same ring."""
    if signed_before is None:
        broken_if(entry.number != 1 or entry.before != ZEROS or entry.other_branch or entry.closed
                  or entry.author != entry.ring.place.owner, "not a first entry")
        return
    before = signed_before.content
    broken_if((entry.ring, entry.scope, entry.assets) != (before.ring, before.scope, before.assets), "of another ring")
    broken_if(entry.number != before.number + 1 or entry.before != signed_before.hash, "does not follow")
    broken_if(entry.zone_key < before.zone_key, "an older key of the zone")
    broken_if(entry.number > MOST_ENTRIES, "more entries than there can be")


def check_statements(entry, statements):
    """Section 10, rule 3: each member's statement is his, of the place's container and environment."""
    place = entry.ring.place
    for member in entry.members:
        statement = statements.find(member.statement_hash)
        broken_if(statement is None, "a statement that is not known")
        broken_if(statement.scope != (member.user, place.container, place.environment), "a statement of another scope")


def changes_of(entry, before, statements):
    """Section 10, rule 3: who stays, is added and is dropped; another chain is another member."""
    changes = Changes()
    for member in entry.members:
        member_before = before.member(member.user) if before else None
        distance = statements.distance(member_before.statement_hash, member.statement_hash) if member_before else None
        if distance is None:
            changes.added.append(member)
        else:
            broken_if(distance < 0, "a member with an earlier statement than before")
            changes.stay[member.user] = member_before
            if statements.find(member_before.statement_hash).keys != statements.find(member.statement_hash).keys:
                changes.renewed.add(member.user)
    changes.dropped = before is not None and any(member.user not in changes.stay for member in before.members)
    return changes


def check_signatures(signed, before, statements):
    """Section 10, rules 4 and 6: the author's signature, and the join proofs."""
    entry = signed.content
    author = entry.member(entry.author)
    forbid_if(author is None, "an author who is no member")
    keys = statements.find(author.statement_hash).keys
    check_signature(keys.signing, signed.signature, "ring-sign", *signed.own_parts())
    for member in entry.members:
        invitation = before.invitation(member.invitation) if before else None
        if invitation and member.proof:
            check_signature(invitation.keys.signing, member.proof, "join",
                            *join_parts(entry.ring, invitation.identifier, member.user, member.statement_hash))


def check_owner_alone(entry, before, byte_count):
    """Section 10, rules 1 and 9: what the owner alone does."""
    is_owner = entry.author == entry.ring.place.owner
    if before:
        forbid_if(not is_owner and entry.zone_key > before.zone_key, "a newer key of the zone, not by the owner")
        forbid_if(not is_owner and entry.other_branch, "another branch, not by the owner")
        is_near_end = entry.number > MOST_ENTRIES - ENTRIES_OF_OWNER or byte_count > MOST_BYTES - BYTES_OF_OWNER
        forbid_if(not is_owner and is_near_end, "a last entry, not by the owner")
    forbid_if(entry.closed and not is_owner, "a closing entry, not by the owner")
    forbid_if(entry.closed and (len(entry.members) != 1 or entry.invitations), "a closing entry of others, too")


def check_once(entry):
    """Section 10, rule 2: one owner, and nothing twice."""
    owners = [member.user for member in entry.members if member.role == OWNER]
    forbid_if(owners != [entry.ring.place.owner], "another owner, or none")
    names = [member.user for member in entry.members]
    identifiers = [invitation.identifier for invitation in entry.invitations]
    twice = any(len(set(each)) != len(each) for each in (names, identifiers, invitation_keys(entry.invitations)))
    forbid_if(twice, "a member or an invitation twice")


def invitation_keys(invitations):
    """Section 10: all keys of some invitations."""
    return [key for each in invitations for key in (each.keys.signing, each.keys.box)]


def check_members(entry, before, changes):
    """Section 10, rules 4 to 7: who wrote the entry, and whom he may add, drop and change."""
    if before is None:
        forbid_if(any(member.invitation or member.proof for member in entry.members), "a join proof in a first entry")
        return
    author_before = changes.stay.get(entry.author)
    forbid_if(author_before is None or author_before.role == READER, "an author who was no member, or a reader")
    role = author_before.role
    forbid_if(role != entry.member(entry.author).role, "an author who changes his own role")
    forbid_if(entry.ring.place.owner not in changes.stay, "another chain of the owner")
    for member in changes.added:
        check_added(member, before, role)
    for user, member_before in changes.stay.items():
        member = entry.member(user)
        forbid_if(member.invitation or member.proof, "a join proof of whom nobody added")
        if member.role != member_before.role:
            makes_administrators = ADMINISTRATOR in (member.role, member_before.role)
            forbid_if(role == WRITER or (role != OWNER and makes_administrators), "a role that he may not change")


def check_added(member, before, role_of_author):
    """Section 10, rules 5 and 6: whom an author adds; that a join proof holds was checked before."""
    if member.invitation or member.proof:
        invitation = before.invitation(member.invitation)
        forbid_if(invitation is None, "no invitation of the entry before")
        forbid_if(member.role < invitation.role, "a higher role than the invitation's")
    elif role_of_author == WRITER:
        forbid_if(True, "a writer adds nobody without an invitation")
    forbid_if(role_of_author == WRITER and before.member(member.user), "a writer takes no other chain of a member")
    forbid_if(member.role == ADMINISTRATOR and role_of_author != OWNER, "administrators come from the owner")


def check_invitations(entry, before, changes):
    """Section 10, rule 8: which invitations an entry adds, keeps and removes."""
    forbid_if(any(each.role not in (WRITER, READER) for each in entry.invitations), "it makes administrators")
    new = [each for each in entry.invitations if before is None or before.invitation(each.identifier) is None]
    forbid_if(any(each.maker != entry.author for each in new), "an invitation of another maker than the author")
    if before is None:
        return
    kept = [each for each in entry.invitations if each not in new]
    forbid_if(any(each != before.invitation(each.identifier) for each in kept), "one that is kept and changed")
    used = [member.invitation for member in changes.added if member.invitation]
    for identifier in used:
        again = entry.invitation(identifier) or used.count(identifier) > 1
        forbid_if(before.invitation(identifier).for_one and again, "an invitation for one guest that is used again")
    in_place = []  # what a new invitation may replace
    same_keys = set(invitation_keys(new)) & set(invitation_keys(before.invitations))
    forbid_if(same_keys, "a new invitation with keys of one before")
    if changes.dropped or changes.renewed:
        safe = set(changes.stay) - changes.renewed
        stay = all(each.for_one and {each.maker, entry.ring.place.owner} <= safe for each in kept)
        forbid_if(not stay, "an invitation for many, or of a maker who went or has other keys, that is kept")
        in_place = [(each.role, each.for_one, each.open) for each in before.invitations
                    if not each.for_one and entry.invitation(each.identifier) is None]
    if before.member(entry.author).role == WRITER:
        for each in new:
            forbid_if((each.role, each.for_one, each.open) not in in_place, "a writer adds no invitations")
            in_place.remove((each.role, each.for_one, each.open))


def check_entry(signed, signed_before, statements, byte_count):
    """Section 10: the nine rules; `byte_count` is of the chain with this entry."""
    entry, before = signed.content, signed_before.content if signed_before else None
    check_order(entry, signed_before)
    broken_if(byte_count > MOST_BYTES, "more bytes than a ring can have")
    check_statements(entry, statements)
    changes = changes_of(entry, before, statements)
    check_signatures(signed, before, statements)
    check_owner_alone(entry, before, byte_count)
    check_once(entry)
    check_members(entry, before, changes)
    check_invitations(entry, before, changes)


def read_entries(encoded_entries, statements):
    """Section 10: a ring's chain, all that holds without its keys."""
    broken_if(not encoded_entries, "no entry")
    read, byte_count = [], 0
    for encoded in encoded_entries:
        signed = SignedEntry.decode(encoded)
        byte_count += len(encoded)
        check_entry(signed, read[-1] if read else None, statements, byte_count)
        read.append(signed)
    return read
