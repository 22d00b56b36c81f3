"""Section 10: vectors of single entries that are refused."""

from dataclasses import replace

from encryption.constructions import Keys, public_keys, sign
from encryption.parts import ZEROS, sized, text, u32
from encryption.ring_entries import READER, TREE_RING, ZONE_RING, Ring
from encryption.ring_keys import seal_closed_key

from .accounts import CONTAINER
from .making import FAR_BEYOND, flipped, newer, randomness, replaced
from .world import World


class Entries:
    """Entries by themselves: alice's own, one with carol, one with an open invitation."""

    def __init__(self, vectors):
        self.world = world = World(vectors, "rings")
        self.link = world.invitation("a link", READER, is_open=1)
        self.alone, self.with_carol = world.step("an entry", "alice"), world.step("with carol", "alice carol")
        self.with_link = world.step("with link", "alice", invitations=[self.link])

    def bad(self, refusal, values, of=None, front=""):
        """An entry by itself; statements are needed only where the reader gets as far as them."""
        for name, value in dict(values).items():
            inputs = {**self.world.inputs([of or self.alone]), "entries": [value]}
            if refusal in ("newer", "damaged"):
                inputs["statements"] = []
            self.world.vectors.add("ring", front + name, refusal, **inputs)

    def resigned(self, refusal, values, of=None):
        """The same, written otherwise and correctly signed."""
        of, seed = of or self.alone, self.world.account("alice").seeds[0]
        self.bad(refusal, {name: replace(of, entry=value).signed_by(seed) for name, value in dict(values).items()}, of)

    def changed(self, values, of=None):
        """The same, damaged by other parts in it."""
        content = (of or self.alone).content
        self.resigned("damaged", {name: replace(content, **changes).encoded() for name, changes in values.items()}, of)


def add(vectors):
    """Adds all of them."""
    entries = Entries(vectors)
    add_bad_bytes(entries)
    add_bad_parts(entries)
    add_flipped(entries)
    add_bad_signatures(entries)


def add_bad_bytes(entries):
    """Bytes that are no entry."""
    entry, whole = entries.alone.entry, entries.alone.encoded()
    others = dict(newer(entry, len(text("brume/1/ring-entry"))))
    entries.resigned("newer", others)
    entries.bad("newer", {"another format, not signed anew": replace(entries.alone, entry=others["another format"])})
    entries.bad("damaged", {
        "cut by one byte": whole[:-1], "one byte more": whole + b"\0", "no bytes at all": b"",
        "another label": replaced(whole, b"brume/1/signed-ring-entry", b"brume/1/signed-ring-entrx"),
        "the entry without its signature": entry})
    entries.resigned("damaged", {
        "an entry that is cut by one byte": entry[:-1], "an entry with one byte more": entry + b"\0",
        "an entry with another label": replaced(entry, b"brume/1/ring-entry", b"brume/1/ring-entrx")})


def add_bad_parts(entries):
    """Parts that can't be, correctly signed."""
    world, link = entries.world, entries.link
    place, ring, (alice, carol) = world.place, world.ring, entries.with_carol.content.members
    sealed = seal_closed_key(ring, 1, world.zone_keys[1], world.keys[1], randomness("closed"))

    def at(**changes):
        return {"ring": replace(ring, place=replace(place, **changes))}

    entries.changed({
        "an environment that does not exist": at(environment="Development"),
        "an owner without a name": at(owner=""), "an owner of a name for all": at(owner="__defaultOwner__"),
        "a kind that does not exist": {"ring": Ring(place, 2, "note-1"), "zone_key": 1},
        "a zone's ring with a root": {"ring": Ring(place, ZONE_RING, "note-1")},
        "a tree's ring without a root": {"ring": Ring(place, TREE_RING), "zone_key": 1},
        "number 0": {"number": 0}, "another branch's head of 31 bytes": {"other_branch": bytes(31)},
        "a scope that does not exist": {"scope": 2}, "assets that do not exist": {"assets": 2},
        "a key of the zone in the zone's ring": {"zone_key": 1},
        "a zone's ring that is closed": {"closed": 1, "closed_key": sealed},
        "a flag that is neither 0 nor 1": {"closed": 2},
        "a closed key where the ring is not closed": {"closed_key": sealed},
        "earlier keys of no bytes": {"earlier": b""}, "a zone's name of 1,025 bytes": at(zone="n" * 1025),
        "no members": {"members": ()}})
    entries.changed({name: {"members": (alice, replace(carol, **changes))} for name, changes in {
        "a role that does not exist": {"role": 4},
        "an invitation's id of 15 bytes": {"invitation": bytes(15), "proof": bytes(64)},
        "a join proof of 63 bytes": {"invitation": bytes(16), "proof": bytes(63)},
        "an invitation without a join proof": {"invitation": bytes(16)},
        "a join proof without an invitation": {"proof": bytes(64)}}.items()}, entries.with_carol)
    entries.changed({f"an invitation{name}": {"invitations": (replace(link, **changes),)} for name, changes in {
        "'s role that does not exist": {"role": 4}, " for 2 guests": {"for_one": 2}, " that is open twice": {"open": 2},
        "'s key for signatures of small order": {"keys": Keys(b"\x01" + bytes(31), link.keys.box)},
        "'s key for boxes of zeros": {"keys": Keys(link.keys.signing, ZEROS)},
        "'s box to the owner of 123 bytes": {"to_owner": link.to_owner[:-1]},
        " without a box to the owner": {"to_owner": b""}, "'s box to its maker of 1 byte": {"to_maker": b"\0"},
        " of the owner with a box to its maker": {"to_maker": link.to_owner},
        " of another without a box to its maker": {"maker": "bob"}}.items()}, entries.with_link)
    entries.changed({name: {"ring": world.tree_ring, "zone_key": 1, **changes} for name, changes in {
        "a tree's ring of scope perZone": {"scope": 1}, "a tree's ring without a key of the zone": {"zone_key": 0},
        "a key of the zone that there can't be": {"zone_key": 16_385},
        "a closed ring without a closed key": {"closed": 1},
        "a closed key of 93 bytes": {"closed": 1, "closed_key": sealed[:-1]}}.items()})
    entry, alice, notes = entries.alone.entry, text("alice"), text("Notes")
    entries.resigned("damaged", {
        "as many members as there can't be": replaced(entry, u32(1) + alice, FAR_BEYOND + alice),
        "an owner that is not UTF-8": replaced(entry, alice + notes, sized(b"\xe9lice") + notes)})


