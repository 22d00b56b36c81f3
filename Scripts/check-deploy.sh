#!/usr/bin/env bash
# Checks the files in Deploy: the alerts and their tests, that alerts and dashboard ask for figures that a server
# prints, the proxies' configurations, the units and the scripts. What needs a tool that is not installed is named and
# not checked; with --all that is a failure. Nothing outside of a temporary folder is written.
#
# usage: Scripts/check-deploy.sh [--all]
#
# On Debian: apt-get install prometheus nginx-light libnginx-mod-stream haproxy systemd shellcheck
# BRUME names the executable that prints the figures; without it, the newer build of the two in .build does.
set -euo pipefail
cd "$(dirname "$0")/.."

must_have_all=
case ${1:-} in
    "") ;;
    --all) must_have_all=yes ;;
    *)
        echo "usage: Scripts/check-deploy.sh [--all]" >&2
        exit 2
        ;;
esac

work=$(mktemp -d /tmp/brume-deploy-XXXXXX)
server=
finish() {
    if [ -n "$server" ]; then { kill "$server" && wait "$server"; } 2>/dev/null || true; fi
    rm -rf "$work"
}
trap finish EXIT
brume=${BRUME:-}
for variable in "${!BRUME_@}"; do unset "$variable"; done

failures=0
skipped=()
passed() { echo "check-deploy: $1"; }
failed() { # failed SENTENCE: the file $work/out says why
    echo "check-deploy: $1" >&2
    sed 's/^/    /' "$work/out" >&2
    failures=$((failures + 1))
}
check() { # check WHAT COMMAND…: passes if the command does
    local what=$1
    shift
    if "$@" >"$work/out" 2>&1; then passed "$what"; else failed "$what: failed"; fi
}
tool() { # tool NAME WHAT: whether the tool is there, which may stand in a folder that is root's
    if PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null; then return 0; fi
    skipped+=("$2 ($1 is not installed)")
    return 1
}
run() { PATH=$PATH:/usr/sbin:/sbin "$@"; }

# MARK: Alerts and dashboard

if tool promtool "alerts and their tests"; then
    check "alerts" promtool check rules Deploy/prometheus/brume.rules.yml
    check "tests of the alerts" promtool test rules Deploy/prometheus/brume.rules.test.yml
    check "the example of a Prometheus configuration" promtool check config Deploy/prometheus/scrape.yml
fi
check "the dashboard is JSON" python3 -m json.tool Deploy/grafana/brume.json /dev/null

# The names are those that a server prints: it has a line for each family, also for one without a sample. Labels are
# compared where it has samples.
cat >"$work/compare.py" <<'END'
import json, re, sys

metrics, rules, tests, dashboard = (open(path).read() for path in sys.argv[1:5])
names, problems = set(), []
for family, kind in re.findall(r"^# TYPE (\S+) (\S+)$", metrics, re.M):
    names |= {family + end for end in ("_bucket", "_sum", "_count")} if kind == "histogram" else {family}
labels = {}
for name, text in re.findall(r"^([a-z_]+)\{(.*)\} \S+$", metrics, re.M):
    labels.setdefault(name, set()).update(re.findall(r'([a-z_]+)="', text))
# Prometheus adds these.
added = {"job", "instance"}
of_a_user = re.compile(r"user|account|email|token|device|zone|record", re.I)


def expressions(text):
    """The queries of a file of rules: what stands after expr, up to the next key."""
    for match in re.finditer(r"^( *)(?:- )?expr: (.*(?:\n(?:\1 .*|\s*))*)", text, re.M):
        yield re.sub(r"^\s*#.*$", "", match[2].removeprefix(">-"), flags=re.M)


def check(where, query):
    # What is in quotes or names labels is no figure.
    for name, selector in re.findall(r"\b((?:brume|process|up)(?:_[a-z_]+)?)\b(?:\{([^}]*)\})?", without_text(query)):
        if name == "up":
            continue
        used.add(name)
        if name not in names:
            problems.append(f"{where}: the server does not print {name}")
        for label in re.findall(r"([a-z_]+) *(?:=~|!~|!=|=)", selector):
            if name in labels and label not in labels[name] | added | {"le"}:
                problems.append(f"{where}: {name} has no label {label}")
            if of_a_user.search(label):
                problems.append(f"{where}: the label {label} may name a user")
    for group in re.findall(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)", query):
        for label in re.split(r"[\s,]+", group.strip()):
            if of_a_user.search(label):
                problems.append(f"{where}: the label {label} may name a user")


def without_text(query):
    return re.sub(r'"[^"]*"', '""', query)


counts = []
for what, queries in (
    ("brume.rules.yml", list(expressions(rules))),
    ("brume.json", [t["expr"] for p in json.loads(dashboard)["panels"] for t in p.get("targets", [])]
        + [a["expr"] for a in json.loads(dashboard)["annotations"]["list"] if "expr" in a]),
):
    used = set()
    for query in queries:
        check(what, query)
    counts.append(f"{what}: {len(queries)} queries of {len(used)} figures")
    if not queries or not used:
        problems.append(f"{what}: no query was found in it")
for name in set(re.findall(r"series: '([a-z_]+)", tests)) - names - {"up"}:
    problems.append(f"brume.rules.test.yml: the server does not print {name}")
alerts = re.findall(r"alert: (\w+)", rules)
for alert in alerts:
    if f'alertname="{alert}"' not in tests:
        problems.append(f"brume.rules.test.yml: no case in which {alert} fires")
