"""Section 10: vectors of chains, each otherwise correct and signed, that break one of rules 1 to 5, 7 and 9."""

from dataclasses import replace

from encryption.ring_entries import ADMINISTRATOR, OWNER, WRITER, SignedEntry

from .making import flipped
from .world import World


def add(vectors):
    """Adds all of them."""
    world = World(vectors, "rings")
    add_first(world)
    add_orders(world)
    add_statements(vectors)
    add_authors(world)


def add_first(world):
    """Entries that can't be first."""
    link, other, members = world.invitation("link"), world.invitation("other"), world.members
    for name, of, others in (
            ("of number 2", "alice", {"number": 2}),
            ("that names another branch", "alice", {"other_branch": bytes(32)}),
            ("by an administrator", "alice bob", {"author": "bob"}),
            ("that is closed", "alice", {"ring": world.tree_ring, "closed": 1})):
        world.refuse("brokenChain", f"a first entry {name}", of, **others)
    for name, of, invitations in (
            ("a first entry without the owner", "bob", ()),
            ("an owner who is an administrator", members("alice", alice=ADMINISTRATOR), ()),
            ("two owners", members("alice bob", bob=OWNER), ()),
            ("another owner than the place's", members("alice bob", alice=WRITER, bob=OWNER), ()),
            ("a member twice", "alice carol carol", ()), ("an invitation twice", "alice", [link, link]),
            ("an invitation's id twice", "alice", [link, replace(other, identifier=link.identifier)]),
            ("an invitation's keys twice", "alice", [link, replace(other, keys=link.keys)]),
            ("an invitation that makes administrators", "alice", [
                world.invitation("makes administrators", ADMINISTRATOR)]),
            ("an invitation of another maker than the author", "alice bob", [world.invitation("bob's", maker="bob")]),
            ("a join proof in a first entry", [world.member("alice"), world.joined("erin", "link")], [link])):
        world.refuse("notAllowed", name, of, invitations=invitations)


def add_orders(world):
    """Rule 1: entries that don't follow each other."""
    first = world.step("one", "alice")
    second = world.step("two", "alice", first)
    third = world.step("three in a row", "alice", second)
    has_before = world.sign("has before", replace(world.entry("has before", "alice"), before=first.hash))
    name = "hash of another entry"
    other = world.sign(name, replace(world.entry(name, "alice", first), before=second.hash))
    for label, chain in (("a first entry that has one before", [has_before]),
                         ("a chain without its first entry", [second]), ("an entry left out", [first, third]),
                         ("an entry twice", [first, first]), (name, [first, other])):
        world.add(label, *chain, refusal="brokenChain")
    ring, place, both = world.ring, world.place, "alice carol"
    tree = world.step("tree", "alice", ring=world.tree_ring, zone_key=3)
    for name, before, changes in (
            ("number skipped", first, {"number": 3}),
            ("other place: another zone", first, {"ring": replace(ring, place=replace(place, zone="Other"))}),
            ("other place: another owner", first, {"ring": replace(ring, place=replace(place, owner="carol"))}),
            ("other place: another life of the zone", first, {"ring": replace(
                ring, place=replace(place, ring=flipped(place.ring, 0)))}),
            ("a tree's ring behind a zone's", first, {"ring": world.tree_ring}), ("scope changed", first, {"scope": 1}),
            ("assets changed", first, {"assets": 1}),
            ("the ring of another root", tree, {"ring": replace(world.tree_ring, root="note-2"), "zone_key": 3}),
            ("an older key of the zone", tree, {"zone_key": 2}),
            ("another branch that a writer names", world.step("with carol, first", both), {
                "other_branch": second.hash}),
            ("a newer key of the zone that a writer names", world.step(
                "with carol, tree", both, ring=world.tree_ring, zone_key=3), {"zone_key": 4})):
        by_writer = "writer" in name
        entry = world.entry(name, both if by_writer else "alice", before, author="carol" if by_writer else "alice",
                            **changes)
        world.add(name, before, world.sign(name, entry, key=world.keys[2]),
                  refusal="notAllowed" if by_writer else "brokenChain")
    world.add("a bit flipped in the signature of the second entry", first,
              replace(second, signature=flipped(second.signature, 0)), refusal="badSignature")


