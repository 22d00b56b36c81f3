#!/usr/bin/env bash
# Installs the peers, makes the certificates, builds the load generator and, where it is missing, the release build of brume. Says
# nothing when there is nothing to do. Needs root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${PEERBENCH_WORK:-/tmp/peerbench}
mkdir -p "$work/certs" "$work/bin"

packages=(redis-server redis-tools etcd-server etcd-client nats-server postgresql-15 libssl-dev liburing-dev mosquitto
    nginx gcc make)
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do grep -qx "$package installed" <<<"$installed" || missing+=("$package"); done
if [ ${#missing[@]} -gt 0 ]; then
    # Keeps apt from starting the peers as services.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod +x $policy
        trap 'rm -f $policy' EXIT
    fi
    apt-get update -qq >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if [ ! -f "$work/certs/server.crt" ]; then
    cd "$work/certs"
    openssl ecparam -name prime256v1 -genkey -noout -out ca.key
    openssl req -x509 -new -key ca.key -days 3650 -subj /CN=peerbench-ca -out ca.crt
    openssl ecparam -name prime256v1 -genkey -noout -out server.key
    openssl req -new -key server.key -subj /CN=localhost -out server.csr 2>/dev/null
    printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n' >ext
    openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -extfile ext -out server.crt 2>/dev/null
    # PostgreSQL runs as another user.
    chmod 644 ./*.key ./*.crt
fi
make -s -C "$here" BIN="$work/bin"
if [ ! -x "${BRUME:-$root/.build/release/brume}" ]; then make -s -C "$root" release >&2; fi
