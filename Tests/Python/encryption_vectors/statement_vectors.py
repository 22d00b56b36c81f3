"""Section 8: vectors of statements, one by one."""

from dataclasses import replace

from nacl import bindings

from encryption.codes import make_anchor
from encryption.constructions import PRIME, Keys, public_keys, sign
from encryption.parts import ZEROS, sized, text
from encryption.statements import Device, seal_earlier_seed, sign_statement, statement_hash

from .accounts import CONTAINER, Identity, make_statement, signed_again
from .making import FAR_BEYOND, flipped, flipped_within, newer, randomness, replaced, replaced_at

NEUTRAL = b"\x01" + bytes(31)  # a point of small order
ORDER = 2**252 + 27742317777372353535851937790883648493
SIGNING_KEYS = {
    "no point": next(key for counter in range(100) if not bindings.crypto_core_ed25519_is_valid_point(
        key := randomness(f"point {counter}")(32))),
    "the neutral point, of small order": NEUTRAL,
    "a point outside the group": bindings.crypto_core_ed25519_add(public_keys(bytes(32)).signing, ZEROS),
    "a point that is not written as it should be": (PRIME + 3).to_bytes(32, "little")}
BOX_KEYS = {
    "zeros": ZEROS,
    "a point of order 8": bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    "the other point of order 8": bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    "the prime, which is zero written otherwise": PRIME.to_bytes(32, "little"),
    "zero with the highest bit": bytes(31) + b"\x80",
    "nine with the prime added, which is nine written otherwise": (PRIME + 9).to_bytes(32, "little")}


def add(vectors):
    """Adds all of them."""
    identity = Identity()
    first, second = identity.chain[:2]
    content = first.content
    random = randomness("more statements")
    accented = make_statement("Zoe\u0301", 1, ZEROS, identity.seeds[0], identity.codes[0], identity.devices[:1], random,
                              environment="production")
    vectors.like("statements").each(None, "chain", {
        "a first statement": [first],
        "a device joins, one goes and all is renewed, another joins": identity.chain,
        "another seed with the same code and device": [first, identity.follow("same code", 2)],
        "another code, and so another seed": [first, identity.follow("recoded", 2, 1)],
        "a device that went, and so another seed": [first, second, identity.follow("gone", 2, behind=second)],
        "devices in another order and without names": [first, second, identity.follow(
            "order", devices=(1, 0), behind=second)],
        "an anchor that is another, which only the code's owner sees": [signed_again(
            identity.seeds[0], first, anchor=flipped(first.anchor, 0))],
        "production, and a name with an accent": [sign_statement(
            accented, identity.seeds[0], None, identity.codes[0], random)],
        "a device's name of 256 bytes that does not open": [identity.sign_first(replace(
            content, devices=(replace(content.devices[0], name=bytes(256)),)))],
        **{f"a device's key for signatures, which nobody uses: {name}": [identity.sign_first(replace(
            content, devices=(Device(Keys(key, content.devices[0].keys.box)),)))]
            for name, key in SIGNING_KEYS.items()}})

    def bad(refusal, values, front=""):
        vectors.like("statements").each(refusal, "chain", {name: [value] for name, value in values.items()}, front)

    add_bad_bytes(bad, identity)
    add_bad_parts(bad, identity)
    add_bad_signatures(bad, identity)
    add_bad_keys(bad, identity)


def resigned(identity, statement):
    """A first statement that is written otherwise and correctly signed, with boxes that nobody opens."""
    anchor = make_anchor(identity.codes[0], statement_hash(statement))
    return signed_again(identity.seeds[0], identity.first, statement=statement, anchor=anchor)


def add_bad_bytes(bad, identity):
    """Bytes that are no statement, however they are signed."""
    first, statement, content = identity.first, identity.first.statement, identity.first.content
    whole, signing = first.encoded(), content.keys.signing
    others = dict(newer(statement, len(text("brume/1/statement"))))
    bad("newer", {name: resigned(identity, value) for name, value in others.items()})
    bad("newer", {"another format, not signed anew": replace(first, statement=others["another format"])})
    bad("damaged", {
        "cut by one byte": whole[:-1], "one byte more": whole + b"\0", "no bytes at all": b"",
        "another label": replaced(whole, b"brume/1/signed-statement", b"brume/1/signed-statemens"),
        "the statement without its signatures": statement})
    bad("damaged", {name: resigned(identity, value) for name, value in {
        "a statement that is cut by one byte": statement[:-1], "a statement with one byte more": statement + b"\0",
        "a statement with another label": replaced(statement, b"brume/1/statement", b"brume/1/statemens"),
        "an account that is not UTF-8": replaced(statement, b"alice", b"ali\xffe"),
        "an account with half of a pair of surrogates": replaced(statement, b"alice", b"al\xed\xa0\x80"),
        "an account of 1,025 bytes": replace(content, account="a" * 1025).encoded(),
        "an account longer than the end": replaced(statement, text("alice"), FAR_BEYOND + b"alice"),
        "a key of 31 bytes": replaced(statement, sized(signing), sized(signing[:31]))}.items()})


