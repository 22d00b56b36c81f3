"""Section 2: constructions, all of them of libsodium."""

import hashlib
import os

from nacl import bindings, exceptions

from .messages import bytes_of, checked, message
from .parts import Refusal, labelled, refuse_if

SEAL_BYTES = 40  # more than the plain bytes: a nonce of 24, a tag of 16
BOX_BYTES = 48  # more than the plain bytes: a public key of 32, a tag of 16
PRIME = 2**255 - 19


def hash_of(label, *parts):
    """Section 2: `hash(label, …)`."""
    return hashlib.blake2b(labelled(label, *parts), digest_size=32).digest()


def derive(key, label, *parts):
    """Section 2: `derive(key, label, …)`."""
    return hashlib.blake2b(labelled(label, *parts), digest_size=32, key=key).digest()


def encrypt(key, nonce, data, plain):
    """Section 2: the nonce, then XChaCha20-Poly1305."""
    return nonce + bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(plain, data, nonce, key)


def seal(key, data, plain, random=os.urandom):
    """Section 2: `seal(key, data, plain)`."""
    return encrypt(key, random(24), data, plain)


def unseal(key, data, sealed):
    """Section 2: opens what `seal` made."""
    refuse_if(len(sealed) < SEAL_BYTES, "damaged", "shorter than anything sealed")
    try:
        return bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed[24:], data, sealed[:24], key)
    except exceptions.CryptoError:
        raise Refusal("damaged", "does not open") from None


def signing_pair(seed):
    """Section 2: a seed's pair for signatures, as the public and the secret key."""
    return bindings.crypto_sign_seed_keypair(derive(seed, "sign-seed"))


def box_pair(seed):
    """Section 2: a seed's pair for boxes, as the public and the secret key."""
    return bindings.crypto_box_seed_keypair(derive(seed, "box-seed"))


def is_box_key(key):
    """Section 2: whether a public key for boxes is a number below the prime and does not give zeros."""
    try:
        bindings.crypto_scalarmult(b"\x01" * 32, key)
    except exceptions.RuntimeError:
        return False
    return int.from_bytes(key, "little") < PRIME


SIGNING_KEY = checked(bytes_of(32), bindings.crypto_core_ed25519_is_valid_point, "no key for signatures")
BOX_KEY = checked(bytes_of(32), is_box_key, "no key for boxes")


@message()
class Keys:
    """Section 2: a seed's public keys."""

    signing: SIGNING_KEY
    box: BOX_KEY


def public_keys(seed):
    """Section 2: a seed's public keys."""
    return Keys(signing_pair(seed)[0], box_pair(seed)[0])


def sign(seed, label, *parts):
    """Section 2: `sign(seed, label, …)`."""
    return bindings.crypto_sign(labelled(label, *parts), signing_pair(seed)[1])[:64]


def check_signature(public_key, signature, label, *parts):
    """Section 2: refuses a signature that does not hold."""
    try:
        bindings.crypto_sign_open(signature + labelled(label, *parts), public_key)
    except exceptions.CryptoError:
        raise Refusal("badSignature", label) from None


def box_bytes(public_key, random, plain):
    """Section 2: crypto_box_seal, with its one-time key from `random`."""
    secret_once = random(32)
    public_once = bindings.crypto_scalarmult_base(secret_once)
    nonce = hashlib.blake2b(public_once + public_key, digest_size=24).digest()
    return public_once + bindings.crypto_box_afternm(
        plain, nonce, bindings.crypto_box_beforenm(public_key, secret_once))


def box(public_key, random, label, *parts):
    """Section 2: `box(key, label, …)`."""
    return box_bytes(public_key, random, labelled(label, *parts))


def open_box(pair, sealed):
    """Section 2: opens what `box` made, with the pair (public, secret); gives the labelled message."""
    refuse_if(len(sealed) < BOX_BYTES, "damaged", "shorter than any box")
    try:
        return bindings.crypto_box_seal_open(sealed, *pair)
    except exceptions.CryptoError:
        raise Refusal("damaged", "a box that does not open") from None


def pad(count):
    """Section 2: `pad(n)`."""
    step = 32
    if count > 1024:
        exponent = count.bit_length() - 1
        step = 1 << (exponent - exponent.bit_length())  # bit_length is ⌊log2⌋ + 1
    return -(-count // step) * step