for block in re.split(r"^ *- alert: ", rules, flags=re.M)[1:]:
    for needed in ("severity:", "summary:", "description:"):
        if needed not in block:
            problems.append(f"{block.split()[0]} has no {needed.rstrip(':')}")
if json.loads(dashboard)["schemaVersion"] < 36:
    problems.append("brume.json: the schema's version is below 36")
if problems:
    sys.exit("\n".join(sorted(set(problems))))
print(f"{len(names)} names; " + "; ".join(counts) + f"; {len(alerts)} alerts")
END

if [ -z "$brume" ]; then
    for path in .build/release/brume .build/debug/brume; do
        if [ -x "$path" ] && { [ -z "$brume" ] || [ "$path" -nt "$brume" ]; }; then brume=$path; fi
    done
fi
start_server() { # a server on free ports, which writes its figures to $work/metrics
    "$brume" dev --data "$work/data" --metrics-listen 127.0.0.1:0 --ready-file "$work/ready.json" >"$work/server" 2>&1 &
    server=$!
    for _ in {1..300}; do
        if [ -e "$work/ready.json" ]; then break; fi
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.1
    done
    # Some labels are printed after a call, or one that failed.
    (
        eval "$(grep '^export BRUME_[A-Z]*=[^;&|]*$' "$work/server")"
        export BRUME_STATE=$work/state
        "$brume" zones create Check && ! "$brume" records query --type Missing
    ) || return 1
    local url
    url=$(sed -n 's/^figures: //p' "$work/server")
    [ -n "$url" ] && python3 -c 'import sys, urllib.request
open(sys.argv[2], "wb").write(urllib.request.urlopen(sys.argv[1], timeout=10).read())' "$url" "$work/metrics"
}
if [ -z "$brume" ]; then
    skipped+=("figures of the alerts and the dashboard (no executable: swift build --product brume, or BRUME=FILE)")
elif start_server >"$work/out" 2>&1; then
    check "each alert and panel asks for figures that a server prints" python3 "$work/compare.py" "$work/metrics" \
        Deploy/prometheus/brume.rules.yml Deploy/prometheus/brume.rules.test.yml Deploy/grafana/brume.json
    sed 's/^/    /' "$work/out"
else
    cat "$work/server" >>"$work/out" 2>/dev/null || true
    failed "no server could be started to ask for its figures"
fi

# MARK: Proxies

if tool nginx "nginx's configuration"; then
    module=
    for path in /usr/lib/nginx/modules /usr/lib64/nginx/modules /etc/nginx/modules; do
        if [ -e "$path/ngx_stream_module.so" ]; then module="load_module $path/ngx_stream_module.so;"; fi
    done
    sed "s#/var/log/nginx/#$work/#" Deploy/nginx/brume.conf >"$work/brume.conf"
    cat >"$work/nginx.conf" <<END
$module
pid $work/nginx.pid;
error_log $work/error.log;
events {}
include $work/brume.conf;
END
    if [ -n "$module" ] || run nginx -V 2>&1 | grep -q -- '--with-stream\( \|$\)'; then
        check "nginx's configuration" run nginx -t -c "$work/nginx.conf"
    else
        skipped+=("nginx's configuration (nginx has no stream module)")
    fi
fi
if tool haproxy "HAProxy's configuration"; then
    check "HAProxy's configuration" run haproxy -c -f Deploy/haproxy/haproxy.cfg
fi

# MARK: Units and scripts

if tool systemd-analyze "systemd's units"; then
    # The units name executables that are installed later, so they are looked for under a root that has stand-ins: what
    # is checked is the units. Those of the system are not there either, and not checked; neither are manual pages.
    root=$work/root
    mkdir -p "$root/etc/systemd/system"
    cp Deploy/systemd/* "$root/etc/systemd/system/"
    while read -r executable; do
        mkdir -p "$root$(dirname "$executable")"
        printf '#!/bin/sh\n' >"$root$executable"
        chmod 755 "$root$executable"
    done < <(sed -n 's/^Exec[A-Za-z]*=[-+!@:]*\(\/[^ ]*\).*/\1/p' Deploy/systemd/* | sort -u)
    units=()
    for path in Deploy/systemd/*; do units+=("${path##*/}"); done
    silently() { # silently COMMAND…: an unknown key is a warning, and one is too many
        local output code=0
        output=$("$@" 2>&1) || code=$?
        printf '%s\n' "$output"
        [ "$code" -eq 0 ] && [ -z "$output" ]
    }
    check "systemd's units (executables not looked for)" \
        silently systemd-analyze verify --man=no --recursive-errors=no --root="$root" "${units[@]}"
    for unit in Deploy/systemd/*.service; do
        check "exposure of ${unit##*/} is below 2.0" \
            systemd-analyze security --offline=true --no-pager --threshold=20 "$unit"
    done
fi
scripts=(Deploy/backup/* Scripts/check-deploy.sh)
for script in "${scripts[@]}"; do check "the syntax of $script" bash -n "$script"; done
if tool shellcheck "the scripts' faults that shellcheck finds"; then
    check "the scripts have no faults that shellcheck finds" shellcheck "${scripts[@]}"
fi

# MARK: What came of it

for what in "${skipped[@]}"; do echo "check-deploy: not checked: $what" >&2; done
if [ "$failures" -gt 0 ]; then
    echo "check-deploy: $failures checks failed" >&2
    exit 1
fi
if [ -n "$must_have_all" ] && [ ${#skipped[@]} -gt 0 ]; then
    echo "check-deploy: ${#skipped[@]} checks were left out, and --all was given" >&2
    exit 1
fi
