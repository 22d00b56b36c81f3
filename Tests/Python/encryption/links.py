"""Section 11: links."""

import base64
import os
import re

from .constructions import box, box_pair, hash_of, open_box, public_keys, sign
from .parts import Refusal, read_labelled, refuse_if, sized, text
from .ring_entries import Invitation


def make_fragment(owner_first_hash, secret, title=None):
    """Section 11: a link's fragment; `title` is written as a URL has it."""
    keys = base64.urlsafe_b64encode(owner_first_hash[:16] + secret).decode("ascii").rstrip("=")
    return f"1.{keys}" if title is None else f"1.{keys}.{title}"


def read_fragment(fragment):
    """Section 11: the first 16 bytes of the hash of the owner's first statement, the link secret, and the title."""
    found = re.fullmatch(r"([0-9]+)\.([^.]*)(?:\.(.*))?", fragment, re.DOTALL)
    if not found:
        raise Refusal("damaged", "not a fragment")
    refuse_if(found[1] != "1", "newer", "needs a newer version")
    refuse_if(not re.fullmatch(r"[A-Za-z0-9_-]{64}", found[2]), "damaged", "keys of another length, or not base64url")
    keys = base64.urlsafe_b64decode(found[2])
    return keys[:16], keys[16:], found[3]


def invitation_id(participant):
    """Section 11: the id of the invitation for one guest, by the participant's id in the share."""
    return hash_of("participant", text(participant))[:16]


def join_parts(ring, identifier, guest, guest_statement_hash):
    """Section 11: what a join proof signs."""
    return ring.parts(), sized(identifier), text(guest), sized(guest_statement_hash)


def make_join_proof(secret, ring, identifier, guest, guest_statement_hash):
    """Section 11: the join proof."""
    return sign(secret, "join", *join_parts(ring, identifier, guest, guest_statement_hash))


def make_link_box(key, identifier, secret, random=os.urandom):
    """Section 11: the link secret, for the owner or for whoever made the invitation."""
    return box(key, random, "link-box", sized(identifier), sized(secret))


def open_link_box(identity_seed, sealed):
    """Section 11: the invitation's id and the link secret."""
    return read_labelled(open_box(box_pair(identity_seed), sealed), "link-box", 16, 32)


def make_invitation(secret, identifier, maker, role, for_one, is_open, owner_key, maker_key=None, random=os.urandom):
    """Section 11: an invitation, with its secret for the owner and, where it is another, for its maker."""
    return Invitation(
        identifier, maker, role, int(for_one), int(is_open), public_keys(secret),
        make_link_box(owner_key, identifier, secret, random),
        b"" if maker_key is None else make_link_box(maker_key, identifier, secret, random))