def add_bad_parts(bad, identity):
    """Parts that can't be, correctly signed."""
    first, content, device = identity.first, identity.first.content, identity.first.content.devices[0]
    sealed = seal_earlier_seed(identity.seeds[0], ZEROS, identity.seeds[2], randomness("earlier in a first"))
    bad("damaged", {name: resigned(identity, replace(content, **changes).encoded()) for name, changes in {
        "an account without a name": {"account": ""},
        "an account of a name for all": {"account": "__defaultOwner__"},
        "an environment that does not exist": {"environment": "test"}, "number 0": {"number": 0},
        "no devices": {"devices": ()}, "a device's name of 257 bytes": {"devices": (replace(device, name=bytes(257)),)},
        "an earlier seed in a first statement": {"earlier_seed": sealed},
        "an earlier seed of 99 bytes": {"earlier_seed": sealed[:-1]}}.items()})
    devices_at = first.statement.index(device.keys.signing) - 8
    bad("damaged", {"as many devices as there can't be": resigned(identity, replaced_at(
        first.statement, devices_at, FAR_BEYOND))})


def add_bad_signatures(bad, identity):
    """Statements that their identity did not sign, boxes and anchors of another number or length, keys twice."""
    first, statement, content = identity.first, identity.first.statement, identity.first.content
    seed, device, keys = identity.seeds[0], content.devices[0], content.keys
    other = public_keys(identity.devices[2])
    changed = {"a letter of the account": flipped_within(statement, b"alice", 1),
               "a letter of the container": flipped_within(statement, CONTAINER.encode(), 1),
               "the hash of the statement before": flipped_within(statement, sized(ZEROS))}
    changed |= {name: flipped_within(statement, part) for name, part in {
        "the identity's key for boxes": keys.box, "the recovery code's key": content.code,
        "a device's key for boxes": device.keys.box, "a device's name": device.name}.items()}
    for name, value in changed.items():
        bad("brokenChain" if "before" in name else "badSignature", {name: replace(first, statement=value)},
            "a bit flipped in ")
    higher = (int.from_bytes(first.own[32:], "little") + ORDER).to_bytes(32, "little")
    bad("badSignature", {name: replace(first, **changes) for name, changes in {
        "another identity's key for signatures, not signed anew": {"statement": replaced(
            statement, keys.signing, other.signing)},
        "another device's key for signatures, not signed anew": {"statement": replaced(
            statement, device.keys.signing, other.signing)},
        "a bit flipped in its signature": {"own": flipped(first.own, 0)},
        "a signature with the order added, which is another one of the same message": {"own": first.own[:32] + higher},
        "signed by another": {"own": signed_again(identity.seeds[2], first).own},
        "signed without anchor and boxes": {"own": sign(seed, "statement-own", sized(statement))},
        "a bit flipped in the anchor": {"anchor": flipped(first.anchor, 0)},
        "a bit flipped in a device's box": {"boxes": (flipped(first.boxes[0], 50), first.boxes[1])},
        "a bit flipped in the code's box": {"boxes": (first.boxes[0], flipped(first.boxes[1], 50))},
        "signed as a statement before": {"own": sign(seed, "statement-next", sized(statement))}}.items()})
    bad("damaged", {name: replace(first, **changes) for name, changes in {
        "an own signature of 63 bytes": {"own": first.own[:63]},
        "a first statement with a signature of a statement before": {"by_before": first.own},
        "an anchor of 31 bytes": {"anchor": first.anchor[:31]}, "no boxes": {"boxes": ()},
        "no box for the code": {"boxes": first.boxes[:1]}, "a box too many": {"boxes": first.boxes + first.boxes[:1]},
        "a box that is cut by one byte": {"boxes": (first.boxes[0][:-1], first.boxes[1])},
        "a box with one byte more": {"boxes": (first.boxes[0] + b"\0", first.boxes[1])}}.items()})
    bad("brokenChain", {"no anchor with a first code": signed_again(seed, first, anchor=b"")})
    bad("damaged", {name: identity.sign_first(replace(content, **changes)) for name, changes in {
        "a device listed twice": {"devices": (device, device)},
        "a device's key for signatures listed twice": {"devices": (device, Device(Keys(
            device.keys.signing, other.box)))},
        "a device's key for boxes listed twice": {"devices": (device, Device(Keys(other.signing, device.keys.box)))},
        "a code equal to a device's key": {"code": device.keys.box},
        "a code equal to the identity's key": {"code": keys.box},
        "a device with the identity's keys": {"devices": (Device(keys),)}}.items()})


def add_bad_keys(bad, identity):
    """Section 2: keys that are refused where they are read."""
    content = identity.first.content
    keys, device = content.keys, content.devices[0].keys
    changed = {f"an identity's key for signatures: {name}": {"keys": Keys(key, keys.box)}
               for name, key in SIGNING_KEYS.items()}
    changed |= {f"a device's key for boxes: {name}": {"devices": (Device(Keys(device.signing, key)),)}
                for name, key in BOX_KEYS.items()}
    changed |= {f"a recovery code's key: {name}": {"code": key} for name, key in BOX_KEYS.items()}
    for_all = "an identity's key for signatures of small order, whose signature holds for all"
    changed |= {for_all: {"keys": Keys(NEUTRAL, keys.box)},
                "an identity's key for boxes: zeros": {"keys": Keys(keys.signing, ZEROS)}}
    for name, changes in changed.items():
        signed = resigned(identity, replace(content, **changes).encoded())
        bad("damaged", {name: replace(signed, own=NEUTRAL + ZEROS) if name == for_all else signed})
