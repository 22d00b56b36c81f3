"""Section 6: assets."""

import hmac
import os

from .constructions import SEAL_BYTES, derive, encrypt, hash_of, pad, unseal
from .messages import U64, checked, message, raw
from .parts import Parts, labelled, refuse_if, sized, u64

PIECE_BYTES = 65_496
CHUNK_BYTES = PIECE_BYTES + SEAL_BYTES
MOST_ASSET_BYTES = 2**40


@message(versioned=True)
class AssetSecret:
    """Section 6: what the asset's field has, 74 bytes."""

    key: raw(32)
    length: checked(U64, lambda length: length <= MOST_ASSET_BYTES, "a file longer than any")
    commitment: raw(32)

    def chunk_count(self):
        """Section 6: how many chunks the blob has."""
        return max(1, -(-pad(self.length) // PIECE_BYTES))


def read_asset_list(encoded, count):
    """Section 6: reads the asset secrets of a list that opens so many blobs."""
    parts = Parts(encoded)
    secrets = [AssetSecret.read(parts) for _ in range(parts.u32())]
    parts.end()
    refuse_if(len(secrets) != count, "damaged", "another number of asset secrets than of blobs")
    return secrets


def chunk_nonce(key, index, piece):
    """Section 6: a chunk's nonce, a function of the content."""
    return derive(derive(key, "asset-nonce-key"), "asset-nonce", u64(index), sized(piece))[:24]


def chunk_data(index):
    """Section 6: a chunk's associated data."""
    return labelled("asset-chunk", u64(index))


def make_chunk(key, index, piece):
    """Section 6: one chunk; its first 24 bytes are its nonce."""
    return encrypt(derive(key, "asset-chunk-key"), chunk_nonce(key, index, piece), chunk_data(index), piece)


def open_chunk(key, index, chunk):
    """Section 6: the piece of a chunk, whose nonce has to be the piece's."""
    piece = unseal(derive(key, "asset-chunk-key"), chunk_data(index), chunk)
    is_its_own = hmac.compare_digest(chunk_nonce(key, index, piece), chunk[:24])
    refuse_if(not is_its_own, "damaged", "a nonce that is not the piece's")
    return piece


def asset_commitment(length, chunks):
    """Section 6: what the secret says of the whole blob."""
    return hash_of("asset", u64(length), sized(b"".join(chunk[:24] for chunk in chunks)))


def make_asset(content, random=os.urandom):
    """Section 6: encrypts a file with a key of its own; gives the asset secret and the blob, both as bytes."""
    key = random(32)
    padded = content.ljust(pad(len(content)), b"\0")
    pieces = [padded[start:start + PIECE_BYTES] for start in range(0, len(padded), PIECE_BYTES)] or [b""]
    chunks = [make_chunk(key, index, piece) for index, piece in enumerate(pieces)]
    return AssetSecret(key, len(content), asset_commitment(len(content), chunks)).encoded(), b"".join(chunks)


def read_asset(encoded_secret, blob):
    """Section 6: opens a blob; nothing is handed out before all of it is checked."""
    secret = AssetSecret.decode(encoded_secret)
    count, length = secret.chunk_count(), secret.length
    refuse_if(len(blob) != pad(length) + SEAL_BYTES * count, "damaged", "a blob of another size")
    chunks = [blob[index * CHUNK_BYTES:(index + 1) * CHUNK_BYTES] for index in range(count)]
    content = b"".join(open_chunk(secret.key, index, chunk) for index, chunk in enumerate(chunks))
    refuse_if(any(content[length:]), "damaged", "a padding that is not zeros")
    refuse_if(asset_commitment(length, chunks) != secret.commitment, "damaged", "a commitment that is another")
    return content[:length]
