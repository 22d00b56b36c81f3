"""Section 10: vectors of rings' chains that are taken."""

from encryption.constructions import box_bytes, derive, public_keys, seal
from encryption.parts import labelled, listed, sized, u32
from encryption.ring_entries import ADMINISTRATOR, READER, WRITER
from encryption.ring_keys import key_commitment, seal_earlier_keys

from .making import FAR_BEYOND, flipped, randomness
from .world import World


def add(vectors):
    """Adds all of them."""
    world = World(vectors, "rings")
    alone = world.step("alone", "alice")
    small = world.step("small", "alice carol")
    world.add("a zone's ring of one entry", alone)
    world.add("scope perZone and plain assets", world.step("scope", "alice", scope=1, assets=1))
    add_life(world)
    world.add("whoever was dropped has the keys from before", small, world.step("drop carol", "alice", small),
              reader="carol")
    world.add("somebody who never was a member", alone, reader="dave")
    world.add("a writer renews the key, and members stand in another order", small,
              world.step("renew", "carol alice", small, author="carol"), reader="carol")
    accented = World(vectors, "accented")
    for name in ("Zo\u00e9", "Zoe\u0301"):
        accented.another_chain(name, "accented")
    members = [accented.member("alice"), *(accented.member(name, READER) for name in ("Zo\u00e9", "Zoe\u0301"))]
    accented.add("two names that look the same and are written otherwise", accented.step("accented", members))
    add_invitations(world)
    add_statements(vectors)
    add_trees(vectors)
    add_branches(world)
    add_missing_keys(world)


def add_life(world):
    """Rules 5 to 8: one step behind another, each by whom it is allowed to."""
    for_all, members = world.invitation("bob's", WRITER, maker="bob"), world.members
    chain = [world.step("life 1", "alice")]
    for members_now, author, invitations in (
            (members("alice bob"), "alice", []),  # adds an administrator
            (members("alice bob carol", carol=READER), "bob", [for_all]),  # adds a reader and an invitation
            (members("alice bob carol"), "bob", [for_all]),  # makes a writer of a reader
            ([*members("alice bob carol"), world.joined("erin", "bob's")], "carol", [for_all]),
            (members("alice bob carol erin", carol=ADMINISTRATOR), "alice", []),  # makes an administrator
            (members("alice bob carol erin", bob=WRITER, carol=ADMINISTRATOR), "alice", [])):  # and unmakes one
        chain.append(world.step(f"life {len(chain) + 1}", members_now, chain[-1], author=author,
                                invitations=invitations))
    world.add("members come and change, invitations come and go", *chain, reader="erin")
    with_both = world.step("with both", "alice bob carol")
    world.add("a writer drops an administrator", with_both,
              world.step("drop bob", "alice carol", with_both, author="carol"))


def add_invitations(world):
    """Rules 6 and 8."""
    for_all, for_one = world.invitation("for all", WRITER), world.invitation("for one", READER, for_one=1)
    is_open = world.invitation("open", READER, is_open=1)
    both = world.members("alice carol")
    three = world.step("three invitations", "alice", invitations=[for_all, is_open, for_one])
    world.add("whoever has the link of an open invitation", three, invitation="open")
    world.add("whoever has the link of another invitation has no key", three, invitation="for all")
    alone = world.step("alone invites", "alice", invitations=[for_all])
    world.add("the owner adds a guest with a join proof", alone, world.step(
        "by the owner", [world.member("alice"), world.joined("erin", "for all", WRITER)], alone))
    for_a_guest = world.step("for a guest", "alice carol", invitations=[for_one])
    world.add("a writer lets in a guest with an invitation for one, which goes", for_a_guest, world.step(
        "for one", [*both, world.joined("erin", "for one")], for_a_guest, author="carol"), reader="erin")
    with_dave = world.step("with dave", "alice carol dave", invitations=[for_all, is_open, for_one])
    new = [world.invitation("new open", READER, is_open=1, maker="carol"),
           world.invitation("new for all", WRITER, maker="carol")]
    world.add("a writer drops somebody and replaces two invitations; the link of one", with_dave, world.step(
        "drop, others replaced", both, with_dave, author="carol", invitations=[*new, for_one]), invitation="new open")


def add_statements(vectors):
    """Rule 3: later statements, and other chains."""
    world = World(vectors, "statements")
    first = world.step("first", "alice carol")
    for name in ("alice", "carol"):
        world.account(name).renew("statements")
    owner_before = world.member("alice", position=0)
    world.add("an author with a later statement", first, world.step(
        "author renewed", [owner_before, world.member("carol")], first, author="carol"))
    world.add("a box to an earlier key, opened from the newest seed", world.step("alone", [owner_before]))
    world = World(vectors, "chains")
    first = world.step("first", "alice carol")
    world.another_chain("carol", "another chain")
    world.add("another chain of a member, let in by the owner", first,
              world.step("another chain", "alice carol", first), reader="carol")


