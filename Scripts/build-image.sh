#!/usr/bin/env bash
# Builds an image of the server from the package of `make deb` and Debian's libraries, without a registry:
# .build/packages/brume_VERSION.docker.tar, which podman and docker load. It has no shell and no package manager, runs as
# the user 999, needs nothing but /data to write to, and is asked for its health by `brume health`.
#
#     podman load -i .build/packages/brume_VERSION.docker.tar
#     podman run --rm -v brume:/data brume certs --folder /data/certs --name sync.example.com
#     podman run -d --read-only -v brume:/data -p 7440:7440 brume
#
# On Debian, as root or with sudo: apt-get install mmdebstrap buildah
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" != 0 ]; then exec sudo -n -E "$0" "$@"; fi
for tool in mmdebstrap buildah; do
    command -v "$tool" >/dev/null || {
        echo "build-image: $tool is missing (apt-get install mmdebstrap buildah)" >&2
        exit 1
    }
done
shopt -s nullglob
debs=(.build/packages/brume_*.deb)
if [ ${#debs[@]} -ne 1 ]; then
    echo "build-image: there is not one .build/packages/brume_*.deb; make it: make deb" >&2
    exit 1
fi
version=$(dpkg-deb --field "${debs[0]}" Version)
image=.build/packages/brume_$version.docker.tar
work=$(mktemp -d /var/tmp/brume-image-XXXXXX)
# Health checks are a part of this format alone.
export STORAGE_DRIVER=vfs BUILDAH_FORMAT=docker
store=(--root "$work/store" --runroot "$work/run")
trap 'umount "$work/root/proc" 2>/dev/null || true; rm -rf "$work"' EXIT

# The libraries that the executable names, and what these need, without the rest of their packages.
libraries=$(dpkg-deb --field "${debs[0]}" Depends | tr ',' '\n' | sed 's/(.*//; s/|.*//; s/ //g' | grep -E '^lib' | paste -sd,)
mmdebstrap --variant=extract --quiet --include="$libraries,libc6,tzdata" bookworm "$work/debian"
root=$work/root
mkdir -p "$root/usr/bin" "$root/etc" "$root/data" "$root/tmp"
dpkg-deb --extract "${debs[0]}" "$work/package"
cp "$work/package/usr/bin/brume" "$root/usr/bin/"
copy() { # copy PATH: with the link that it may be
    mkdir -p "$root$(dirname "$1")"
    cp -a "$work/debian$1" "$root$1"
    if [ -L "$work/debian$1" ]; then
        local target
        target=$(readlink "$work/debian$1")
        case $target in /*) ;; *) target=$(dirname "$1")/$target ;; esac
        [ -e "$root$target" ] || copy "$target"
    fi
}
needed=("$root/usr/bin/brume")
while [ ${#needed[@]} -gt 0 ]; do
    file=${needed[0]}
    needed=("${needed[@]:1}")
    for name in $(objdump -p "$file" 2>/dev/null | sed -n 's/^ *NEEDED *//p'); do
        path=$(cd "$work/debian" && find lib lib64 usr/lib -name "$name" 2>/dev/null | head -n 1)
        [ -n "$path" ] || {
            echo "build-image: $name is in none of Debian's packages that were fetched" >&2
            exit 1
        }
        if [ ! -e "$root/$path" ]; then
            copy "/$path"
            needed+=("$(readlink -f "$work/debian/$path")")
        fi
    done
done
loader=$(cd "$work/debian" && find lib lib64 usr/lib -name 'ld-linux*' | head -n 1)
mkdir -p "$root/lib64"
cp "$work/debian/$loader" "$root/lib64/ld-linux-x86-64.so.2"
mkdir -p "$root/usr/share"
cp -a "$work/debian/usr/share/zoneinfo" "$root/usr/share/zoneinfo"
printf 'brume:x:999:999:Brume:/data:/sbin/nologin\n' >"$root/etc/passwd"
printf 'brume:x:999:\n' >"$root/etc/group"
chmod 1777 "$root/tmp"
chown 999:999 "$root/data"
chmod 0700 "$root/data"

# It has all that it needs: as its user, with nothing else there, it makes certificates, serves, and is healthy.
inside() { chroot --userspec=999:999 "$root" /usr/bin/brume "$@"; }
mkdir -p "$root/proc"
mount -t proc proc "$root/proc"
inside certs --folder /data/certs >/dev/null
BRUME_DATA=/data BRUME_LISTEN=127.0.0.1:0 BRUME_CERTIFICATE=/data/certs/server.pem BRUME_KEY=/data/certs/server.key \
    inside serve 2>"$work/log" &
for attempt in $(seq 50); do
    if inside health --data /data >/dev/null 2>&1; then break; fi
    if [ "$attempt" = 50 ]; then
        cat "$work/log" >&2
        echo "build-image: what is in the image does not serve" >&2
        exit 1
    fi
    sleep 0.2
done
pkill -TERM -P $! 2>/dev/null || kill -TERM $!
wait $! || true
umount "$root/proc"
rm -rf "$root/data"
install -d -m 0700 "$work/own/data"

container=$(buildah "${store[@]}" from scratch)
buildah "${store[@]}" copy --quiet "$container" "$root" / >/dev/null
# It gives everything to root.
buildah "${store[@]}" copy --quiet --chown 999:999 "$container" "$work/own" / >/dev/null
buildah "${store[@]}" config \
    --user 999:999 --volume /data --port 7440 --workingdir /data --entrypoint '["/usr/bin/brume"]' --cmd serve \
    --env BRUME_DATA=/data --env 'BRUME_LISTEN=[::]:7440' \
    --env BRUME_CERTIFICATE=/data/certs/server.pem --env BRUME_KEY=/data/certs/server.key \
    --healthcheck 'CMD /usr/bin/brume health --data /data' --healthcheck-interval 30s \
    --label org.opencontainers.image.title=Brume --label "org.opencontainers.image.version=$version" \
    "$container"
# What the command above makes of its arguments has been something else before.
check=$(buildah "${store[@]}" inspect --format '{{.Docker.Config.Healthcheck.Test}}' "$container")
if [ "$check" != "[CMD /usr/bin/brume health --data /data]" ]; then
    echo "build-image: the image's health check is $check" >&2
    exit 1
fi
rm -f "$image"
buildah "${store[@]}" commit --quiet --format docker "$container" "docker-archive:$image:brume:$version" >/dev/null
owner=$(for layer in $(tar -xOf "$image" manifest.json | grep -o '[0-9a-f]*\.tar'); do
    tar -xOf "$image" "$layer" | tar -tvf - 2>/dev/null | awk '$6 == "data/" { print $2 }'
done | tail -1)
if [ "$owner" != 999/999 ] && [ "$owner" != brume/brume ]; then
    echo "build-image: the image's /data belongs to ${owner:-nobody}, and its server could not write there" >&2
    exit 1
fi
bytes=$(du -sb --apparent-size "$root" | cut -f1)
packed=$(gzip -c "$image" | wc -c)
echo "$image: $((bytes / 1000000)) MB unpacked, $((packed / 1000000)) MB compressed"
