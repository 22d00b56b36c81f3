"""Section 9: vectors of enrolment."""

from dataclasses import replace

from encryption.constructions import Keys, public_keys
from encryption.enrolment import Offer, Opening, Who, enrolment_hash, make_done
from encryption.parts import ZEROS, text, u32

from .accounts import CONTAINER, Identity, make_statement, signed_again
from .making import flipped, newer, randomness


def add(vectors):
    """Adds all of them."""
    random = randomness("enrolment")
    device, other_device, statement = random(32), random(32), random(32)
    who = Who("alice", CONTAINER, "development", random(16))
    opening = Opening(public_keys(device), random(32))
    offer = Offer(statement, public_keys(other_device), random(32))
    messages = [opening.request(who), offer, opening]
    like = vectors.like("enrolment", who=who, messages=messages)
    like("a device that is let in")
    like("the same with other randomness of the device that lets in",
         messages=[messages[0], replace(offer, random=random(32)), opening])
    elsewhere = replace(who, environment="production", account="Zo\u00e9")
    like("another account in production", who=elsewhere, messages=[opening.request(elsewhere), offer, opening])

    def bad(position, name, message, refusal="damaged"):
        like(name, refusal, messages=[*messages[:position], message, *messages[position + 1:]])

    encoded = [each.encoded() for each in messages]
    for position, message in enumerate(encoded):
        which, start = f"message {position + 1}", len(text(f"brume/1/enrol-{position + 1}"))
        for name, value in newer(message, start):
            bad(position, f"{which}, {name}", value, "newer")
        for name, value in ((" cut by one byte", message[:-1]), (" with one byte more", message + b"\0"),
                            (" with another label", flipped(message, start - 1, 3)),
                            (", a bit flipped in a length", flipped(message, start + 2)), (", nothing", b""),
                            (", the one behind it in its place", encoded[(position + 1) % 3])):
            bad(position, which + name, value)
    for position, part, at in ((0, "commitment", -1), (2, "key for signatures", -73), (2, "key for boxes", -37),
                               (2, "randomness", -1)):
        bad(position, f"message {position + 1}, a bit flipped in the {part}", flipped(encoded[position], at))
    for name, keys in (("signatures of small order", Keys(b"\x01" + bytes(31), opening.keys.box)),
                       ("boxes of zeros", Keys(opening.keys.signing, ZEROS))):
        bad(1, f"message 2 with a key for {name}", replace(offer, keys=keys))
        other = replace(opening, keys=keys)
        like(f"message 3 with a key for {name}, committed to", "damaged",
             messages=[other.request(who), offer, other])
    bad(1, "message 2 with a key for boxes with its highest bit set",
        replace(offer, keys=Keys(offer.keys.signing, flipped(opening.keys.box, -1, 7))))
    bad(2, "another device than the one that asked", Opening(public_keys(other_device), random(32)))
    like.each("damaged", "who", {
        "request": replace(who, request=flipped(who.request, 0)), "account": replace(who, account="bob"),
        "container": replace(who, container="iCloud.com.example.other")}, "of another ")
    like("of the other environment", "damaged", who=replace(who, environment="production"))
    add_done(vectors)


def add_done(vectors):
    """Message 4, and the chain with it."""
    identity = Identity()
    first, second, third = identity.chain[:3]
    devices, seeds = identity.devices, identity.seeds
    random = randomness("enrolment done")
    who = Who("alice", CONTAINER, "development", random(16))

    def messages_of(now=first, new=1, letting_in=0, then=second, signed=None, of=who, signer=None):
        """All four; `now` and `then` are the statements of messages 2 and 4, `signed` the one that is signed."""
        opening = Opening(public_keys(devices[new]), random(32))
        offer = Offer(now.hash, public_keys(devices[letting_in]), random(32))
        common_hash = enrolment_hash(of, offer, opening)
        done, other = (make_done(signer or devices[letting_in], common_hash, each.hash)
                         for each in (then, signed or then))
        return [opening.request(of), offer, opening, replace(done, signature=other.signature)]

    messages, both = messages_of(), [first, second]
    last = messages[3].encoded()
    like = vectors.like("enrolmentDone", who=who, messages=messages, chain=both, deviceSeed=devices[1])

    def fourth(refusal, chain, values):
        """Another message 4."""
        for name, value in dict(values).items():
            like(f"message 4, {name}", refusal, messages=[*messages[:3], value], chain=chain)

    like("the second device")
    start = len(text("brume/1/enrol-4"))
    fourth("newer", [first], newer(last, start))
    fourth("damaged", [first], {
        "cut by one byte": last[:-1], "with one byte more": last + b"\0", "nothing": b"",
        "with another label": flipped(last, start - 1, 3), "message 3 in its place": messages[2],
        "a bit flipped in a length": flipped(last, start + 2), "without a signature": last[:-68] + u32(0)})
    fourth("brokenChain", both, {"a bit flipped in the hash": flipped(last, -69)})
    fourth("badSignature", both, {"a bit flipped in the signature": flipped(last, -1)})
    like("a signature over another statement", "badSignature", messages=messages_of(signed=first))
    like("a signature by the identity", "badSignature", messages=messages_of(signer=seeds[0]))
    again = Offer(first.hash, public_keys(devices[0]), random(32))
    like("another message 2 than the one that was signed", "badSignature", messages=[messages[0], again, *messages[2:]])
    like("another device than this one", "damaged", chain=[first], deviceSeed=devices[2])
    like("messages 1 and 3 of another device", "damaged", messages=[messages_of(new=2)[0], *messages[1:]],
         chain=[first])
    like("a chain without the statement of message 4", "brokenChain", chain=[first])
    like("a chain without the statement of message 2", "brokenChain", messages=messages_of(third))
    like("the statement of message 4 in front of the one of message 2", "brokenChain",
         messages=messages_of(third, letting_in=1), chain=identity.chain[:3])
    like("a statement of message 4 that does not list the new device", "brokenChain", messages=messages_of(new=3),
         deviceSeed=devices[3])
    like("a device that lets in and is not listed", "brokenChain", messages=messages_of(letting_in=2))
    bob = replace(who, account="bob")
    like("the chain of another account", "brokenChain", who=bob, messages=messages_of(of=bob))
    boxes = (second.boxes[0], flipped(second.boxes[1], 50), second.boxes[2])
    like("a bit flipped in the new device's box", "damaged", chain=[first, signed_again(seeds[0], second, boxes=boxes)])
    like("a chain that goes on with another seed",
         chain=[*both, identity.follow("renewed behind", 2, devices=(0, 1), behind=second)])
    like("a chain that goes on without the new device", "keyMissing",
         chain=[*both, identity.follow("without N", 2, behind=second)])
    two = identity.sign_first(make_statement("alice", 1, ZEROS, seeds[0], identity.codes[0], [devices[0], devices[2]],
                                             randomness("two devices")))
    removed = identity.follow("A is removed", 2, devices=(2,), behind=two)
    joined = identity.sign(identity.statement(randomness("N joins without A"), 2, devices=(2, 1), behind=removed,
                                              seed_before=None), seeds[2], seeds[2])
    like("the device that lets in was removed in between", "brokenChain", messages=messages_of(two, then=joined),
         chain=[two, removed, joined])
    late = identity.follow("A comes with N", 2, devices=(1, 2))
    like("a device that lets in and is listed only behind the statement of message 2", "brokenChain",
         messages=messages_of(new=2, letting_in=1, then=late), chain=[first, late], deviceSeed=devices[2])
