#!/usr/bin/env python3
"""Reads a profile of callgrind: instructions per operation, and where they are spent.

instructions.py PROFILE COUNTED EACH TOP: operations are the calls of the function whose demangled name contains COUNTED, EACH of
them so many; TOP functions are printed, costliest first."""
import collections
import re
import subprocess
import sys


def read(path):
    """Instructions spent in a function itself, those of it and all that it called, and how often it was called, by mangled name."""
    names, own, below, calls = {}, collections.Counter(), collections.Counter(), collections.Counter()

    def name(text):
        number, rest = re.fullmatch(r"\((\d+)\)(?: (.*))?", text).groups()
        if rest:
            names[number] = rest
        return names[number]

    function = callee = None
    count = None
    with open(path, errors="replace") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("fn="):
                function = name(line[3:])
            elif line.startswith("cfn="):
                callee = name(line[4:])
            elif line.startswith("calls="):
                count = int(line[6:].split()[0])
            elif line and (line[0] in "+-*" or line[0].isdigit()) and function and " " in line:
                cost = int(line.split()[1])
                if count is None:
                    own[function] += cost
                    below[function] += cost
                else:
                    calls[callee] += count
                    # A function that calls itself has that cost counted already.
                    if callee != function:
                        below[function] += cost
                    count = None
    return own, below, calls


def demangled(names):
    # Callgrind numbers the levels of a recursion.
    text = "\n".join(re.sub(r"'\d+$", "", name) for name in names)
    output = subprocess.run(["swift", "demangle", "--simplified"], input=text, capture_output=True, text=True, check=True)
    return dict(zip(names, output.stdout.split("\n")))


def main():
    path, counted, each, top = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    own, below, calls = read(path)
    names = demangled(list(below | calls))
    operations = each * sum(count for name, count in calls.items() if counted in names[name] and "closure" not in names[name])
    if operations == 0:
        sys.exit(f"instructions: the profile has no call of {counted}")
    print(f"{sum(own.values()) / operations:,.0f} instructions an operation, of {operations:,} operations")
    print("  with below        own      calls  function")
    for name, cost in below.most_common(top):
        print(f"{cost / operations:12,.0f} {own[name] / operations:10,.0f} {calls[name] / operations:10,.2f}  {names[name][:110]}")


if __name__ == "__main__":
    main()
