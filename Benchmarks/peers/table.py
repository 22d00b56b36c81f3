#!/usr/bin/env python3
"""The results of all.sh as Markdown tables.

    table.py goals        the goals, with every peer's figure beside Brume's and a mark where the goal is met
    table.py MEASURE...   all figures of a measure

Figures are medians where a case was run more than once. $PEERBENCH_WORK/results/MEASURE.jsonl holds what was measured.
"""

import json
import os
import statistics
import sys

RESULTS = os.path.join(os.environ.get("PEERBENCH_WORK", "/tmp/peerbench"), "results")
PEERS = ["redis", "postgres", "etcd", "nats", "mosquitto", "nginx", "floor", "brume"]

COLUMNS = {
    "write": ["records_s", "p50_us", "p95_us", "p99_us", "srv_cpu_us_per_record", "srv_cores", "cli_cores", "rss_mb"],
    "commit": ["records_s", "p50_us", "p95_us", "p99_us", "srv_cpu_us_per_record", "srv_cores", "cli_cores", "rss_mb"],
    "loops": ["records_s", "p50_us", "p99_us", "srv_cpu_us_per_record", "srv_cores", "cli_cores"],
    "read": ["ops_s", "p50_us", "p95_us", "p99_us", "srv_cpu_us_per_op", "srv_cores", "cli_cores", "rss_mb"],
    "fanout": [
        "deliveries_s", "publishes_s", "last_p50_us", "last_p99_us", "srv_cpu_us_per_delivery", "srv_cores",
        "cli_cores", "rss_mb"],
    "fetch": ["changes_s", "MB_s", "srv_cpu_us_per_change", "srv_cores", "cli_cores", "rss_mb"],
    "idle": ["rss_bytes_per_conn", "rss_before_mb", "rss_after_mb", "conns_s", "srv_cpu_us_per_connect",
             "idle_srv_cores"],
    "hs": ["handshakes_s", "p50_us", "p99_us", "resumed_share", "srv_cpu_us_per_hs", "cli_cpu_us_per_hs", "srv_cores"],
    "cold": ["serving_s", "ready_s", "secs", "records_s", "srv_cpu_s", "bytes", "rss_mb"],
    "assets": ["MB_s", "files_s", "p50_us", "p99_us", "srv_cpu_us_per_mb", "sync_cpu_us_per_mb", "srv_cpu_us_per_file",
               "srv_cores", "cli_cores", "above_idle_mb", "rss_mb"],
    "snapshot": ["records_s", "p50_us", "p95_us", "p99_us", "max_us", "secs", "bytes", "srv_cpu_us_per_record"],
}


def cases(measure):
    """Medians by (peer, measure of the line, connections, batch, tag)."""
    lines = {}
    try:
        with open(os.path.join(RESULTS, measure + ".jsonl")) as file:
            for text in file:
                if text.startswith("{"):
                    line = json.loads(text)
                    key = (line["peer"], line["measure"], line.get("conns", 0), line.get("batch", 1), line["tag"])
                    lines.setdefault(key, []).append(line)
    except FileNotFoundError:
        pass
    return {key: {
        name: statistics.median(line[name] for line in found if name in line)
        if isinstance(value, (int, float)) else value
        for name, value in found[0].items()} for key, found in lines.items()}


def text(value):
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def figure(measure, peer, name, conns=None, batch=None, tag=None, best=min):
    """One figure of a peer; the best where several cases fit. None: not measured."""
    found = [
        case[name] for (its, _, of_conns, of_batch, of_tag), case in cases(measure).items()
        if its == peer and name in case and (conns is None or conns == of_conns)
        and (batch is None or batch == of_batch) and (tag is None or of_tag.startswith(tag))]
    return best(found) if found else None


