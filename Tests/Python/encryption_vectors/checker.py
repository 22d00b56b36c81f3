"""Checks vectors: for each kind, what a vector's inputs give; what can be made again has to be the same."""

import hashlib

from encryption.assets import make_asset, read_asset, read_asset_list
from encryption.chains import identity_seed_for_device, read_statements, recover, safety_number
from encryption.codes import enrolment_codes, make_anchor, paper_pair, read_code
from encryption.constructions import Keys, box_pair, check_signature, derive, hash_of, open_box, pad, public_keys, sign
from encryption.enrolment import Offer, Request, Who, enrolment_hash, finish_enrolment, read_opening
from encryption.links import invitation_id, join_parts, make_fragment, make_join_proof, open_link_box, read_fragment
from encryption.parts import Parts, Refusal, listed, sized, text, u8, u32, u64
from encryption.ring_entries import Ring, SignedEntry
from encryption.ring_keys import InvitationReader, MemberReader, ZoneKeyReader, open_ring
from encryption.ring_rules import Statements
from encryption.statements import (SignedStatement, open_device_name, open_earlier_seed, read_signed_statement,
                                   seal_device_name, seal_earlier_seed)
from encryption.trees import HEADER_BYTES, Place, Tree, check_stamp, make_stamp, make_value, read_value

from .values import given, plain

WRITERS = {"u8": u8, "u32": u32, "u64": lambda value: u64(int(value)), "text": text,
           "bytes": lambda value: sized(bytes.fromhex(value))}


def same(remade, listed_value):
    """Fails where what was made again is another."""
    if remade != listed_value:
        raise ValueError("remade bytes are others")


def parts_of(values):
    """The parts of a labelled message, from pairs of a kind and a value."""
    return [WRITERS[kind](value) for kind, value in values]


def nonce_of(sealed):
    """Randomness that gives the nonce that a sealed value begins with."""
    return lambda count: sealed[:count]


def same_when_read_again(kind, chain):
    """Fails where signed statements or entries that were read are written otherwise."""
    read = [kind.decode(each) for each in chain]
    same([(each.encoded(), sized(each.content.encoded())) for each in read],
         [(whole, each.own_parts()[0]) for whole, each in zip(chain, read)])


def tree_of(vector):
    """The tree of a value or stamp."""
    return Tree(Place(**vector["place"]), vector["tree"]["kind"], vector["tree"]["root"])


def check_sign(vector):
    """A signature, which holds."""
    message = (vector["label"], *parts_of(vector["parts"]))
    signature = sign(vector["seed"], *message)
    check_signature(public_keys(vector["seed"]).signing, signature, *message)
    return signature


def check_box(vector):
    """The labelled message in a box."""
    message = open_box(box_pair(vector["seed"]), vector["box"])
    Parts(message).label(vector["label"])
    return message


def check_field(vector):
    """A value."""
    of = (tree_of(vector), vector["tree"]["number"], vector["ringKey"], vector["record"], vector["type"],
          vector["field"], vector["valueType"])
    value = read_value(*of, sealed=vector["value"])
    same(make_value(*of, value=value, random=nonce_of(vector["value"][HEADER_BYTES:])), vector["value"])
    return value


def check_of_stamp(vector):
    """A stamp, which has nothing in it."""
    of = (tree_of(vector), vector["tree"]["number"], vector["ringKey"], vector["record"], vector["type"],
          vector["parent"])
    check_stamp(*of, vector["stamp"])
    same(make_stamp(*of, nonce_of(vector["stamp"][HEADER_BYTES:])), vector["stamp"])
    return True


def check_asset(vector):
    """A file."""
    content = read_asset(vector["secret"], vector["blob"])
    same(make_asset(content, nonce_of(vector["secret"][2:])), (vector["secret"], vector["blob"]))
    return content


def check_large_asset(vector):
    """A file that is too long for a file of vectors."""
    content = bytes((index * 31 + vector["seedByte"]) % 251 for index in range(vector["length"]))
    secret, blob = make_asset(content, nonce_of(vector["key"]))
    same(read_asset(secret, blob), content)
    return {"secret": secret, "blobHash": hashlib.sha256(blob).digest()}


def check_asset_list(vector):
    """The value of a list of assets."""
    secrets = [each.encoded() for each in read_asset_list(vector["secrets"], vector["count"])]
    same(listed(secrets), vector["secrets"])
    return secrets


def check_statements(vector):
    """A chain."""
    read = read_statements(vector["chain"])
    same_when_read_again(SignedStatement, vector["chain"])
    return {"number": read[-1].content.number, "hash": read[-1].hash, "firstHash": read[0].hash}


def check_earlier_seed(vector):
    """The seed of the statement before."""
    signed, before = read_signed_statement(vector["signed"]), read_signed_statement(vector["before"])
    earlier, sealed = open_earlier_seed(vector["seed"], signed, before), signed.content.earlier_seed
    same(seal_earlier_seed(vector["seed"], before.hash, earlier, nonce_of(sealed)), sealed)
    return earlier


def check_device_name(vector):
    """A device's name, or none."""
    of = vector["seed"], vector["device"]
    name = open_device_name(*of, vector["sealed"])
    if name is not None:
        same(seal_device_name(*of, name, nonce_of(vector["sealed"])), vector["sealed"])
    return name


