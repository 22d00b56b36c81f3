"""The vectors of the formats of encryption: makes them, and checks a file of them.

    /usr/bin/python3 -m encryption_vectors > ../Fixtures/encryption-1.json
    /usr/bin/python3 -m encryption_vectors --check ../Fixtures/encryption-1.json

What is made is the same each time: randomness is SHA-256 of a counter and a label.
"""

import json
import sys

from . import (asset_vectors, bad_entries, bad_invitations, bad_rings, chain_vectors, code_vectors,
               construction_vectors, enrolment_vectors, good_rings, link_vectors, published, seed_vectors,
               statement_vectors, tree_vectors)
from .checker import check
from .making import Vectors

MAKERS = (construction_vectors, tree_vectors, asset_vectors, code_vectors, statement_vectors, chain_vectors,
          seed_vectors, enrolment_vectors, good_rings, bad_entries, bad_rings, bad_invitations, link_vectors)


def main(arguments):
    """Makes or checks; gives the exit code."""
    published.check_published()
    published.check_boxes()
    published.check_six_characters()
    if arguments[:1] == ["--check"] and len(arguments) == 2:
        with open(arguments[1], encoding="utf-8") as file:
            content = json.load(file)
        if content["format"] != 1:
            print(f"{arguments[1]}: vectors of format {content['format']}")
            return 1
        return check(content["vectors"])
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    vectors = Vectors()
    for maker in MAKERS:
        maker.add(vectors)
    sys.stdout.write(vectors.text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
