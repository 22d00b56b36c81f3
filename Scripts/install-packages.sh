#!/usr/bin/env bash
# Installs the Debian packages that Brume needs and that are missing. Says nothing when there is nothing to do.
#
# Needs root, or sudo. BRUME_SKIP_PACKAGES=1 skips it, for systems where the libraries come from elsewhere. With
# --packaging it installs what makes and checks Debian packages as well.
set -euo pipefail

build=(libprotobuf-c-dev protobuf-c-compiler libprotobuf-dev libssl-dev libzstd-dev libicu-dev libsqlite3-dev libmicrohttpd-dev libsodium-dev pkg-config make)
test=(protobuf-compiler python3-protobuf python3-nacl openssl)
demo=(iso-codes tzdata)
packaging=(debhelper po-debconf help2man fakeroot dpkg-dev lintian mmdebstrap systemd procps)
packages=("${build[@]}" "${test[@]}" "${demo[@]}")
if [ "${1:-}" = --packaging ]; then packages+=("${packaging[@]}"); fi

if [ "${BRUME_SKIP_PACKAGES:-}" = 1 ]; then exit 0; fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    cat >&2 <<END
install-packages: this system has no apt, and the script knows Debian and its relatives only.
Install what these packages hold by hand, then run again with BRUME_SKIP_PACKAGES=1:
    ${packages[*]}
END
    exit 1
fi

# One call for all: dpkg-query says nothing about a package that was never here.
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
    grep -qx "$package installed" <<<"$installed" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

echo "install-packages: installing ${missing[*]}"
if [ "$(id -u)" = 0 ]; then
    privileged=(env)
elif command -v sudo >/dev/null; then
    privileged=(sudo)
    # Without a terminal sudo can't ask for a password: it has to fail, not to wait.
    if [ ! -t 0 ]; then privileged=(sudo -n); fi
    privileged+=(env)
else
    cat >&2 <<END
install-packages: installing needs root, and there is no sudo. As root, run:
    apt-get install ${missing[*]}
END
    exit 1
fi
privileged+=(DEBIAN_FRONTEND=noninteractive)

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The lists may be good enough when the network is not; whether they are, the install says.
"${privileged[@]}" apt-get update >"$log" 2>&1 || echo "install-packages: apt-get update failed; trying with the lists that are here" >&2
if ! "${privileged[@]}" apt-get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null; then
    tail -n 30 "$log" >&2
    echo "install-packages: apt-get install failed (its last lines stand above); install by hand: ${missing[*]}" >&2
    exit 1
fi