def add_trees(vectors):
    """A shared tree's ring, closed and opened again."""
    world = World(vectors, "trees")
    ring = world.tree_ring
    first = world.step("first", "alice carol", ring=ring, zone_key=2, invitations=[world.invitation("link", WRITER)])
    guest = world.joined("erin", "link", ring=ring)
    second = world.step("second", [*world.members("alice carol"), guest], first, author="carol", zone_key=2)
    world.add("a guest has the tree's keys from before", first, second, reader="erin")
    first = world.step("shared", "alice carol", ring=ring, zone_key=2)
    world.add("a shared tree's ring, with the tree's keys from before", first, reader="carol")
    closed = world.step("closed", "alice", first, closed=1, zone_key=4)
    world.add("whoever has the zone's key has the keys of a ring that was closed", first, closed, zone_key=4)
    again = world.step("opened again", "alice erin", closed, zone_key=5)
    world.add("a ring that was opened again, and a new member", first, closed, again, reader="erin")
    for name, label, others in (
            ("a tree's ring with plain assets", "plain", {"assets": 1}),
            ("a tree's key of a number above the zone's newest", "above", {"tree_keys": world.tree_keys(2)}),
            ("a tree's ring without keys from before", "none before", {"tree_keys": {}})):
        world.add(name, world.step(label, "alice", ring=ring, **others))


def add_branches(world):
    """Rule 1; and earlier keys that an author lacks."""
    small, keys = world.step("small", "alice carol"), world.keys
    taken = world.step("taken branch", "alice carol", small, author="carol")
    alone = world.step("alone", "alice")
    other = world.step("other branch", "alice", alone, key=keys[7])
    world.add("the owner names the head of another branch", alone,
              world.step("names it", "alice", alone, other_branch=other.hash))
    lost = spoiled(world, taken)
    third = world.step("without the one before", "alice carol", lost, ring_keys={1: keys[1]})
    joined = world.step("erin, later", "alice carol erin", third, ring_keys={2: keys[2], 3: keys[3]})
    world.add("older keys that the entries before don't give", small, lost, third, joined, reader="erin")


def spoiled(world, signed, box=None):
    """A signed entry whose author made the first box so that it does not open, or has something else in it."""
    return world.again(signed, boxes=(box or flipped(signed.boxes[0], 60), *signed.boxes[1:]))


def add_missing_keys(world):
    """Entries that are taken, though keys are missing."""
    small, keys, ring = world.step("alone, small", "alice"), world.keys, world.ring
    second = world.step("second, small", "alice", small)
    world.add("a bit flipped in a box", small, spoiled(world, second))
    receiver = public_keys(world.account("alice").seeds[0]).box
    for name, label, key, boxed_hash in (
            ("another key in a box", "ring-box", keys[3], second.hash),
            ("the box of another entry", "ring-box", keys[2], small.hash),
            ("another label in a box", "ring-bow", keys[2], second.hash),
            ("other lengths in a box", "ring-box", keys[2][:31], second.hash + b"\0")):
        box = box_bytes(receiver, randomness(name), labelled(label, sized(key), sized(boxed_hash)))
        world.add(name, small, spoiled(world, second, box))
    world.add("a box that does not open, for the ring's other reader",
              spoiled(world, world.step("two, small", "alice carol")), reader="carol")
    lost = spoiled(world, small)
    world.add("a first entry's box that does not open", lost)
    world.add("a box that does not open, whose key the next entry has", lost, world.step("next", "alice", lost))
    for name, commitment in (("commitment of another key", key_commitment(ring, 2, keys[3])),
                             ("commitment of the key in another ring", key_commitment(world.tree_ring, 2, keys[2]))):
        world.add(name, small, world.step(name, "alice", small, commitment=commitment))
    add_missing_earlier_keys(world, small, second)
    invited = world.step("invited, spoiled", "alice", invitations=[world.invitation("open", READER, is_open=1)])
    boxes = (invited.boxes[0], flipped(invited.boxes[1], 50))
    world.add("an open invitation's box that does not open", world.again(invited, boxes=boxes), invitation="open")


def add_missing_earlier_keys(world, small, second):
    """Earlier keys that don't open or can't be."""
    keys, random = world.keys, randomness("earlier keys")
    data = labelled("earlier-keys", world.ring.parts(), u32(2))

    def sealed(ring_keys, tree_keys=(), number=2):
        return seal_earlier_keys(world.ring, number, keys[2], ring_keys, tree_keys, random)

    one = (1, keys[1])
    too_many = labelled("earlier", FAR_BEYOND + u32(1) + sized(keys[1]), listed([]))
    for name, earlier in (
            ("that don't open", flipped(second.content.earlier, 30)),
            ("with another key than the one before", sealed([(1, keys[3])])),
            ("sealed for another number", sealed([one], number=3)), ("with a number twice", sealed([one] * 2)),
            ("with the entry's own", sealed([one, (2, keys[2])])),
            ("with a tree's key in a zone's ring", sealed([one], [(1, keys[3])])),
            ("with a number far beyond the end", seal(derive(keys[2], "earlier-keys-key"), data, too_many, random))):
        name = f"earlier keys {name}"
        world.add(name, small, world.step(name, "alice", small, earlier=earlier))
        if name == "earlier keys that don't open":
            world.add(f"{name}, for a new member", small, world.step(
                f"{name}, new", "alice dave", small, earlier=earlier), reader="dave")
