"""Section 11: vectors of links."""

from encryption.constructions import box, public_keys
from encryption.links import make_fragment, make_link_box
from encryption.parts import sized
from encryption.trees import Place

from .accounts import CONTAINER
from .making import damages, randomness


def add(vectors):
    """Adds all of them."""
    random = randomness("links")
    owner, secret = random(32), random(32)
    fragment = make_fragment(owner, secret, "Shopping")
    keys = fragment.split(".")[1]
    like = vectors.like("link")
    like.each(None, "fragment", {
        "a link with a title": fragment, "a link without a title": f"1.{keys}",
        "a link whose title has a point in it": f"1.{keys}.Shopping.today",
        "a link with both characters that base64url has for itself": make_fragment(b"\xff" * 16, b"\xfb" * 32, "x")})
    like.each("newer", "fragment", {
        "another version": f"2.{keys}.Shopping", "version 0": f"0.{keys}.Shopping",
        "version 10": f"10.{keys}.Shopping", "another version with other parts": "2.a.b.c"})
    like.each("damaged", "fragment", {
        "a version that is no number": f"x.{keys}.Shopping", "no version": f"{keys}.Shopping",
        "an empty version": f".{keys}.Shopping", "nothing": "", "only a version": "1", "no keys": "1..Shopping",
        "a version and a point": "1.", "keys cut by one character": f"1.{keys[:-1]}.Shopping",
        "keys cut by one byte": f"1.{keys[:-2]}.Shopping", "keys with one byte more": f"1.{keys}AA.Shopping",
        "keys with padding": f"1.{keys[:-1]}=.Shopping", "keys with padding behind them": f"1.{keys}==.Shopping",
        "a character of base64 that base64url does not have": f"1.+{keys[1:]}.Shopping",
        "another such character": f"1./{keys[1:]}.Shopping", "a space in the keys": f"1. {keys[1:]}.Shopping",
        "a line's end behind the keys": f"1.{keys}\n.Shopping",
        "a letter beyond ASCII, of two bytes": f"1.\u00e9{keys[2:]}.Shopping"})
    place = Place(CONTAINER, "production", "alice", "Notes", random(16))
    guest, identifier = random(32), random(16)
    for name, kind, root, user in (("of a zone's ring", 0, "", "erin"), ("of a tree's ring", 1, "note-1", "erin"),
                                   ("of another guest", 0, "", "Zoe\u0301")):
        vectors.add("joinProof", name, secret=secret, place=place, ring={"kind": kind, "root": root}, id=identifier,
                    guest=user, statementHash=guest)
    for name, participant in (("for one guest", "A1B2C3"), ("for another one", "A1B2C4"),
                              ("for a guest with another name", "Zoe\u0301")):
        vectors.add("invitation", name, participant=participant)
    seed = random(32)
    public = public_keys(seed).box
    sealed = make_link_box(public, identifier, secret, random)
    like = vectors.like("linkBox", seed=seed, box=sealed)
    like("a secret, for the owner")
    like.each("damaged", "box", damages(sealed, {"the one-time key": 0, "the tag": 40, "the content": -1}))
    like("nothing", "damaged", box=b"")
    like("of another receiver", "damaged", seed=random(32))
    like.each("damaged", "box", {name: box(public, random, label, *map(sized, parts)) for name, label, parts in (
        ("another label", "link-bow", (identifier, secret)),
        ("an id of 15 bytes", "link-box", (identifier[:15], secret)),
        ("a secret of 31 bytes", "link-box", (identifier, secret[:31])),
        ("the parts in another order", "link-box", (secret, identifier)),
        ("one part more", "link-box", (identifier, secret, b"")))})
