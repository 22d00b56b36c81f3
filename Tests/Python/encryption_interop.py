"""Checks vectors that another implementation made: a file of them, one a line, each as in the file of vectors.

    /usr/bin/python3 encryption_interop.py FILE
"""

import json
import sys

from encryption_vectors.checker import check


def main(arguments):
    """Checks a file; gives the exit code."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as lines:
        return check([json.loads(line) for line in lines if line.strip()])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
