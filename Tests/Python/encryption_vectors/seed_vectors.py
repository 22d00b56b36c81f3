"""Sections 7 and 8: vectors of seeds in boxes, earlier seeds, devices' names, recovery and safety numbers."""

from dataclasses import replace

from encryption.constructions import box, box_bytes, derive, public_keys, seal
from encryption.codes import make_anchor
from encryption.parts import ZEROS, labelled, sized, text
from encryption.statements import (device_name_data, earlier_seed_data, seal_device_name, seal_earlier_seed,
                                   sign_statement)

from .accounts import CONTAINER, Identity, make_statement, signed_again
from .making import flipped, newer, randomness


def add(vectors):
    """Adds all of them."""
    identity = Identity()
    add_boxes(vectors, identity)
    add_earlier(vectors, identity)
    add_names(vectors)
    add_recoveries(vectors, identity)
    add_safety_numbers(vectors)


def add_boxes(vectors, identity):
    """Section 8: boxes with the identity's seed."""
    first, second = identity.chain[:2]
    seeds, devices, boxes = identity.seeds, identity.devices, second.boxes
    like = vectors.like("seedBox", seed=devices[0], signed=first)
    like("the only device")
    like("the second device of two", seed=devices[1], signed=second)
    like("a device that the statement does not list", "keyMissing", seed=devices[2], signed=second)
    like("the identity itself, which is no device", "keyMissing", seed=seeds[0], signed=second)
    receiver = second.content.devices[0].keys.box
    others = {"a bit flipped in the one-time key of a box": (flipped(boxes[0], 0), *boxes[1:]),
              "a bit flipped in the content of a box": (flipped(boxes[0], 107), *boxes[1:]),
              "boxes in another order": (boxes[1], boxes[0], boxes[2])}
    others |= {f"{name} in a box": (box_bytes(receiver, randomness(name), plain), *boxes[1:]) for name, plain in {
        "the seed of another identity": labelled("identity-box", sized(seeds[2])),
        "a device's own seed": labelled("identity-box", sized(devices[0])),
        "another label of the same length": labelled("identity-bow", sized(seeds[0])),
        "parts of other lengths": labelled("identity-box", sized(bytes(31)), b"\0"),
        "as many bytes without a label": bytes(60)}.items()}
    like.each("damaged", "signed", {name: signed_again(seeds[0], second, boxes=some) for name, some in others.items()})
    like("a signature that does not hold", "badSignature", signed=replace(second, own=flipped(second.own, 0)))


def add_earlier(vectors, identity):
    """Section 8: the seed of the statement before."""
    first, seeds = identity.first, identity.seeds
    second = identity.follow("another seed", 2)
    sealed = second.content.earlier_seed
    like = vectors.like("earlierSeed", seed=seeds[2], signed=second, before=first)
    like("the seed before another one")
    like("of another seed", "damaged", seed=seeds[1])
    like("not the statement before", "brokenChain", before=identity.second)
    like("where there is none, as the seed is the same", "damaged", signed=identity.second, seed=seeds[0])
    random = randomness("earlier seeds")
    key, data = derive(seeds[2], "earlier-seed-key"), earlier_seed_data(first.hash)
    for name, other in (
            ("a bit flipped in the nonce", flipped(sealed, 0)), ("a bit flipped in the seed", flipped(sealed, 83)),
            ("the seed of another identity", seal_earlier_seed(seeds[2], first.hash, seeds[1], random)),
            ("sealed behind another statement", seal_earlier_seed(seeds[2], second.hash, seeds[0], random)),
            ("without a label", seal(key, data, bytes(60), random)),
            ("bytes behind the seed", seal(key, data, labelled("earlier-seed", sized(bytes(31)), b"\0"), random))):
        like(name, "damaged", signed=identity.sign(replace(second.content, earlier_seed=other), seeds[2]))
    like("a signature that does not hold", "badSignature", signed=replace(second, own=flipped(second.own, 1)))


