"""Section 8: vectors of statements that don't follow each other, each otherwise correct and signed."""

from dataclasses import replace

from encryption.codes import make_anchor
from encryption.constructions import Keys, public_keys
from encryption.parts import ZEROS
from encryption.statements import Device, seal_earlier_seed, sign_statement

from .accounts import Identity, make_statement, signed_again
from .making import flipped, randomness


def add(vectors):
    """Adds all of them."""
    identity = Identity()
    first, second, third = identity.chain[:3]
    seeds, codes = identity.seeds, identity.codes
    content = second.content

    def bad(name, *chain, refusal="brokenChain"):
        vectors.add("statements", name, refusal, chain=chain)

    bad("no statement")
    bad("a chain without its first statement", second)
    bad("a statement twice", first, first)
    for name, changes in (
            ("number skipped", {"number": 3}), ("hash of another statement", {"before": second.hash}),
            ("another account", {"account": "alicia"}),
            ("another container", {"container": "iCloud.com.example.other"}),
            ("the other environment", {"environment": "production"})):
        bad(name, first, identity.sign(replace(content, **changes)))
    accented = [make_statement(name, number, ZEROS, seeds[0], codes[0], identity.devices[:1], randomness(name))
                for number, name in ((1, "Zo\u00e9"), (2, "Zoe\u0301"))]
    before = sign_statement(accented[0], seeds[0], None, codes[0], randomness("accent"))
    bad("an account that looks the same and is written otherwise", before,
        identity.sign(replace(accented[1], before=before.hash, code=accented[0].code)))
    taken = identity.statement(randomness("taken"), 2)
    for name, signed in (
            ("signature of the statement before by another", identity.sign(taken, seeds[2], seeds[2])),
            ("a bit flipped in the signature of the statement before", replace(
                second, by_before=flipped(second.by_before, 5))),
            ("a bit flipped in the own signature of a second statement", replace(second, own=flipped(second.own, 5)))):
        bad(name, first, signed, refusal="badSignature")
    bad("no signature of the statement before", first, replace(second, by_before=b""), refusal="damaged")
    bad("an anchor where the code is the same", first,
        signed_again(seeds[0], second, anchor=make_anchor(codes[0], second.hash)))
    bad("no anchor where the code is another", first, second, signed_again(seeds[1], third, anchor=b""))
    bad("another code with the same seed", first, identity.follow("recoded, same seed", 0, 1))
    bad("a device that went, with the same seed", first, second, identity.follow(
        "gone, same seed", devices=(1,), behind=second))
    other_signing = public_keys(identity.devices[2]).signing
    bad("a device with another key for signatures, with the same seed", first, identity.sign(replace(
        content, devices=(Device(Keys(other_signing, first.content.devices[0].keys.box)),))))
    chain = [first]
    for number, code in ((2, 1), (3, 0)):
        statement = identity.statement(randomness(f"codes (0, 1, 0), {number}"), number - 1, code, behind=chain[-1],
                                       seed_before=number - 2)
        chain.append(identity.sign(statement, seeds[number - 1], seeds[number - 2], codes[code]))
    bad("a code that was replaced is listed again, code 1 as number 3", *chain)
    without = identity.statement(randomness("without the earlier one"), 2, seed_before=None)
    bad("another seed without the earlier one", first, identity.sign(without, seeds[2]))
    sealed = seal_earlier_seed(seeds[0], first.hash, seeds[0], randomness("the same seed"))
    bad("an earlier seed where the seed is the same", first, identity.sign(replace(content, earlier_seed=sealed)))
    renewed = identity.follow("renewed, and back", 2)
    bad("the keys of an earlier statement again", first, renewed, identity.follow(
        "and back", behind=renewed, seed_before=2))
    half = Keys(public_keys(seeds[2]).signing, first.content.keys.box)
    bad("keys of which only the one for signatures is another", first, identity.follow("half", 2, keys=half))
    bad("a first statement that has one before", identity.sign_first(replace(first.content, before=first.hash)))
    bad("a second statement by itself", identity.sign(replace(first.content, number=2)))