class Goal:
    """A row of the table: a figure of each peer, and what Brume's is to be."""

    def __init__(self, title, measure, name, limit, at_least=False, scale=1, quiet_floor=None, **case):
        """`quiet_floor` is the floor's figure on the quiet machine for which the limit was set."""
        self.title, self.limit, self.at_least, self.quiet_floor = title, limit, at_least, quiet_floor
        best = max if at_least else min
        self.figures = {}
        for peer in PEERS:
            value = figure(measure, peer, name, best=best, **case)
            if value is not None:
                self.figures[peer] = value * scale

    def against(self, factor, peers):
        """The goal is a multiple of the best of these peers."""
        values = [self.figures[peer] for peer in peers if peer in self.figures]
        self.limit = factor * max(values) if values else None
        return self

    def row(self):
        value = self.figures.get("brume")
        cells = []
        for peer in PEERS:
            cell = text(self.figures.get(peer))
            cells.append(f"**{cell}**" if peer == "brume" and cell else cell)
        if self.limit is None or value is None:
            mark = ""
        elif value >= self.limit if self.at_least else value <= self.limit:
            mark = "yes"
        else:
            part = self.limit / value if self.at_least else value / self.limit
            mark = f"no, {part:.2f} times"
        of_floor = ""
        if value is not None and self.quiet_floor and self.figures.get("floor"):
            of_floor = f"{value / self.figures['floor']:.2f} ({self.limit / self.quiet_floor:.2f})"
        limit = "" if self.limit is None else ("at least " if self.at_least else "at most ") + text(self.limit)
        return [self.title, *cells, limit, mark, of_floor]


def longest_wait():
    goal = Goal("writers' longest wait: more beside a snapshot than without, ms", "snapshot", "max_us", 5)
    goal.figures = {}
    for peer in PEERS:
        waits = {
            key[4]: case["max_us"] for key, case in cases("snapshot").items()
            if key[0] == peer and key[4] in ("with", "without")}
        if len(waits) == 2:
            goal.figures[peer] = max(0, waits["with"] - waits["without"]) / 1000
    return goal


def two_loops(title, limit=None, tag="loops", **case):
    goal = Goal(title, "loops", "records_s", limit, at_least=True, tag=tag + "-2", **case)
    one = figure("loops", "brume", "records_s", tag=tag + "-1", **case)
    goal.figures = {"brume": goal.figures["brume"] / one} if one and "brume" in goal.figures else {}
    return goal


def beside(direction):
    goal = Goal(
        f"p99 of a save on a connection that {'fetches' if direction == 'down' else 'sends'} 1 GB: more than alone, ms",
        "assets", "p99_us", 2, scale=1e-3, tag=direction)
    alone = figure("assets", "brume", "p99_us", tag="alone")
    goal.figures = {"brume": goal.figures["brume"] - alone / 1000} if alone and "brume" in goal.figures else {}
    return goal


def of_nginx(title, name, factor, at_least=False, **case):
    return Goal(title, "assets", name, None, at_least=at_least, **case).against(factor, ["nginx"])


def files():
    rows = []
    for kind, direction in (("fetched", "down"), ("sent, synced", "up")):
        for size, text in (("1GB", "1 GB"), ("100MB", "100 MB")):
            tag = f"{size}-{direction}"
            rows += [
                of_nginx(f"file of {text} {kind}: CPU µs a MB, 1.15 of nginx's", "srv_cpu_us_per_mb", 1.15, tag=tag),
                Goal("the same: MB/s", "assets", "MB_s", None, at_least=True, tag=tag)]
        rows += [
            of_nginx(f"files of 64 KiB {kind}, 16 connections: files/s", "files_s", 1, True, tag=f"64KiB-{direction}"),
            Goal("the same: CPU µs a file", "assets", "srv_cpu_us_per_file", None, tag=f"64KiB-{direction}")]
    return rows + [
        Goal("the same, each named by a record: files/s", "assets", "files_s", None, True, tag="64KiB-named"),
        Goal("100 slow transfers down: MB above idle", "assets", "above_idle_mb", 67.1, tag="slow-down"),
        Goal("100 slow transfers up: MB above idle", "assets", "above_idle_mb", 67.1, tag="slow-up"),
        beside("down"), beside("up")]


