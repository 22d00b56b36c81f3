#!/usr/bin/env bash
# Installs the packages of .build/packages (make deb) on a clean Debian 12 without Swift, and uses them as an operator
# does: the first start, an account, a client, an upgrade under load, the wrong ways, removal and purge. No systemd runs
# in there, so that units are checked and not started: what was not tried it says at the end.
#
# usage: Scripts/check-packages.sh [ROOT]    as root, or with sudo; ROOT: a folder with such a Debian, made if missing
#
# On Debian: apt-get install mmdebstrap systemd lintian. It fetches packages from the machine's own sources.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

if [ "$(id -u)" != 0 ]; then exec sudo -n -E "$0" "$@"; fi
for tool in mmdebstrap dpkg-deb chroot setpriv; do
    command -v "$tool" >/dev/null || {
        echo "check-packages: $tool is missing (apt-get install mmdebstrap)" >&2
        exit 1
    }
done
shopt -s nullglob
debs=(.build/packages/brume_*.deb)
if [ ${#debs[@]} -ne 1 ]; then
    echo "check-packages: there is not one .build/packages/brume_*.deb; make it: make deb" >&2
    exit 1
fi
deb=${debs[0]}
sdk=(.build/packages/brume-sdk_*.deb)

work=$(mktemp -d /var/tmp/brume-packages-XXXXXX)
root=${1:-$work/root}
server=
load=
finish() {
    for process in $load $server; do kill "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
    umount "$root/proc" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
failures=0
not_tried=()
passed() { echo "check-packages: $1"; }
failed() {
    echo "check-packages: FAILED: $1" >&2
    failures=$((failures + 1))
}
holds() { # holds WHAT COMMAND…: whether the command succeeds
    local what=$1
    shift
    if "$@" >"$work/out" 2>&1; then passed "$what"; else
        failed "$what"
        sed 's/^/    /' "$work/out" >&2
    fi
}
equals() { if [ "$2" = "$3" ]; then passed "$1"; else failed "$1: \"$2\", and not \"$3\""; fi; }
says() { # says WHAT CODE TEXT COMMAND…: whether it exits so and says so
    local what=$1 code=$2 text=$3 status=0
    shift 3
    "$@" >"$work/out" 2>&1 || status=$?
    if [ "$status" = "$code" ] && grep -qF -- "$text" "$work/out"; then passed "$what"; else
        failed "$what: exit code $status in place of $code, or not \"$text\""
        sed 's/^/    /' "$work/out" >&2
    fi
}
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root ${http_proxy:+http_proxy=$http_proxy} ${https_proxy:+https_proxy=$https_proxy} "$@"; }
as_brume() { chroot --userspec=brume:brume "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp "$@"; }
client() { in_root BRUME_SERVER=127.0.0.1:7440 BRUME_CA=/etc/brume/tls/ca.pem BRUME_TOKEN="$token" BRUME_STATE=/tmp/state brume "$@"; }
mode() { in_root stat -c '%U:%G %a' "$1"; }

# MARK: A clean Debian

if [ ! -e "$root/etc/debian_version" ]; then
    mmdebstrap --variant=minbase --include=systemd,procps --quiet bookworm "$root" >"$work/out" 2>&1 || {
        tail -n 5 "$work/out" >&2
        echo "check-packages: not tried: all of it, since this machine can't make a clean Debian (the lines above)"
        exit 0
    }
fi
if [ ! -e "$root/proc/self" ] && ! mount -t proc proc "$root/proc" 2>/dev/null; then not_tried+=("anything that reads /proc"); fi
equals "a clean Debian 12, without Swift" "$(cut -d. -f1 "$root/etc/debian_version") $(in_root sh -c 'command -v swift || echo none')" "12 none"
cp "$deb" "$root/tmp/brume.deb"
if command -v lintian >/dev/null; then
    holds "lintian finds no error" lintian --allow-root --fail-on error "$deb" "${sdk[@]}"
else
    not_tried+=("lintian, which is not installed")
fi

# MARK: Installation

# The machine's own way to Debian's packages is the clean one's, too.
cp --dereference /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
grep -lE '^ *Acquire' /etc/apt/apt.conf.d/* 2>/dev/null | xargs -r cp -t "$root/etc/apt/apt.conf.d/" || true
in_root apt-get update >/dev/null 2>&1 || true
holds "apt install" in_root apt-get install --yes --no-install-recommends /tmp/brume.deb
if [ "$failures" -gt 0 ]; then
    echo "check-packages: the rest needs an installed package" >&2
    exit 1
fi
equals "the data folder is brume's alone" "$(mode /var/lib/brume)" "brume:brume 700"
equals "the configuration is for brume to read" "$(mode /etc/brume/brume.conf)" "root:brume 640"
equals "so is the certificate's key" "$(mode /etc/brume/tls/server.key)" "root:brume 640"
equals "the authority's key is root's alone" "$(mode /etc/brume/tls/ca.key)" "root:root 600"
holds "the executable finds its libraries" in_root brume version
# The clean Debian has no systemd that runs: what an upgrade would do to a server is read.
stops() { grep -l 'deb-systemd-invoke stop' "$root"/var/lib/dpkg/info/brume.preinst; }
if stops >/dev/null 2>&1; then failed "an upgrade stops the server before the new one is there"; fi
for page in man1/brume.1.gz man1/brume-serve.1.gz man5/brume.conf.5.gz; do
    holds "a manual page: $page" test -s "$root/usr/share/man/$page"
done
# shellcheck disable=SC2016
holds "every option stands in the configuration" in_root sh -c 'test $(grep -cE "^#?[a-z-]+ =" /etc/brume/brume.conf) -ge 25'
holds "brume config check" as_brume brume config check --config /etc/brume/brume.conf
holds "brume doctor" as_brume brume doctor --config /etc/brume/brume.conf
if command -v systemd-analyze >/dev/null; then
    mkdir -p "$root/usr/share/man/man1"
    for unit in brume.service brume.socket brume-backup.service brume-backup.timer brume-rehearse.service brume-rehearse.timer; do
        holds "systemd-analyze verify $unit" systemd-analyze verify --root="$root" --man=no "$root/lib/systemd/system/$unit"
    done
    for unit in brume.service brume-backup.service brume-rehearse.service; do
        rating=$(systemd-analyze security --offline=true --root="$root" "$root/lib/systemd/system/$unit" 2>/dev/null |
            sed -n 's/.*Overall exposure level for .*: \([0-9.]*\) .*/\1/p')
        holds "$unit is rated $rating, below 2.0" awk "BEGIN { exit !($rating < 2.0) }"
    done
else
    not_tried+=("systemd-analyze, which is not installed")
fi
not_tried+=("starts, stops and reloads by systemd itself: none runs in the clean Debian")

# MARK: The first start

start() { # as the unit does it
    as_brume brume serve --config /etc/brume/brume.conf >"$work/server.log" 2>&1 &
    server=$!
    for _ in $(seq 100); do
        if in_root brume health --data /var/lib/brume >/dev/null 2>&1; then return 0; fi
        sleep 0.1
    done
    failed "the server does not serve"
    sed 's/^/    /' "$work/server.log" >&2
    return 1
}
stop() {
    # What runs in there is not this shell's child, but its child's.
    pkill -TERM -f '^brume serve --config /etc/brume/brume.conf' || true
    wait "$server" || true
    server=
}
start
passed "the server serves"
token=$(in_root brume account add ada --data /var/lib/brume 2>/dev/null | sed -n 's/^token.*: //p')
holds "a client makes a zone" client zones create Notes
holds "and saves in it" client records save Notes first --type Note text=hello
reads() { client records get Notes first | grep -q hello; }
holds "and reads that" reads

# MARK: An upgrade under load

next=$work/next
dpkg-deb --raw-extract "$deb" "$next"
sed -i 's/^Version: .*/&+next1/' "$next/DEBIAN/control"
dpkg-deb --root-owner-group --build "$next" "$root/tmp/next.deb" >/dev/null
# What is acknowledged is written down, name by name.
: >"$work/acknowledged"
for worker in 1 2 3; do
    (
        for number in $(seq 1000); do
            [ ! -e "$work/enough" ] || exit 0
            if client records save Notes "w$worker-$number" --type Note "text=$number" >/dev/null 2>&1; then
                echo "w$worker-$number" >>"$work/acknowledged"
            fi
        done
    ) &
    load="$load $!"
done
sleep 3
before=$(wc -l <"$work/acknowledged")
holds "apt install of the next version, while clients save" in_root apt-get install --yes /tmp/next.deb
stop
start
sleep 3
touch "$work/enough"
# shellcheck disable=SC2086
wait $load || true
load=
client changes Notes --all --json >"$work/changes" 2>/dev/null || true
lost=0
while read -r name; do grep -qF "\"$name\"" "$work/changes" || lost=$((lost + 1)); done <"$work/acknowledged"
after=$(wc -l <"$work/acknowledged")
equals "of $after acknowledged records ($before before the upgrade) so many are lost" "$lost" 0
if [ "$after" -le "$before" ]; then failed "nothing was saved after the upgrade"; fi

# MARK: The wrong ways

says "a second server on the folder is refused" 4 "/var/lib/brume" as_brume timeout 20 brume serve --config /etc/brume/brume.conf --listen 127.0.0.1:7441
says "a port that is in use is named" 1 "7440" as_brume timeout 20 brume serve --config /etc/brume/brume.conf --data /tmp/other
says "a folder that is not brume's to write is named" 1 "/var/lib/nobody" as_brume timeout 20 brume serve --config /etc/brume/brume.conf --data /var/lib/nobody --listen 127.0.0.1:7441
says "a word that is no option is named, with the line" 2 "brume.conf" in_root sh -c 'echo "lisen = x" > /tmp/brume.conf; brume config check --config /tmp/brume.conf'
in_root brume certs --folder /tmp/others >/dev/null
says "a key of another certificate is refused" 1 "" as_brume brume doctor --config /etc/brume/brume.conf --certificate /etc/brume/tls/server.pem --key /tmp/others/server.key
alone() {
    local code=0
    unshare --net chroot --userspec=brume:brume "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp \
        timeout 3 brume serve --config /etc/brume/brume.conf --data /tmp/alone --listen '[::]:7442' || code=$?
    # The time has ended it, or its stop was in time.
    [ "$code" = 124 ] || [ "$code" = 0 ]
}
holds "it serves without a network" alone
dd if=/dev/zero of="$work/disk" bs=1M count=8 status=none
if mkfs.ext4 -q "$work/disk" 2>/dev/null && mkdir -p "$root/mnt/small" && mount -o loop "$work/disk" "$root/mnt/small" 2>/dev/null; then
    in_root chown brume:brume /mnt/small
    says "a disk that is full is named" 1 "No space left on device" as_brume timeout 20 brume serve --config /etc/brume/brume.conf --data /mnt/small/data --listen 127.0.0.1:7443
    umount "$root/mnt/small"
else
    not_tried+=("a full disk: no loop device can be mounted here")
fi

# MARK: Backup

holds "a verified backup beside the server" as_brume brume-backup-daily
holds "and a rehearsal of its restore" as_brume brume-rehearse-restore
holds "the audit log is as it was written" as_brume brume audit verify --data /var/lib/brume
equals "brume doctor knows it" "$(as_brume brume doctor --config /etc/brume/brume.conf --json | grep -c '"subject":"backups","severity":"fine"')" 1

# MARK: Removal

stop
holds "apt remove" in_root apt-get remove --yes brume
holds "leaves the data" test -s "$root/var/lib/brume/brume.meta"
holds "and the certificates" test -s "$root/etc/brume/tls/ca.key"
holds "the version before is installed again" in_root apt-get install --yes --no-install-recommends /tmp/brume.deb
start
holds "and serves what was there" reads
stop
holds "apt purge" in_root apt-get purge --yes brume
holds "leaves the data where nobody says otherwise" test -s "$root/var/lib/brume/brume.meta"
holds "and takes the configuration" test ! -e "$root/etc/brume/brume.conf"
holds "it is installed once more" in_root apt-get install --yes --no-install-recommends /tmp/brume.deb
in_root sh -c 'echo "brume brume/purge-data boolean true" | debconf-set-selections'
holds "apt purge with the answer that all is to go" in_root apt-get purge --yes brume
holds "takes the data" test ! -e "$root/var/lib/brume"

# MARK: The end

for file in "$deb" "${sdk[@]}"; do
    echo "check-packages: $file has $(($(stat -c %s "$file") / 100000))00 kB"
done
for what in "${not_tried[@]}"; do echo "check-packages: not tried: $what"; done
if [ "$failures" -gt 0 ]; then
    echo "check-packages: $failures check(s) failed" >&2
    exit 1
fi
echo "check-packages: all passed"