def add_statements(vectors):
    """Rule 3: whose statements can't be in an entry."""
    world = World(vectors, "statements")
    unknown = replace(world.member("carol"), statement_hash=flipped(world.member("carol").statement_hash, 0))
    seed = world.account("alice").seeds[0]
    entry = world.entry("unknown", "alice carol")
    boxes = world.sign("unknown", entry).boxes
    alone = world.entry("author unknown", [replace(unknown, user="alice", role=OWNER)])
    for name, changed in (
            ("a statement that is not known", replace(entry, members=(entry.members[0], unknown))),
            ("an author whose statement is not known", alone)):
        signed = SignedEntry(changed.encoded(), b"", boxes[:len(changed.members)]).signed_by(seed)
        world.add(name, signed, refusal="brokenChain")
    of_another = [world.member("alice"), replace(world.member("dave"), user="carol")]
    world.add("a member with the statement of another", world.step("of another", of_another), names=["dave"],
              refusal="brokenChain")
    other = World(vectors, "statements")
    other.another_chain("carol", "elsewhere", environment="production")
    other.add("a member's statement of the other environment", other.step("elsewhere", "alice carol"),
              refusal="brokenChain")
    other.another_chain("alice", "elsewhere", container="iCloud.other")
    other.add("an author's statement of another container", other.step("author elsewhere", "alice"),
              refusal="brokenChain")
    first = world.step("first", "alice carol")
    world.account("carol").renew("statements")
    renewed = world.step("renewed", "alice carol", first)
    earlier = world.step("earlier", [world.member("alice"), world.member("carol", position=0)], renewed)
    world.add("a member who stays with an earlier statement", first, renewed, earlier, refusal="brokenChain")
    later = world.entry("later", "alice carol", first, author="carol")
    world.add("signed with the author's earlier identity", first,
              world.sign("later", later, world.account("carol").seeds[0]), refusal="badSignature")
    other = World(vectors, "chains")
    first = other.step("first, with an administrator", "bob alice")
    other.another_chain("alice", "another chain")
    other.add("an administrator who takes another chain of the owner", first,
              other.step("another chain of the owner", "bob alice", first, author="bob"), refusal="notAllowed")
    other = World(vectors, "chains")
    first = other.step("first, and a link", "alice carol dave", invitations=[other.invitation("link")])
    other.another_chain("dave", "another chain")
    again = [*other.members("alice carol"), other.joined("dave", "link")]
    other.add("a writer who takes another chain of a member, with a join proof", first,
              other.step("joins again", again, first, author="carol"), refusal="notAllowed")
    damaged = World(vectors, "statements")
    carol = damaged.account("carol")
    carol.signed = [replace(carol.signed[0], own=flipped(carol.signed[0].own, 0))]
    damaged.add("a member whose statement's signature does not hold", damaged.step("damaged", "alice carol"),
                refusal="badSignature")


def add_authors(world):
    """Rules 2, 4, 5 and 7: who may not do what, in names of before and members of now."""
    some = world.members
    for name, before, members, author in (
            ("reader as author", "alice dave", "alice dave", "dave"),
            ("an author who is no member", "alice", "alice", "carol"),
            ("an author who adds himself", "alice", "alice carol", "carol"),
            ("a writer who drops himself", "alice carol", "alice", "carol"),
            ("an owner who becomes a writer", "alice", some("alice", alice=WRITER), "alice"),
            ("administrator making administrators", "alice bob carol", some(
                "alice bob carol", carol=ADMINISTRATOR), "bob"),
            ("administrator adding an administrator", "alice bob", some("alice bob erin", erin=ADMINISTRATOR), "bob"),
            ("writer making an administrator of himself", "alice carol", some(
                "alice carol", carol=ADMINISTRATOR), "carol"),
            ("writer making a writer of a reader", "alice carol dave", some("alice carol dave", dave=WRITER), "carol"),
            ("writer adding without proof", "alice carol", "alice carol erin", "carol")):
        world.refuse("notAllowed", name, members, world.step(f"before: {name}", before), author=author)