def add_names(vectors):
    """Section 8: devices' names."""
    random = randomness("device names")
    seed, device = random(32), public_keys(random(32)).box
    sealed = seal_device_name(seed, device, "Ordinateur d'été", random)
    like = vectors.like("deviceName", seed=seed, device=device, sealed=sealed)
    like("a name")
    like.each(None, "sealed", {"a name of 200 bytes": seal_device_name(seed, device, "é" * 100, random),
                               "no bytes": b""})
    like("of another identity, which is no name", seed=random(32))
    like("of another device, which is no name", device=public_keys(random(32)).box)
    like.each(None, "sealed", {
        "a bit flipped, which is no name": flipped(sealed, 30), "cut by one byte, which is no name": sealed[:-1],
        "fewer bytes than anything sealed, which are no name": sealed[:39]})
    key, data = derive(seed, "device-name-key"), device_name_data(device)
    like.each(None, "sealed", {name: seal(key, data, plain, random) for name, plain in {
        "an empty name, which is none": b"", "201 bytes, which are no name": b"n" * 201,
        "a name that is not UTF-8, which is none": b"\xff\xfe",
        "a name that is cut within a letter, which is none": "é".encode()[:1]}.items()})


def add_recoveries(vectors, identity):
    """Section 7: from the code and the chain to the seed."""
    first, second, third, fourth = identity.chain
    seeds, codes = identity.seeds, identity.codes
    scope = {"account": "alice", "container": CONTAINER, "environment": "development"}
    like = vectors.like("recovery", scope=scope, code=codes[0], chain=[first])
    like("a first statement")
    like("another code, and a device that joined", chain=identity.chain, code=codes[1])
    like("the same code with another seed", chain=[first, identity.follow("renewed", 2)])
    like("a code that was replaced", "wrongCode", chain=[first, second, third])
    like("a code that no statement lists", "wrongCode", code=codes[2])
    like("a code of the other environment", "brokenChain", scope={**scope, "environment": "production"})
    like.each("brokenChain", "chain", {name: [signed_again(seeds[0], first, anchor=anchor)] for name, anchor in {
        "a bit flipped in the anchor": flipped(first.anchor, 3),
        "the anchor of another code": make_anchor(codes[1], first.hash),
        "the anchor of another statement": make_anchor(codes[0], second.hash)}.items()})
    random = randomness("a server's identity")
    seed = random(32)
    forged = make_statement("alice", 1, ZEROS, seed, codes[0], [random(32)], random)
    like("an identity of whoever knows the code's key and not the code", "brokenChain",
         chain=[sign_statement(forged, seed, None, codes[2], random)])
    taken = sign_statement(identity.statement(randomness("taken over"), 2), seeds[2], seeds[2], None, random)
    like("a statement behind it that another signed", "badSignature", chain=[first, taken])
    like("a statement left out behind it", "brokenChain", code=codes[1], chain=[
        third, identity.sign(replace(fourth.content, number=5), seeds[1], seeds[1])])
    of_another = box(first.content.code, random, "identity-box", sized(seeds[2]))
    for name, other in (("a bit flipped in the code's box", flipped(first.boxes[1], 60)),
                        ("the seed of another identity in the code's box", of_another)):
        like(name, "damaged", chain=[signed_again(seeds[0], first, boxes=(first.boxes[0], other))])
    start = first.encoded().index(text("brume/1/statement")) + len(text("brume/1/statement"))
    others = {name: [value] for name, value in newer(first.encoded(), start) if name != "format 0"}
    like.each("newer", "chain", others)


def add_safety_numbers(vectors):
    """Section 8: safety numbers."""
    accounts = []
    for name in ("alice", "bob", "Zo\u00e9"):
        random = randomness(f"safety number of {name}")
        keys = public_keys(random(32))
        accounts.append({"account": name, "container": CONTAINER, "environment": "production",
                         "firstHash": random(32), "signing": keys.signing, "box": keys.box})
    alice, bob, zoe = accounts
    for name, first, second in (
            ("two accounts", alice, bob), ("the same two in the other order", bob, alice),
            ("two other accounts", bob, zoe), ("a third pair of accounts", alice, zoe),
            ("an account with other keys", {**alice, "signing": zoe["signing"]}, bob),
            ("an account with another first statement", {**alice, "firstHash": ZEROS}, bob),
            ("an account twice", alice, alice)):
        vectors.add("safetyNumber", name, first=first, second=second)
