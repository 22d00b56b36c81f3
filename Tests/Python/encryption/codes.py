"""Sections 7 and 9: recovery codes, and other characters that people type."""

import hmac

from nacl import bindings

from .constructions import derive, hash_of
from .parts import refuse_if, sized, text

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
PASSED_OVER = "- \t\r\n"
READ_AS = {ord(one): None for one in PASSED_OVER}
READ_AS |= {ord(one): one.upper() for one in "abcdefghjkmnpqrstuvwxyz"}  # of all letters these alone are raised
READ_AS |= {ord(one): "1" for one in "IiLl"} | {ord(one): "0" for one in "Oo"}


def characters(data, bit_count):
    """Section 2: the first bits as characters of five."""
    bits = int.from_bytes(data, "big") >> (len(data) * 8 - bit_count)
    return "".join(ALPHABET[bits >> shift & 31] for shift in range(bit_count - 5, -1, -5))


def typed_characters(typed, count):
    """Section 2: what a person typed, as so many characters of the alphabet."""
    plain = typed.translate(READ_AS)
    refuse_if(len(plain) != count, "wrongCode", "another length")
    refuse_if(any(one not in ALPHABET for one in plain), "wrongCode", "characters that are in no code")
    return plain


def code_text(code):
    """Section 7: a recovery code as a person writes it down."""
    plain = characters(code + hash_of("recovery-check", sized(code))[:2], 140)
    return "-".join(plain[start:start + 4] for start in range(0, 28, 4))


def read_code(typed):
    """Section 7: the 16 bytes of a recovery code that was typed."""
    plain = typed_characters(typed, 28)
    bits = 0
    for one in plain:
        bits = bits << 5 | ALPHABET.index(one)
    code = (bits >> 12).to_bytes(16, "big")
    refuse_if(code_text(code).replace("-", "") != plain, "wrongCode", "other check bits")
    return code


def paper_pair(code, account, container, environment):
    """Section 7: the code's pair for boxes, as the public and the secret key."""
    return bindings.crypto_box_seed_keypair(derive(code, "paper", text(account), text(container), text(environment)))


def make_anchor(code, statement_hash):
    """Section 7: the anchor of a statement that lists the code for the first time."""
    return derive(code, "anchor", sized(statement_hash))


def enrolment_codes(common_hash):
    """Section 9: the six characters that the new device shows, and the six that the other shows."""
    both = characters(common_hash[:8], 60)
    return both[:6], both[6:]


def check_typed_code(typed, expected):
    """Section 9: refuses six characters that are not those of the other device."""
    is_same = hmac.compare_digest(typed_characters(typed, 6), expected)
    refuse_if(not is_same, "wrongCode", "six other characters")
