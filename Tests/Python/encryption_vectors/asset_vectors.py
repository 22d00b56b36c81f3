"""Section 6: vectors of assets."""

from encryption.assets import AssetSecret, asset_commitment, chunk_data, chunk_nonce, make_asset, make_chunk
from encryption.constructions import derive, encrypt
from encryption.parts import listed, u64

from .making import FAR_BEYOND, damages, newer, randomness, replaced_at

CONTENT = b"forty bytes of a file, and nothing else."
SMALL = {"an empty file": b"", "a file of one byte": b"x", "a file of 32 bytes": bytes(range(32)),
         "a file of 1,030 bytes, whose padding is Padmé's": randomness("file")(1030)}
LARGE = {"200,000 bytes, in four pieces": 200_000, "one piece, all but full": 65_000,
         "one piece, as long as pieces that are padded get": 64_512,
         "two pieces, as soon as the padding needs them": 64_513, "1,000,000 bytes": 1_000_000}
LENGTHS = {"that is longer by one": 41, "that is shorter by one": 39, "of 64": 64, "of the next step of padding": 65,
           "of 2^40": 2**40, "of 2^40 + 1": 2**40 + 1, "of 2^64 - 1": 2**64 - 1}


def add(vectors):
    """Adds all of them."""
    for name, content in SMALL.items():
        secret, blob = make_asset(content, randomness(name))
        vectors.add("asset", name, secret=secret, blob=blob)
    for name, length in LARGE.items():
        vectors.add("assetLarge", name, key=randomness(name)(32), length=length, seedByte=7)
    secret, blob = make_asset(CONTENT, randomness("an asset"))
    bad = vectors.like("asset", secret=secret, blob=blob)
    bad.each("newer", "secret", newer(secret), "a secret of ")
    bad.each("damaged", "secret", damages(secret, {
        "the key": 2, "the length": 34, "the commitment": 42, "the last byte of the commitment": -1}), "a secret, ")
    bad("an empty secret", "damaged", secret=b"")
    bad("a secret of another format and nothing else", "newer", secret=b"\x02")
    bad.each("damaged", "blob", damages(blob, {"the nonce": 0, "the content": 24, "the padding": 74, "the tag": -1}),
             "a blob, ")
    bad.each("damaged", "blob", {
        "an empty blob": b"",
        "the blob of another file of the same length": make_asset(CONTENT[::-1], randomness("another asset"))[1],
        "another file with the same key": make_asset(CONTENT[::-1], randomness("an asset"))[1]})
    bad.each("damaged", "secret", {name: replaced_at(secret, 34, u64(length)) for name, length in LENGTHS.items()},
             "a secret with a length ")
    add_otherwise_right(bad)
    add_lists(vectors)


def add_otherwise_right(bad):
    """One chunk that opens and is committed to, of another piece or made otherwise."""
    key, padded = randomness("otherwise right")(32), CONTENT + bytes(24)
    own = chunk_nonce(key, 0, padded)
    for name, piece, nonce, data in (
            ("a padding that is not zeros", CONTENT + bytes(23) + b"\x01", None, chunk_data(0)),
            ("a padding of one step more", CONTENT + bytes(56), None, chunk_data(0)),
            ("no padding", CONTENT, None, chunk_data(0)),
            ("a chunk of another index", padded, chunk_nonce(key, 1, padded), chunk_data(1)),
            ("a nonce that was taken at random", padded, randomness("a nonce")(24), chunk_data(0)),
            ("the nonce of another piece", padded, chunk_nonce(key, 0, CONTENT[::-1] + bytes(24)), chunk_data(0)),
            ("the nonce of another index", padded, chunk_nonce(key, 1, padded), chunk_data(0)),
            ("a chunk without associated data", padded, own, b"")):
        chunk = encrypt(derive(key, "asset-chunk-key"), nonce or chunk_nonce(key, 0, piece), data, piece)
        secret = AssetSecret(key, 40, asset_commitment(40, [chunk]))
        bad(f"{name}, in an asset that is otherwise right", "damaged", secret=secret, blob=chunk)
    chunk = make_chunk(key, 0, padded)
    secret = AssetSecret(key, 40, asset_commitment(41, [chunk]))
    bad("a commitment to another length", "damaged", secret=secret, blob=chunk)


def add_lists(vectors):
    """The value of a list of assets."""
    secrets = [make_asset(bytes(length), randomness(f"asset {length} of a list"))[0] for length in range(3)]
    two = listed(secrets[:2])
    for name, some in (("no assets", []), ("one asset", secrets[:1]), ("three assets", secrets),
                       ("an asset twice", secrets[:1] * 2)):
        vectors.add("assetList", name, secrets=listed(some), count=len(some))
    bad = vectors.like("assetList", secrets=two, count=2)
    bad.each("newer", "secrets", newer(two, 4), "the first secret of ")
    bad.each("newer", "secrets", newer(two, 4 + 74), "the second secret of ")
    bad.each("damaged", "secrets", {"cut by one byte": two[:-1], "one byte more": two + b"\0", "nothing": b"",
                                    "a length of 2^40 + 1": replaced_at(two, 4 + 34, u64(2**40 + 1))})
    bad("one secret fewer than blobs", "damaged", count=3)
    bad("one secret more than blobs", "damaged", count=1)
    bad("a number of secrets far beyond the end", "damaged", secrets=FAR_BEYOND + two[4:])
