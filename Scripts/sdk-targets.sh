#!/usr/bin/env bash
# Prints the targets of which the SDK's products are made: those that CloudKit, BrumeKit and BrumeTesting depend on.
set -euo pipefail
cd "$(dirname "$0")/.."

swift package dump-package | python3 -c '
import json, sys

package = json.load(sys.stdin)
targets = {target["name"]: target for target in package["targets"]}
products = {"CloudKit", "BrumeKit", "BrumeTesting"}
needed = [name for product in package["products"] if product["name"] in products for name in product["targets"]]
for name in needed:
    for dependency in targets[name]["dependencies"]:
        other = dependency["byName"][0]
        if other not in needed:
            needed.append(other)
print("\n".join(sorted(needed)))'