def check_safety_number(vector):
    """The same in both orders."""
    both = [(each["account"], each["container"], each["environment"], each["firstHash"],
             Keys(each["signing"], each["box"])) for each in (vector["first"], vector["second"])]
    number = safety_number(*both)
    same(safety_number(*reversed(both)), number)
    return number


def check_enrolment(vector):
    """Messages 1 to 3."""
    who, messages = Who(**vector["who"]), vector["messages"]
    request, offer = Request.decode(messages[0]), Offer.decode(messages[1])
    opening = read_opening(messages[2], who, request)
    same([each.encoded() for each in (request, offer, opening)], messages)
    common_hash = enrolment_hash(who, offer, opening)
    code_of_new, code_of_other = enrolment_codes(common_hash)
    return {"commitment": request.commitment, "H": common_hash, "codeOfN": code_of_new, "codeOfA": code_of_other}


def check_enrolment_done(vector):
    """Message 4, with the chain."""
    seed, statement_hash = finish_enrolment(Who(**vector["who"]), vector["messages"], vector["chain"],
                                            vector["deviceSeed"])
    return {"seed": seed, "statementHash": statement_hash}


def check_ring(vector):
    """A ring's chain, and the keys that a member, whoever has a link, or whoever has a key of the zone's reaches."""
    if "zoneKey" in vector:
        reader = ZoneKeyReader(vector["zoneKey"]["number"], vector["zoneKey"]["key"])
    elif "invitation" in vector["reader"]:
        reader = InvitationReader(vector["reader"]["invitation"])
    else:
        reader = MemberReader(vector["reader"]["user"], vector["reader"]["seed"])
    statements = Statements([read_statements(each["signed"]) for each in vector["statements"]])
    opened = open_ring(vector["entries"], statements, reader)
    same_when_read_again(SignedEntry, vector["entries"])
    keys, tree_keys = ({str(number): key for number, key in sorted(some.items())}
                       for some in (opened.keys, opened.tree_keys))
    return {"number": opened.number, "hash": opened.hash, "keys": keys,
            **({"treeKeys": tree_keys} if tree_keys else {})}


def check_link(vector):
    """A link's fragment."""
    read = read_fragment(vector["fragment"])
    same(make_fragment(*read), vector["fragment"])
    return dict(zip(("owner", "secret", "title"), read))


def check_join_proof(vector):
    """A join proof, which holds."""
    joining = (Ring(Place(**vector["place"]), **vector["ring"]), vector["id"], vector["guest"], vector["statementHash"])
    proof = make_join_proof(vector["secret"], *joining)
    check_signature(public_keys(vector["secret"]).signing, proof, "join", *join_parts(*joining))
    return proof


CHECKS = {
    "pad": lambda vector: pad(int(vector["length"])),
    "hash": lambda vector: hash_of(vector["label"], *parts_of(vector["parts"])),
    "derive": lambda vector: derive(vector["key"], vector["label"], *parts_of(vector["parts"])),
    "seed": lambda vector: public_keys(vector["seed"]), "sign": check_sign, "box": check_box,
    "tree": lambda vector: {"id": tree_of(vector).identifier(), "key": tree_of(vector).key(vector["ringKey"])},
    "field": check_field, "stamp": check_of_stamp, "asset": check_asset, "assetLarge": check_large_asset,
    "assetList": check_asset_list, "code": lambda vector: read_code(vector["text"]),
    "paper": lambda vector: paper_pair(*(vector[each] for each in ("code", "account", "container", "environment")))[0],
    "anchor": lambda vector: make_anchor(vector["code"], vector["statementHash"]), "statements": check_statements,
    "recovery": lambda vector: {"seed": recover(vector["code"], **vector["scope"], chain=vector["chain"])},
    "seedBox": lambda vector: identity_seed_for_device(read_signed_statement(vector["signed"]), vector["seed"]),
    "earlierSeed": check_earlier_seed, "deviceName": check_device_name, "safetyNumber": check_safety_number,
    "enrolment": check_enrolment, "enrolmentDone": check_enrolment_done, "ring": check_ring, "link": check_link,
    "joinProof": check_join_proof, "invitation": lambda vector: invitation_id(vector["participant"]),
    "linkBox": lambda vector: dict(zip(("id", "secret"), open_link_box(vector["seed"], vector["box"]))),
}


def result_of(vector):
    """What a vector's inputs give, as it stands in JSON."""
    return plain(CHECKS[vector["kind"]](given(vector)))


def fault_of(vector):
    """Why a vector is not as it should be, or None."""
    wanted = vector.get("refusal", "opened")
    try:
        found = result_of(vector)
    except Refusal as refusal:
        return None if refusal.name == wanted else f"refused ({refusal}) and not {wanted}"
    except Exception as error:  # nothing that came from elsewhere may end in anything but a refusal
        return f"failed with {error!r}"
    if "refusal" in vector:
        return f"not refused, though it should be: {wanted}"
    return None if found == vector["result"] else f"gives {found}"


def check(vectors):
    """Checks vectors and says how they are; gives a program's exit code."""
    faults = [(vector, fault) for vector in vectors if (fault := fault_of(vector))]
    for vector, fault in faults:
        print(f"{vector['kind']}, {vector['name']}: {fault}")
    outcome = f"{len(faults)} not as they should be" if faults else "all as they should be"
    print(f"{len(vectors)} vectors, {sum('refusal' in vector for vector in vectors)} refusals: {outcome}")
    return 1 if faults else 0
