#!/usr/bin/python3
"""Makes a flame graph of what `perf script -F comm,ip,sym,dso` prints, and lists the costliest functions. flame.sh calls it.

    perf script … | swift demangle --simplified | flame.py TITLE FILE.svg
"""

import collections
import os
import re
import sys
import zlib
from xml.sax.saxutils import escape

WIDTH, HEIGHT, SMALLEST = 1400, 17, 0.4
FRAME = re.compile(r"^\s+[0-9a-f]+ (.*) \((.*)\)$")


def samples(lines):
    """Stacks, the outermost frame first: the thread, then functions, each with the file it is in."""
    stack, thread = [], None
    for line in lines:
        frame = FRAME.match(line)
        if frame:
            name, file = frame.group(1).strip(), os.path.basename(frame.group(2))
            kernel = file.startswith("[kernel")
            if name == "[unknown]":
                name = file
            stack.append((re.sub(r"\+0x[0-9a-f]+$", "", name), "kernel" if kernel else file))
        elif line.strip():
            thread = line.strip()
        elif stack:
            # Without frame pointers a library's own callers are lost: one frame stands for all of it.
            frames = [(f"thread {thread}", "")] + stack[::-1]
            yield [frame for index, frame in enumerate(frames) if index == 0 or frame != frames[index - 1]]
            stack = []
    if stack:
        yield [(f"thread {thread}", "")] + stack[::-1]


class Node:
    def __init__(self):
        self.count, self.children = 0, {}


def colour(file, name):
    shade = zlib.crc32(name.encode()) % 40
    hue = {"kernel": 25, "brume": 205, "": 0}.get(file, 130 if file.startswith("lib") else 60)
    return f"hsl({hue},{0 if file == '' else 65}%,{60 + shade // 2}%)"


def draw(node, name, file, left, depth, total, unit, output):
    width = node.count * unit
    if width < SMALLEST:
        return
    share = f"{100 * node.count / total:.2f} %"
    text = escape(name[: int(width / 6.6)]) if width > 20 else ""
    output.append(
        f'<g><title>{escape(name)} {escape(file)} {share}</title><rect x="{left:.1f}" y="{depth * HEIGHT}" '
        f'width="{width:.1f}" height="{HEIGHT - 1}" fill="{colour(file, name)}"/>'
        f'<text x="{left + 2:.1f}" y="{depth * HEIGHT + 12}">{text}</text></g>')
    for (child_name, child_file), child in sorted(node.children.items()):
        draw(child, child_name, child_file, left, depth + 1, total, unit, output)
        left += child.count * unit


def main():
    title, path = sys.argv[1:3]
    root, own, inside, total, deepest = Node(), collections.Counter(), collections.Counter(), 0, 0
    for stack in samples(sys.stdin):
        total += 1
        deepest = max(deepest, len(stack))
        own[stack[-1]] += 1
        inside.update(set(stack[1:]))
        node = root
        node.count += 1
        for frame in stack:
            node = node.children.setdefault(frame, Node())
            node.count += 1
    if total == 0:
        sys.exit("flame: no samples; does perf work here?")
    output = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{(deepest + 2) * HEIGHT}" '
        'font-family="monospace" font-size="11">']
    draw(root, f"{title}: {total} samples", "", 0, 0, total, WIDTH / total, output)
    with open(path, "w") as file:
        file.write("\n".join(output) + "\n</svg>\n")

    print(f"\n{title}: {total} samples\n\n| function | in | own | with what it calls |\n| --- | --- | --- | --- |")
    for (name, file), count in own.most_common(int(os.environ.get("TOP", "10"))):
        print(f"| `{name[:110]}` | {file} | {100 * count / total:.1f} % | {100 * inside[name, file] / total:.1f} % |")
    print("\n| Brume's function | with what it calls |\n| --- | --- |")
    ours = [(name, count) for (name, file), count in inside.most_common() if file == "brume"]
    for name, count in ours[: 3 * int(os.environ.get("TOP", "10"))]:
        print(f"| `{name[:110]}` | {100 * count / total:.1f} % |")
    print("\n| part | own |\n| --- | --- |")
    files = collections.Counter()
    for (_, file), count in own.items():
        files[file] += count
    for file, count in files.most_common(8):
        print(f"| {file} | {100 * count / total:.1f} % |")


if __name__ == "__main__":
    main()