def goals():
    peers = [peer for peer in PEERS if peer not in ("floor", "brume")]
    cpu, one_at_a_time, eight = "srv_cpu_us_per_delivery", "latency", "window"
    single, alone, batched = {"conns": 64, "batch": 1}, {"conns": 1, "batch": 1}, {"conns": 4, "batch": 400}
    return [
        Goal("durable save with its change entry, 64 connections: CPU µs", "commit", "srv_cpu_us_per_record", 20,
             quiet_floor=14.5, **single),
        Goal("the same: saves/s, more than Redis", "commit", "records_s", None, at_least=True, **single)
        .against(1, ["redis"]),
        Goal("the same, 1 connection: p50 µs", "commit", "p50_us", 230, **alone),
        Goal("the same, 1 connection: CPU µs", "commit", "srv_cpu_us_per_record", None, **alone),
        Goal("the same in batches of 400, 4 connections: CPU µs a record", "commit", "srv_cpu_us_per_record", 3,
             quiet_floor=1.1, **batched),
        Goal("the same in batches: records/s", "commit", "records_s", None, at_least=True, **batched),
        Goal("read of one record, 64 connections: CPU µs", "read", "srv_cpu_us_per_op", 12, quiet_floor=9.8, conns=64),
        Goal("read of one record, 1 connection: p50 µs", "read", "p50_us", 60, conns=1),
        Goal("read of one record, 1 connection: CPU µs", "read", "srv_cpu_us_per_op", None, conns=1),
        Goal("fetch of 100,000 changes of 1 KiB: CPU µs a change", "fetch", "srv_cpu_us_per_change", 1.1, quiet_floor=0.84),
        Goal("the same: changes/s, 1.7 times the best peer's", "fetch", "changes_s", None, at_least=True)
        .against(1.7, peers),
        Goal("fan-out to 1,000, 8 in flight: CPU µs a delivery", "fanout", cpu, 1.5, quiet_floor=1.4, conns=1000, tag=eight),
        Goal("fan-out to 5,000, 8 in flight: CPU µs a delivery", "fanout", cpu, 1.5, quiet_floor=1.4, conns=5000, tag=eight),
        Goal("fan-out to 1,000, one at a time: last delivery p50 ms", "fanout", "last_p50_us", 9, scale=1e-3, conns=1000,
             tag=one_at_a_time),
        Goal("fan-out to 5,000, one at a time: last delivery p50 ms", "fanout", "last_p50_us", 50, scale=1e-3, conns=5000,
             tag=one_at_a_time),
        Goal("fan-out to 1,000, one at a time: CPU µs a delivery", "fanout", cpu, None, conns=1000, tag=one_at_a_time),
        Goal("fan-out to 5,000, one at a time: CPU µs a delivery", "fanout", cpu, None, conns=5000, tag=one_at_a_time),
        Goal("10,000 idle subscribed connections: KB each", "idle", "rss_bytes_per_conn", 17, scale=1e-3,
             quiet_floor=13.9, conns=10000),
        Goal("cold start, 1,000,000 records: serving, s", "cold", "serving_s", 0.1),
        Goal("cold start: all loaded, s", "cold", "ready_s", 1.0),
        Goal("resident memory with them, MB", "cold", "rss_mb", 1300, conns=1, batch=1),
        longest_wait(),
        Goal("full TLS handshakes: CPU µs", "hs", "srv_cpu_us_per_hs", 420, quiet_floor=386, tag="full"),
        Goal("resumed TLS handshakes: CPU µs", "hs", "srv_cpu_us_per_hs", 270, quiet_floor=241, tag="resumed"),
        two_loops("two loops against one, queries, where the client leaves room: times as many", 1.6, "queries"),
        two_loops("two loops against one, single saves, 64 connections: times as many", **single),
        two_loops("two loops against one, batches of 400, 32 connections: times as many", conns=32, batch=400),
        *files(),
    ]


def print_goals():
    print("| measure | " + " | ".join(PEERS) + " | goal | met | of floor |")
    print("| --- " * (len(PEERS) + 4) + "|")
    for goal in goals():
        if goal.figures:
            print("| " + " | ".join(goal.row()) + " |")
    print("\nnats answers before it syncs; floor is a bound, not a peer. \"of floor\": Brume's figure as a multiple of floor's, and what "
          "the goal is of floor's on a quiet machine.")


def print_measure(measure):
    columns = COLUMNS[measure]
    print("| conns | batch | peer | kind | " + " | ".join(columns) + " |")
    print("| --- " * (len(columns) + 4) + "|")
    found = cases(measure)
    for key in sorted(found, key=lambda key: (key[3], key[2], key[4] if measure == "fanout" else "", key[0])):
        peer, of, conns, batch, tag = key
        kind = tag or ("load" if of == "load" else "")
        print(f"| {conns or ''} | {batch} | {peer} | {kind} | "
              + " | ".join(text(found[key].get(name)) for name in columns) + " |")


def main():
    chosen = sys.argv[1:]
    if not chosen or any(name not in (*COLUMNS, "goals") for name in chosen):
        sys.exit(__doc__.strip() + "\n\nMeasures: " + " ".join(COLUMNS))
    for name in chosen:
        print_goals() if name == "goals" else print_measure(name)


if __name__ == "__main__":
    main()
