"""Section 9: enrolment."""

from .chains import identity_seed_for_device, read_statements
from .constructions import Keys, check_signature, hash_of, public_keys, sign
from .messages import ACCOUNT, ENVIRONMENT, TEXT, bytes_of, message
from .parts import refuse_if, sized


@message()
class Who:
    """Section 9: whose request it is, and which."""

    account: ACCOUNT
    container: TEXT
    environment: ENVIRONMENT
    request: bytes_of(16)


@message("enrol-1", versioned=True)
class Request:
    """Section 9: message 1, of the device that is to be let in."""

    commitment: bytes_of(32)


@message("enrol-2", versioned=True)
class Offer:
    """Section 9: message 2, of the device that lets in."""

    statement_hash: bytes_of(32)
    keys: Keys.part
    random: bytes_of(32)


@message("enrol-3", versioned=True)
class Opening:
    """Section 9: message 3, of the device that is let in."""

    keys: Keys.part
    random: bytes_of(32)

    def request(self, who):
        """Section 9: message 1, which commits to this one."""
        return Request(hash_of("enrol-commitment", who.parts(), self.parts()))


@message("enrol-4", versioned=True)
class Done:
    """Section 9: message 4, of the device that lets in."""

    statement_hash: bytes_of(32)
    signature: bytes_of(64)


def read_opening(encoded, who, request):
    """Section 9: message 3, which has to be what message 1 committed to."""
    opening = Opening.decode(encoded)
    refuse_if(opening.request(who) != request, "damaged", "another device than the one that asked")
    return opening


def enrolment_hash(who, offer, opening):
    """Section 9: H."""
    return hash_of("enrolment", who.parts(), opening.request(who).parts(), offer.parts(), opening.parts())


def make_done(device_seed, common_hash, statement_hash):
    """Section 9: message 4."""
    return Done(statement_hash, sign(device_seed, "enrol-done", sized(common_hash), sized(statement_hash)))


def finish_enrolment(who, messages, chain, device_seed):
    """Section 9: what the new device does with message 4: the identity's seed, and the hash of the statement."""
    request, offer, done = (kind.decode(messages[at]) for kind, at in ((Request, 0), (Offer, 1), (Done, 3)))
    opening = read_opening(messages[2], who, request)
    refuse_if(opening.keys != public_keys(device_seed), "damaged", "another device than this one")
    read = read_statements(chain)
    last, hashes = read[-1].content, [signed.hash for signed in read]
    seed = identity_seed_for_device(read[-1], device_seed) if opening.keys in last.device_keys else None
    refuse_if(last.scope != (who.account, who.container, who.environment), "brokenChain", "of another account")
    refuse_if(not {offer.statement_hash, done.statement_hash} <= set(hashes), "brokenChain", "not in the chain")
    start, position = hashes.index(offer.statement_hash), hashes.index(done.statement_hash)
    refuse_if(position <= start, "brokenChain", "a statement that is not behind the one of message 2")
    for where, keys in ((start, offer.keys), (position, offer.keys), (position, opening.keys)):
        refuse_if(keys not in read[where].content.device_keys, "brokenChain", "a device that is not listed")
    signed = sized(enrolment_hash(who, offer, opening)), sized(done.statement_hash)
    check_signature(offer.keys.signing, done.signature, "enrol-done", *signed)
    refuse_if(seed is None, "keyMissing", "a device that is listed no more")
    return seed, done.statement_hash
