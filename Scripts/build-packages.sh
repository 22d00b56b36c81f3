#!/usr/bin/env bash
# Builds brume_VERSION_ARCH.deb and brume-sdk_VERSION_all.deb in .build/packages, by debhelper, from the files that git
# knows as they are now. lintian looks at them where it is installed.
#
# On Debian, as root or with sudo: apt-get install debhelper po-debconf help2man fakeroot lintian
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
for tool in dpkg-buildpackage dh debconf-updatepo help2man; do
    command -v "$tool" >/dev/null || missing+=("$tool")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "build-packages: missing: ${missing[*]} (apt-get install debhelper po-debconf help2man fakeroot lintian)" >&2
    exit 1
fi

version=$(sed -n 's/.*static let text = "\(.*\)"/\1/p' Sources/BrumeModel/BrumeVersion.swift)
out=$PWD/.build/packages
# What was built there before is used again.
stage=$out/source
mkdir -p "$stage"
# Files keep their times, so that those that are the same are not compiled again.
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    if [ -e "$file" ]; then printf '%s\0' "$file"; fi
done | sort -z >"$out/files"
tar --create --null --files-from="$out/files" | tar --extract --directory="$stage"
(cd "$stage" && find . \( -path ./.build -o -path ./debian \) -prune -o -type f -print0 | sed -z 's|^\./||' | sort -z) |
    comm -z -13 "$out/files" - | (cd "$stage" && xargs -0 -r rm -f --)
rm -rf "$stage/debian"
cp -r Deploy/debian "$stage/debian"

# The date is that of the last commit: the same sources make the same package.
date=$(git log -1 --format=%cD 2>/dev/null || date -R)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH
cat >"$stage/debian/changelog" <<END
brume ($version) unstable; urgency=medium

  * What is new is in /usr/share/doc/brume/CHANGELOG.md.

 -- The Brume team <packages@brume.invalid>  $date
END

# The SDK: what its products are made of, and nothing of the server's executable.
sdk=$stage/debian/sdk
mkdir -p "$sdk/Sources"
cp Package.swift LICENSE "$sdk/"
for target in $(Scripts/sdk-targets.sh); do cp -r "Sources/$target" "$sdk/Sources/"; done

if ! (cd "$stage" && dpkg-buildpackage --build=binary --no-sign --no-pre-clean) >"$out/log" 2>&1; then
    tail -n 40 "$out/log" >&2
    echo "build-packages: the packages can't be built; all of the log is in $out/log" >&2
    exit 1
fi
find "$out" -maxdepth 1 -name '*.deb' -not -name "*_${version}_*" -delete
if command -v lintian >/dev/null; then
    # Only root-less lintian is quiet about being root.
    lintian --allow-root --fail-on error --tag-display-limit 0 "$out"/brume_"$version"_*.deb "$out"/brume-sdk_"$version"_*.deb
fi
ls -l "$out"/*.deb
