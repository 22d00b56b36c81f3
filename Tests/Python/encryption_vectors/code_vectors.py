"""Section 7: vectors of recovery codes."""

from encryption.codes import ALPHABET, code_text
from encryption.parts import ZEROS

from .making import randomness

CODE = randomness("a recovery code")(16)


def add(vectors):
    """Adds all of them."""
    written = code_text(CODE)
    plain = written.replace("-", "")
    both = next(found for counter in range(1000)  # a code that has both a 0 and a 1
                if {"0", "1"} <= set(found := code_text(randomness(f"code {counter}")(16))))
    like = vectors.like("code")
    like.each(None, "text", {
        "zeros": code_text(bytes(16)), "all bits": code_text(b"\xff" * 16), "a code": written,
        "small letters": written.lower(), "no hyphens": plain,
        "spaces and hyphens anywhere": "  " + " - ".join(plain) + "--",
        "I for 1 and O for 0": both.replace("1", "I").replace("0", "O"),
        "l for 1 and o for 0": both.lower().replace("1", "l").replace("0", "o"),
        "a tab between": written.replace("-", "\t", 1), "CR LF at the end": written + "\r\n",
        "a line for each group": written.replace("-", "\n"),
        "i for 1 and L for 1": both.replace("1", "i", 1).replace("1", "L")})
    like.each("wrongCode", "text", {
        "other check bits": plain[:-1] + ("0" if plain[-1] != "0" else "Z"),
        "two characters swapped": plain[1] + plain[0] + plain[2:], "cut by one character": plain[:-1],
        "one character more": plain + "0", "nothing": "", "only hyphens": "-------", "a U": "U" + plain[1:],
        "another character": "!" + plain[1:], "an underscore between": written.replace("-", "_"),
        "a full-width digit": "\uff10" + plain[1:], "a dotless i": "\u0131" + plain[1:],
        "a long s": "\u017f" + plain[1:], "a Kelvin sign": "\u212a" + plain[1:],
        "a letter with an accent behind it": plain + "\u0301",
        "a no-break space between": plain[:4] + "\u00a0" + plain[4:], "a form feed at the end": plain + "\f",
        "a hyphen of typography": plain[:4] + "\u2010" + plain[4:]})
    like.each("wrongCode", "text", {
        f"{at + 1}": plain[:at] + ALPHABET[ALPHABET.index(plain[at]) ^ 1] + plain[at + 1:] for at in (0, 9, 24, 25)},
              "a bit flipped in character ")
    for name, account, environment in (
            ("of an account", "alice", "development"), ("the other environment", "alice", "production"),
            ("another account", "bob", "development")):
        vectors.add("paper", name, code=CODE, account=account, container="iCloud.notes", environment=environment)
    vectors.add("anchor", "of a statement", code=CODE, statementHash=randomness("a statement")(32))
    vectors.add("anchor", "of zeros", code=bytes(16), statementHash=ZEROS)
