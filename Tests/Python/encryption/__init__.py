"""Formats of encryption, version 1, written from Documentation/EncryptionFormats.md alone: the second implementation.

It shares no code with the Swift side. Whatever is made takes its randomness from a callable that is given a count, as
`os.urandom` is; whatever is read comes as bytes and is refused with a `Refusal`.
"""
