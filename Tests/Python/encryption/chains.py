"""Sections 7 and 8: chains of statements, the seeds that they give, recovery, safety numbers."""

import hmac

from .codes import make_anchor, paper_pair
from .constructions import box_pair, check_signature, hash_of, open_box, public_keys
from .parts import ZEROS, Refusal, read_labelled, refuse_if, sized, text
from .statements import SignedStatement, check_own_signature, open_earlier_seed

MOST_STATEMENTS = 4_096


def check_first(signed):
    """Section 8: a first statement has nothing before it, and comes with an anchor."""
    is_first = signed.content.number == 1 and signed.content.before == ZEROS
    refuse_if(not is_first, "brokenChain", "not a first statement")
    refuse_if(not signed.anchor, "brokenChain", "a first statement without an anchor")
    check_own_signature(signed)


def check_next(signed, chain_before):
    """Section 8: refuses a statement that does not follow the last of those before it."""
    content, before, all_before = signed.content, chain_before[-1].content, [each.content for each in chain_before]

    def broken_if(condition, reason):
        refuse_if(condition, "brokenChain", reason)

    broken_if(content.scope != before.scope, "of another account, container or environment")
    broken_if(content.number != before.number + 1 or content.before != chain_before[-1].hash, "does not follow")
    code_is_new = content.code != before.code
    broken_if(code_is_new != (signed.anchor != b""), "an anchor missing, or one too many")
    broken_if(code_is_new and any(content.code == each.code for each in all_before), "a code that was replaced")
    keys_are_new = content.keys != before.keys
    broken_if(keys_are_new and any(content.keys.signing == each.keys.signing or content.keys.box == each.keys.box
                                   for each in all_before), "other keys, of which one was an earlier statement's")
    device_is_gone = any(keys not in content.device_keys for keys in before.device_keys)
    broken_if(not keys_are_new and (device_is_gone or code_is_new), "the same keys, though a device or the code went")
    broken_if(keys_are_new != (content.earlier_seed != b""), "an earlier seed missing, or one too many")
    check_own_signature(signed)
    check_signature(before.keys.signing, signed.by_before, "statement-next", sized(signed.statement))


def read_statements(chain):
    """Section 8: a chain of signed statements, checked from the first on."""
    refuse_if(not 1 <= len(chain) <= MOST_STATEMENTS, "brokenChain", "no statement, or more than there can be")
    read = []
    for encoded in chain:
        signed = SignedStatement.decode(encoded)
        if read:
            check_next(signed, read)
        else:
            check_first(signed)
        read.append(signed)
    return read


def open_identity_seed(signed, pair, place_in_list):
    """Section 8: the identity's seed from one of the boxes, checked against the statement."""
    seed, = read_labelled(open_box(pair, signed.boxes[place_in_list]), "identity-box", 32)
    refuse_if(public_keys(seed) != signed.content.keys, "damaged", "a seed of another identity")
    return seed


def identity_seed_for_device(signed, device_seed):
    """Section 8: the identity's seed from a device's box."""
    keys, device_keys = public_keys(device_seed), signed.content.device_keys
    refuse_if(keys not in device_keys, "keyMissing", "a device that the statement does not list")
    return open_identity_seed(signed, box_pair(device_seed), device_keys.index(keys))


def all_seeds(identity_seed, chain):
    """Section 8: the seed and all that went before it in a chain of signed statements that was read."""
    keys = public_keys(identity_seed)
    positions = [position for position, signed in enumerate(chain) if signed.content.keys == keys]
    seeds = [identity_seed]
    for position in range(positions[-1] if positions else 0, 0, -1):
        if chain[position].content.keys == chain[position - 1].content.keys:
            continue
        try:
            seeds.append(open_earlier_seed(seeds[-1], chain[position], chain[position - 1]))
        except Refusal:
            break
    return seeds


def recover(code, account, container, environment, chain):
    """Section 7: the identity's seed, from the code and the account's chain of signed statements."""
    scope = (account, container, environment)
    pair = paper_pair(code, *scope)
    read = [SignedStatement.decode(encoded) for encoded in chain]
    refuse_if(any(each.content.scope != scope for each in read), "brokenChain", "of another account")
    newly = [position for position, signed in enumerate(read) if signed.content.code == pair[0]
             and (position == 0 or read[position - 1].content.code != pair[0])]
    refuse_if(not newly, "wrongCode", "a code that no statement lists")
    start = newly[-1]
    anchor_is_right = hmac.compare_digest(make_anchor(code, read[start].hash), read[start].anchor)
    refuse_if(not anchor_is_right, "brokenChain", "the anchor of another code or statement")
    check_own_signature(read[start])
    for position in range(start + 1, len(read)):
        check_next(read[position], read[start:position])
    refuse_if(read[-1].content.code != pair[0], "wrongCode", "a code that was replaced")
    return open_identity_seed(read[-1], pair, len(read[-1].content.devices))


def safety_number(first, second):
    """Section 8: of two accounts, each as (account, container, environment, first hash, keys)."""
    hashes = sorted(
        hash_of("safety-number", text(account), text(container), text(environment), sized(first_hash), keys.parts())
        for account, container, environment, first_hash, keys in (first, second))
    return "".join(f"{int.from_bytes(each[start:start + 5], 'big') % 100_000:05}"
                   for each in hashes for start in range(0, 30, 5))
