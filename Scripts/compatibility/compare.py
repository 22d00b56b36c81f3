#!/usr/bin/env python3
"""Compares the public symbols of BrumeKit with those of CloudKit in symbols.txt, and writes two pages of its documentation:
Compatibility.md, what is there, and Differences.md, every note "Differs from CloudKit:" of the documentation comments.

    compare.py GRAPHS FOLDER            writes the pages to FOLDER
    compare.py GRAPHS FOLDER --check    fails when a symbol has gone missing, or a page is not what would be written

GRAPHS is the folder that `swift symbolgraph-extract` wrote. A symbol that symbols.txt marks `! absent: WHY` may be missing;
once it is there, the mark has to go.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
HEAD = """# What of CloudKit is here

Every public symbol of CloudKit that Brume mirrors, and whether it is there.

## Overview

This page is written by `make compatibility` from the symbol graph of the module: a name stands here as present only when
the compiler found it, with the types, defaults and effects that Apple declares where these tell overloads apart.
"""

DIFFERENCES = """# What differs from CloudKit

Every place where a symbol does not behave as Apple's does, from the documentation of the symbols.

## Overview

This page is written by `make compatibility` from the notes "Differs from CloudKit:" in the documentation comments.
"""


class Symbol:
    def __init__(self, line, owner):
        text, _, note = line.partition(" ! ")
        path, _, self.declaration = (part.strip() for part in text.partition(" | "))
        self.extended = path.startswith("+")
        self.is_member = path.startswith(".")
        self.name = path.lstrip("+.")
        self.path = owner + path if self.is_member else self.name
        self.absent = note.startswith("absent:")
        self.note = note.removeprefix("absent:").strip()


def read_list():
    """The sections of symbols.txt: title, and types with their members."""
    sections, owner = [], ""
    for number, line in enumerate((HERE / "symbols.txt").read_text().splitlines(), 1):
        line = line.rstrip()
        if line.startswith("## "):
            sections.append((line[3:], []))
        elif line and not line.startswith("#"):
            if not sections or (line.startswith(".") and not owner):
                sys.exit(f"symbols.txt:{number}: a symbol before the first section or type")
            symbol = Symbol(line, owner)
            if not symbol.is_member:
                owner = symbol.path
            sections[-1][1].append(symbol)
    return sections


def read_graphs(folder):
    """Declarations by path with conformances, what each type alias stands for, superclasses, and the notes of what differs by path."""
    declarations, aliases, superclasses, notes, paths = {}, {}, {}, {}, {}
    files = sorted(pathlib.Path(folder).glob("*.symbols.json"))
    if not files:
        sys.exit(f"compare.py: no symbol graph in {folder}")
    for file in files:
        graph = json.loads(file.read_text())
        for symbol in graph["symbols"]:
            path = paths[symbol["identifier"]["precise"]] = ".".join(symbol["pathComponents"])
            text = re.sub(r"\s+", " ", "".join(part["spelling"] for part in symbol.get("declarationFragments", [])))
            declarations.setdefault(path, []).append(text)
            if symbol["kind"]["identifier"] == "swift.typealias":
                aliases[path] = text.rpartition(" = ")[2]
            comment = "\n".join(line["text"] for line in symbol.get("docComment", {}).get("lines", []))
            if "::SYNTHESIZED::" not in symbol["identifier"]["precise"]:
                for paragraph in comment.split("\n\n"):
                    if paragraph.startswith("Differs from CloudKit:"):
                        note = " ".join(paragraph.removeprefix("Differs from CloudKit:").split()).replace("``", "`")
                        notes.setdefault(path, note)
        for relation in graph["relationships"]:
            if relation["kind"] == "conformsTo" and relation["source"] in paths:
                name = relation.get("targetFallback") or paths.get(relation["target"], "")
                declarations.setdefault(paths[relation["source"]], []).append(": " + name.rpartition(".")[2])
            if relation["kind"] == "inheritsFrom" and relation["source"] in paths and relation["target"] in paths:
                superclasses[paths[relation["source"]]] = paths[relation["target"]]
    return declarations, aliases, superclasses, notes


def resolved(path, aliases):
    """The path with the type aliases on its way replaced."""
    parts, current = path.split("."), ""
    if "(" in path:
        head, _, tail = path.partition("(")
        parts = head.split(".")
        parts[-1] += "(" + tail
    for index, part in enumerate(parts):
        longer = f"{current}.{part}" if current else part
        is_last = index == len(parts) - 1
        current = longer if is_last else aliases.get(longer, longer)
    return current


def plain(text):
    """A declaration in which a nested name and the class that it stands for are the same."""
    for nested, top in (
        ("CKRecord.ID", "CKRecordID"), ("CKRecordZone.ID", "CKRecordZoneID"), ("CKRecord.Reference", "CKReference"),
        ("CKSubscription.NotificationInfo", "CKNotificationInfo"), ("CKQueryOperation.Cursor", "CKQueryCursor"),
        ("any Error", "Error"), ("@escaping ", ""), ("@Sendable ", ""),
    ):
        text = text.replace(nested, top)
    return re.sub(r"\bCK(Share|SyncEngine|Operation|Database)\.", "", text)


def is_there(symbol, declarations, aliases, superclasses):
    path = resolved(symbol.path, aliases)
    found = declarations.get(path, [])
    if symbol.declaration.startswith(": "):
        return symbol.declaration in declarations.get(aliases.get(path, path), [])
    if path.endswith(".init()"):  # The graph does not repeat what a superclass requires.
        owner = path.removesuffix(".init()")
        while not found and owner in superclasses:
            owner = superclasses[owner]
            found = [text for text in declarations.get(owner + ".init()", []) if "required" in text]
    return any(plain(symbol.declaration) in plain(text) for text in found) if symbol.declaration else bool(found)


def main(arguments):
    check = "--check" in arguments
    graphs, folder = [argument for argument in arguments if argument != "--check"]
    declarations, aliases, superclasses, notes = read_graphs(graphs)
    lines, missing, marked, total, present = [HEAD], [], [], 0, 0
    for title, symbols in read_list():
        lines.append(f"\n## {title}\n")
        for symbol in symbols:
            if symbol.extended:
                lines.append(f"- `{symbol.name}` of Foundation")
                continue
            there = is_there(symbol, declarations, aliases, superclasses)
            total += 1
            present += there
            if not there and not symbol.absent:
                missing.append(symbol)
            if there and symbol.absent:
                marked.append(symbol)
            declaration = f" `{symbol.declaration}`" if symbol.declaration else ""
            state = "" if there else " **not there**"
            note = f": {symbol.note}" if symbol.note else ""
            indent = "  " if symbol.is_member else ""
            lines.append(f"{indent}- `{symbol.name}`{declaration}{state}{note}")
    lines[0] += f"\n{present} of {total} symbols are there.\n"
    differences = [f"- `{path}`: {note}" for path, note in sorted(notes.items())]
    pages = {
        "Compatibility.md": "\n".join(lines) + "\n",
        "Differences.md": "\n".join([DIFFERENCES] + differences) + "\n",
    }
    failed = bool(missing or marked)
    for symbol in missing:
        print(f"compatibility: {symbol.path} {symbol.declaration} is missing; CloudKit code that uses it no longer compiles")
    for symbol in marked:
        print(f"compatibility: {symbol.path} {symbol.declaration} is there; take its mark out of symbols.txt")
    for name, text in pages.items():
        page = pathlib.Path(folder) / name
        if not check:
            page.write_text(text)
        elif not page.exists() or page.read_text() != text:
            print(f"compatibility: {page} is not up to date; run make compatibility")
            failed = True
    print(f"{present} of {total} symbols of CloudKit are there")
    if check and failed:
        sys.exit(1)


main(sys.argv[1:])
