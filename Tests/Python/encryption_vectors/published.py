"""Checks against what others publish, and of what has no vectors."""

import hashlib
import os

from nacl import bindings

from encryption import codes, constructions, enrolment, parts

ALICE = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
SUNSCREEN = (b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
             b"sunscreen would be it.")


def check_published():
    """BLAKE2b of RFC 7693, Ed25519 of RFC 8032, X25519 of RFC 7748, the draft of XChaCha20-Poly1305."""
    assert hashlib.blake2b(b"abc").hexdigest() == (
        "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
        "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
    public, secret = bindings.crypto_sign_seed_keypair(ALICE)
    assert public.hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert bindings.crypto_sign(b"", secret).hex() == (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555"
        "fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b")
    assert bindings.crypto_scalarmult_base(
        bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")).hex() == (
        "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    sealed = constructions.encrypt(bytes(range(0x80, 0xa0)), bytes(range(0x40, 0x58)),
                                   bytes.fromhex("50515253c0c1c2c3c4c5c6c7"), SUNSCREEN)
    assert sealed[24:40].hex() == "bd6d179d3e83d43b9576579493c0e939"
    assert sealed[-16:].hex() == "c0875924c1c7987947deafd8780acf49"


def check_boxes():
    """Boxes are those of libsodium, in both directions."""
    pair = constructions.box_pair(bytes(32))
    message = parts.labelled("example", parts.sized(b"plain"))
    sealed = constructions.box(pair[0], os.urandom, "example", parts.sized(b"plain"))
    assert bindings.crypto_box_seal_open(sealed, *pair) == message
    assert constructions.open_box(pair, bindings.crypto_box_seal(message, pair[0])) == message


def check_six_characters():
    """Six characters that a person types."""
    who = enrolment.Who("alice", "iCloud.notes", "development", bytes(16))
    opening = enrolment.Opening(constructions.public_keys(bytes(32)), bytes(32))
    offer = enrolment.Offer(bytes(32), constructions.public_keys(b"\x01" * 32), bytes(32))
    shown = codes.enrolment_codes(enrolment.enrolment_hash(who, offer, opening))[0]
    codes.check_typed_code(f" {shown[:3].lower()}-{shown[3:]}\r\n", shown)
    try:
        codes.check_typed_code("AAAAAA", shown)
    except parts.Refusal as refusal:
        assert refusal.name == "wrongCode"
    else:
        raise AssertionError("six other characters are taken")
