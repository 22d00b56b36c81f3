"""Section 10: vectors of chains, each otherwise correct and signed, that break one of rules 6, 8 and 9."""

from dataclasses import replace

from encryption.ring_entries import ADMINISTRATOR, READER, WRITER

from .world import World


def add(vectors):
    """Adds all of them."""
    world = World(vectors, "rings")
    add_joins(world)
    add_invitations(world)
    add_closings(World(vectors, "trees"))
    vectors.add("ring", "no entry", "brokenChain", **world.inputs([]))


def add_joins(world):
    """Rule 6: whom a writer may not let in."""
    for_all, for_one = world.invitation("for all", WRITER), world.invitation("for one", READER, for_one=1)
    readers, both, joined = world.invitation("for readers", READER), world.members("alice carol"), world.joined
    invited, invited_one, invited_readers, not_invited = (
        world.step(label, "alice carol", invitations=some) for label, some in (
            ("invited for all", [for_all]), ("invited for one", [for_one]), ("invited for readers", [readers]),
            ("not invited", [])))
    erin = joined("erin", "for all")
    for name, refusal, before, guests, invitations in (
            ("with a proof of another secret", "badSignature", invited, [
                joined("erin", "for all", secret=bytes(32))], ()),
            ("with a proof of another invitation's id", "badSignature", invited, [
                joined("erin", "for all", identifier=readers.identifier)], ()),
            ("with a proof of another guest", "badSignature", invited, [joined("erin", "for all", guest="frank")], ()),
            ("with a proof of another statement", "badSignature", invited, [joined(
                "erin", "for all", guest_statement_hash=world.member("frank").statement_hash)], ()),
            ("with a proof of another ring", "badSignature", invited, [
                joined("erin", "for all", ring=world.tree_ring)], ()),
            ("as a writer with an invitation for readers", "notAllowed", invited_readers, [
                joined("erin", "for readers", WRITER)], ()),
            ("for an invitation of the same entry", "notAllowed", not_invited, [erin], [for_all]),
            ("for an invitation for one guest, which stays", "notAllowed", invited_one, [
                joined("erin", "for one")], [for_one]),
            ("two guests for an invitation for one", "notAllowed", invited_one, [
                joined("erin", "for one"), joined("frank", "for one")], ())):
        world.refuse(refusal, f"writer adding {name}", [*both, *guests], before, author="carol",
                     invitations=invitations)
    world.refuse("notAllowed", "a member who stays with a join proof", [
        both[0], joined("carol", "for all", WRITER)], invited, author="carol")
    world.refuse("notAllowed", "owner adding somebody as a writer with a proof for readers", [
        both[0], joined("erin", "for readers", WRITER)], world.step("readers", "alice", invitations=[readers]))


def add_invitations(world):
    """Rule 8: invitations that an entry may not have."""
    for_all, for_one = world.invitation("for all", WRITER), world.invitation("for one", READER, for_one=1)
    new, other = world.invitation("new", WRITER, maker="carol"), world.invitation("other", READER)
    administrators = world.invitation("makes administrators", ADMINISTRATOR, maker="bob")
    invited = world.step("invited, and dave", "alice carol dave", invitations=[for_all, for_one])
    small = world.step("invited, without dave", "alice carol", invitations=[for_all])
    alone = world.step("invited, alone", "alice", invitations=[for_all])
    with_dave, with_bob = world.step("invited, dave", "alice dave", invitations=[for_all]), world.step(
        "with bob", "alice bob")
    for name, before, members, author, invitations in (
            ("writer adding an invitation", small, "alice carol", "carol", [for_all, new]),
            ("administrator adding an invitation that makes administrators", with_bob, "alice bob", "bob", [
                administrators]),
            ("an invitation that is kept with another role", alone, "alice", "alice", [replace(for_all, role=READER)]),
            ("an invitation that is kept with another keys", alone, "alice", "alice", [
                replace(for_all, keys=other.keys)]),
            ("an invitation that is kept with another box to the owner", alone, "alice", "alice", [
                replace(for_all, to_owner=other.to_owner)]),
            ("a member is dropped by the owner and an invitation for all is kept", with_dave, "alice", "alice", [
                for_all]),
            ("a member is dropped, and a writer adds two in the place of one", invited, "alice carol", "carol", [
                for_one, new, world.invitation("newer", WRITER, maker="carol")]),
            ("a member is dropped, and an invitation is replaced with another role", invited, "alice carol", "carol", [
                for_one, replace(new, role=READER)]),
            ("a member is dropped, and an invitation is replaced by one with its keys", invited, "alice carol",
             "carol", [for_one, replace(new, keys=for_all.keys)])):
        world.refuse("notAllowed", name, members, before, author=author, invitations=invitations)
    of_bob = world.invitation("bob's for one", READER, for_one=1, maker="bob")
    before = world.step("bob, before", "alice bob")
    invites = world.step("bob's invitation", "alice bob", before, author="bob", invitations=[of_bob])
    world.add("a member is dropped, and his invitation for one guest is kept", before, invites, world.step(
        "bob is dropped", "alice", invites, invitations=[of_bob]), refusal="notAllowed")
    world.another_chain("bob", "bob anew")
    world.add("a member comes back with another chain, and his invitation for one guest is kept", before, invites,
              world.step("bob anew", "alice bob", invites, invitations=[of_bob]), refusal="notAllowed")
    many = world.step("for all, before keys", "alice dave", invitations=[for_all])
    one = world.step("for one, before keys", "alice dave", invitations=[for_one])
    world.account("dave").renew("new keys")
    world.refuse("notAllowed", "a member has new keys, and an invitation for all is kept", "alice dave", many,
                 invitations=[for_all])
    world.add("a member has new keys, and one of the owner's for one guest is kept", one, world.step(
        "for one, dave's keys", "alice dave", one, invitations=[for_one]))
    world.account("alice").renew("new keys")
    world.refuse("notAllowed", "the owner has new keys, and his invitation for one guest is kept", "alice dave", one,
                 invitations=[for_one])
    opened = world.step("open, alone", "alice", invitations=[world.invitation("open", READER, is_open=1)])
    world.add("a secret whose invitation is not listed any more", opened, world.step("not listed", "alice", opened),
              invitation="open", refusal="keyMissing")
    world.add("a secret of no invitation", opened, invitation="of nobody", refusal="keyMissing")


def add_closings(world):
    """Rule 9: who may not close a ring and open it again."""
    with_bob, with_carol = (world.step(f"with {name}", f"alice {name}", ring=world.tree_ring)
                            for name in ("bob", "carol"))
    for name, members, before, author, invitations in (
            ("with others in it", "alice carol", with_carol, "alice", ()),
            ("with an invitation", "alice", with_carol, "alice", [world.invitation("link")])):
        world.refuse("notAllowed", f"a ring that is closed {name}", members, before, author=author, closed=1,
                     invitations=invitations)
    world.refuse("notAllowed", "a ring that an administrator closes, and who stays", "alice bob", with_bob,
                 author="bob", closed=1)
    world.refuse("notAllowed", "a ring that an administrator closes without himself", "alice", with_bob, author="bob",
                 closed=1)
    closed = world.step("closed", "alice", with_bob, closed=1)
    world.add("an entry behind a closed one by whoever administered", with_bob, closed,
              world.step("behind", "alice bob", closed, author="bob"), refusal="notAllowed")