def add_flipped(entries):
    """One bit flipped in each part, not signed anew."""
    content, link = entries.alone.content, entries.link
    front = b"\0\0" + bytes(4) + b"\0" + sized(content.commitment)  # scope, assets, zone's key, closed
    carol = text("carol") + sized(entries.with_carol.content.members[1].statement_hash)
    start, place = link.identifier + text("alice"), entries.world.place
    for of, names in (
            (entries.alone, {
                "a letter of the container": (CONTAINER.encode(), None), "a letter of the owner": (
                    text("alice") + text("Notes"), text("alicd") + text("Notes")),
                "a letter of the zone": (b"Notes", None), "the ring's id": (place.ring, None),
                "the hash of the entry before": (sized(ZEROS), None), "the scope": (front, b"\1" + front[1:]),
                "the assets": (front, b"\0\1" + front[2:]), "the key's commitment": (content.commitment, None),
                "the earlier keys": (content.earlier, None)}),
            (entries.with_carol, {
                "a member's name": (text("carol"), None), "the hash of a member's statement": (carol, None),
                "a member's role": (carol + b"\2", carol + b"\3")}),
            (entries.with_link, {
                "an invitation's id": (link.identifier, None),
                "an invitation's role": (start + b"\3\0\1", start + b"\2\0\1"),
                "whether an invitation is for one": (start + b"\3\0\1", start + b"\3\1\1"),
                "an invitation's key for boxes": (link.keys.box, None),
                "an invitation's box to the owner": (link.to_owner, None)})):
        for name, (part, other) in names.items():
            bit = 1 if part == CONTAINER.encode() else 0
            value = replaced(of.entry, part, flipped(part, -1, bit) if other is None else other)
            broken = ("a letter of the container", "a letter of the owner", "the hash of the entry before",
                      "a member's name", "the hash of a member's statement")
            entries.bad("brokenChain" if name in broken else "badSignature", {name: replace(of, entry=value)}, of,
                        "a bit flipped in ")


def add_bad_signatures(entries):
    """Signatures that don't hold, and boxes of another number or length."""
    world, alone, with_carol, with_link = entries.world, entries.alone, entries.with_carol, entries.with_link
    alice, keys = world.account("alice"), entries.link.keys
    message = (sized(alone.entry), alone.own_parts()[1])
    one, two = with_link.boxes
    entries.bad("badSignature", {"another invitation's key for signatures, not signed anew": replace(
        with_link, entry=replaced(with_link.entry, keys.signing, public_keys(bytes(32)).signing))}, with_link)
    entries.bad("badSignature", {"a bit flipped in the signature": replace(
        alone, signature=flipped(alone.signature, 0))})
    entries.bad("badSignature", {"signature by another member": world.sign(
        "signed by carol", with_carol.content, world.account("carol").seeds[0])}, with_carol)
    entries.bad("badSignature", {name: replace(alone, **changes) for name, changes in {
        "a signature with another label": {"signature": sign(alice.seeds[0], "statement-own", *message)},
        "a signature by the author's device": {"signature": sign(alice.device, "ring-sign", *message)},
        "a signature without the boxes": {"signature": sign(alice.seeds[0], "ring-sign", message[0])},
        "a bit flipped in a box, not signed anew": {"boxes": (flipped(alone.boxes[0], 60),)}}.items()})
    entries.bad("damaged", {name: replace(alone, **changes) for name, changes in {
        "a signature of 63 bytes": {"signature": alone.signature[:63]}, "no signature": {"signature": b""},
        "no boxes": {"boxes": ()}, "a box too many": {"boxes": (one, two)},
        "a box that is cut by one byte": {"boxes": (one[:-1],)},
        "a box with one byte more": {"boxes": (one + b"\0",)}}.items()})
    entries.bad("damaged", {"an open invitation's box missing": replace(with_link, boxes=(one,))}, with_link)
