#!/usr/bin/env python3
"""How long a small call of one account waits while another account sends the costliest requests that it may.

    Benchmarks/isolation/waits.py BRUME [ATTACK...] [--seconds N] [--seed N]

BRUME is the executable (a release build). It runs with one loop, so that all accounts share it. The victim reads from the public
database, reads from its private one and saves there, in turn. For each attack: the victim's calls of each kind, their 50th and 99th
percentile and the longest, in milliseconds, and what the attacker's calls came to. The rule of the design is 50 ms at the 99th. Under
`overwrites` it queries the public database as well; a query may take longer, but it has to end. Under `audience` it reads a record of
100 KB as well. `random`
mixes all attacks by a seed, which is printed. Needs protoc and python3-protobuf, like the tests of the Python client.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import selectors
import ssl
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "Tests", "Python"))
from brume_client import CREDIT, BrumeError, Client, Protocol, predicate  # noqa: E402

CONTAINER = "iCloud.com.example.isolation"
LIMIT_MILLISECONDS = 50
ACCOUNTS = ",".join(["ada", "eve"] + [f"fan{number}" for number in range(8)])
p = None


def connect(ready, account, timeout_seconds=120):
    token = ready["accounts"][account]["token"]
    return Client(p, ready["server"], ready["ca"], CONTAINER, os.urandom(16), token, timeout_seconds=timeout_seconds)


def modify(client, scope, zone, saves=(), deletions=(), policy=2, atomic=False):
    return client.call(
        p.METHOD_RECORDS_MODIFY,
        p.ModifyRecordsRequest(
            database=scope, save_policy=policy, not_atomic=not atomic, operation_id=os.urandom(16),
            zones=[p.ZoneModification(zone=p.ZoneID(name=zone), saves=saves, deletions=deletions)]),
        p.ModifyRecordsResponse).zones[0]


def record(name, kind, **values):
    fields = [p.Field(key=key, value=value) for key, value in sorted(values.items())]
    return p.RecordSave(name=name, type=kind, fields=fields)


def numbers(count, value=1):
    return p.Value(int64_list=p.Int64List(values=[value] * count))


def distinct(count, start):
    return p.Value(int64_list=p.Int64List(values=range(start, start + count)))


def any_equal(key, value):
    return p.PredicateNode(comparison=p.Comparison(
        key=p.QueryKey(field=key), operator=p.COMPARISON_OPERATOR_EQUAL, value=p.Value(int64_value=value),
        any_element=True))


def query(client, scope, kind, tree, zone=None, explain=False):
    request = p.QueryRequest(
        database=scope, zone=p.ZoneID(name=zone) if zone else None,
        query=p.Query(record_type=kind, predicate=predicate(p, tree)))
    if explain:
        return client.call(p.METHOD_RECORDS_EXPLAIN, request, p.ExplainResponse)
    return client.call(p.METHOD_RECORDS_QUERY, request, p.QueryResponse)


def subscribe(client, scope, name, kind, tree, keys=()):
    client.call(
        p.METHOD_SUBSCRIPTIONS_MODIFY,
        p.ModifySubscriptionsRequest(
            database=scope, operation_id=os.urandom(16),
            saves=[p.Subscription(
                id=name, query=p.QuerySubscription(record_type=kind, predicate=predicate(p, tree), options=7),
                notification_info=p.NotificationInfo(desired_keys=keys))]),
        p.ModifySubscriptionsResponse)


EVERYTHING = ("and",)


class Attack:
    """What one connection of the attacker does: `prepare` once, then `act` again and again."""

    scope = 2
    # Where the attack is on queries of others, what the victim asks the public database for: a type, and a number in its lists `n`.
    victims_query = None
    # Whether the victim also reads a record of 100 KB, whose answer is none of the small ones.
    victims_large = False

    def __init__(self, ready, client, number, chance):
        self.client, self.number, self.chance, self.round = client, number, chance, 0
        self.ready = ready
        self.zone = "_defaultZone"
        self.prepare()

    def prepare(self):
        pass

    def key(self, text):
        return f"{text}-{self.number}"


class References(Attack):
    """Records of many deleteSelf references, saved again with other targets."""

    def act(self):
        self.round += 1
        per_record = self.chance.choice([450, 200, 50])
        names = [f"t{self.round % 2}-{index}" for index in range(per_record)]
        references = p.Value(reference_list=p.ReferenceList(values=[
            p.Reference(record_name=name, action=p.REFERENCE_ACTION_DELETE_SELF) for name in names]))
        modify(self.client, self.scope, self.zone, [record(self.key(f"r{i}"), "Ref", to=references) for i in range(50)])


class Orphans(Attack):
    """A chain of parents whose end is missing, in the worst order."""

    def act(self):
        saves = []
        for index in range(400):
            save = record(self.key(f"o{index}"), "Orphan")
            save.parent = self.key(f"o{index + 1}")
            saves.append(save)
        modify(self.client, self.scope, self.zone, saves, atomic=False)


class Terms(Attack):
    """1,000 terms over a list of 900,000 numbers."""

    def prepare(self):
        modify(self.client, self.scope, self.zone, [record(self.key("big"), "Big", n=numbers(900_000))])

    def act(self):
        tree = ("or", *[any_equal("n", value + 2) for value in range(1_000)])
        query(self.client, self.scope, "Big", tree)


class PublicTerms(Terms):
    """The same in the public database."""
    scope = 1


class Words(Attack):
    """A search in a text of 900 KB without a space, of a script that ICU takes its time for."""

    def prepare(self):
        modify(self.client, self.scope, self.zone, [
            record(self.key(f"w{i}"), "Text", t=p.Value(string_value="日本語テキスト" * 42_000)) for i in range(2)])

    def act(self):
        query(self.client, self.scope, "Text", p.PredicateNode(text=p.TextSearch(text="nothing", match=1)))


class Matching(Attack):
    """Subscriptions of 1,000 terms, and saves of a list of 900,000 numbers, in the public database."""
    scope = 1

    def prepare(self):
        terms = ("and", *[("not", any_equal("n", value + 2)) for value in range(400)])
        for index in range(5):
            subscribe(self.client, self.scope, self.key(f"m{index}"), "Match", terms)

    def act(self):
        self.round += 1
        modify(self.client, self.scope, self.zone, [
            record(self.key(f"m{self.round % 4}"), "Match", n=numbers(900_000))])


class Grapheme(Attack):
    """One character of 900 KB, wanted by 100 subscriptions."""
    scope = 1

    def prepare(self):
        for index in range(100):
            subscribe(self.client, self.scope, self.key(f"g{index}"), "Grapheme", EVERYTHING, keys=["t"])
        self.text = "e" + "\u0301" * 450_000

    def act(self):
        self.round += 1
        modify(self.client, self.scope, self.zone, [
            record(self.key(f"g{self.round % 4}"), "Grapheme", t=p.Value(string_value=self.text))])


class Events(Attack):
    """Batches that fire as many subscriptions as one commit may."""
    scope = 1

    def prepare(self):
        for index in range(25):
            subscribe(self.client, self.scope, self.key(f"e{index}"), "Event", EVERYTHING, keys=["t"])

    def act(self):
        self.round += 1
        text = p.Value(string_value="x" * 200)
        modify(self.client, self.scope, self.zone, [
            record(self.key(f"e{self.round % 4}-{index}"), "Event", t=text) for index in range(200)])


class Locations(Attack):
    """As many empty locations as a request may hold, wanted by a subscription."""
    scope = 1

    def prepare(self):
        subscribe(self.client, self.scope, self.key("l"), "Places", EVERYTHING, keys=["p"])
        self.value = p.Value(location_list=p.LocationList(values=[p.Location()] * 50_000))

    def act(self):
        self.round += 1
        modify(self.client, self.scope, self.zone, [record(self.key(f"l{self.round % 4}"), "Places", p=self.value)])


class Indexed(Attack):
    """Indexed lists of 300,000 numbers: saved, then deleted in one small request."""
    scope = 1

    def prepare(self):
        modify(self.client, self.scope, self.zone, [
            record(self.key(f"x{index}"), "Indexed", n=distinct(3, index)) for index in range(400)])
        query(self.client, self.scope, "Indexed", any_equal("n", 7))

    def act(self):
        names = [self.key(f"heavy{index}") for index in range(12)]
        for index, name in enumerate(names):
            modify(self.client, self.scope, self.zone, [record(name, "Indexed", n=distinct(300_000, index * 1000))])
        modify(self.client, self.scope, self.zone, deletions=names)


class Overwrites(Attack):
    """Long lists among many short ones, overwritten while the victim's queries want an index of them."""
    scope = 1
    victims_query = ("Overwritten", 7)

    def prepare(self):
        for start in range(0, 20_000 if self.number == 0 else 0, 400):
            modify(self.client, self.scope, self.zone, [
                record(self.key(f"o{start + index}"), "Overwritten", n=distinct(3, start + index)) for index in range(400)])

    def act(self):
        self.round += 1
        modify(self.client, self.scope, self.zone, [
            record(self.key(f"heavy{index}"), "Overwritten", n=distinct(8_000, 1_000_000 + self.round + 10_000 * index))
            for index in range(25)])


class Parts(Attack):
    """Records of 4,000 fields, shown without any."""

    def prepare(self):
        self.zone = self.key("parts")
        self.client.call(
            p.METHOD_ZONES_MODIFY,
            p.ModifyZonesRequest(database=2, saves=[p.ZoneID(name=self.zone)], operation_id=os.urandom(16)),
            p.ModifyZonesResponse)
        for start in range(0, 400, 20):
            modify(self.client, 2, self.zone, [
                record(f"p{start + index}", "Parts", **{f"f{n}": p.Value(int64_value=n) for n in range(4_000)})
                for index in range(20)])

    def act(self):
        self.client.call(
            p.METHOD_RECORDS_CHANGES,
            p.ZoneChangesRequest(database=2, zone=p.ZoneID(name=self.zone), desired_keys=p.DesiredKeys(keys=["zz"])),
            p.ZoneChangesResponse)
        self.client.call(
            p.METHOD_RECORDS_FETCH,
            p.FetchRecordsRequest(
                database=2, desired_keys=p.DesiredKeys(keys=["zz"]),
                zones=[p.ZoneFetch(zone=p.ZoneID(name=self.zone), names=[f"p{index}" for index in range(400)])]),
            p.FetchRecordsResponse)


class Flood(Attack):
    """The largest batches, without a pause."""
    scope = 1

    def act(self):
        self.round += 1
        text = p.Value(string_value="x" * 4_000)
        modify(self.client, self.scope, self.zone, [
            record(self.key(f"f{self.round % 3}-{index}"), "Flood", t=text, n=p.Value(int64_value=self.round))
            for index in range(400)])


class Fragments(Attack):
    """Requests of as many small parts as fit."""

    def act(self):
        self.round += 1
        saves = [
            record(self.key(f"s{self.round % 3}-{index}"), "Fragment",
                   **{f"{n:x}": p.Value(int64_value=self.round) for n in range(4_000)}) for index in range(30)]
        modify(self.client, self.scope, self.zone, saves)


class Audience(Attack):
    """Saves in the public database, of which thousands of devices are told."""
    scope = 1
    devices = 2_000
    victims_large = True

    def prepare(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.sockets = []
        self.selector = selectors.DefaultSelector()
        for index in range(self.devices):
            fan = f"fan{2 * self.number + index % 2}"
            device = connect(self.ready, fan)
            if index < 2:
                subscribe(device, self.scope, "fans", "Fan", EVERYTHING)
            device.open_notifications().next_event()
            # As if the device kept up with everything.
            device._send(CREDIT, 1 if index >= 2 else 2, payload=struct.pack(">II", 1_000_000, 1 << 29))
            device._socket.setblocking(False)
            self.selector.register(device._socket, selectors.EVENT_READ)
            self.sockets.append(device)

    def act(self):
        self.round += 1
        modify(self.client, self.scope, self.zone, [record(self.key("fan"), "Fan", n=p.Value(int64_value=self.round))])
        for key, _ in self.selector.select(0):
            try:
                while key.fileobj.recv(16_384):
                    pass
            except (ssl.SSLWantReadError, BlockingIOError):
                pass


class Shares(Attack):
    """A list of many records, shared and no longer shared in turn."""
    items = 100_000

    def prepare(self):
        self.zone = f"Lists{self.number}"
        self.client.call(
            p.METHOD_ZONES_MODIFY,
            p.ModifyZonesRequest(
                database=self.scope, operation_id=os.urandom(16), saves=[p.ZoneID(name=self.zone)]),
            p.ModifyZonesResponse)
        self.done([record("list", "List"), record("shelf", "List")])
        for start in range(0, self.items, 400):
            self.done([
                self.below("list" if index % 100 == 0 else f"i{index - index % 100}", f"i{index}")
                for index in range(start, start + 400)])

    def below(self, parent, name):
        return p.RecordSave(name=name, type="Item", parent=parent)

    def done(self, saves=(), deletions=()):
        """As a batch that has to succeed."""
        result = modify(self.client, self.scope, self.zone, saves, deletions, policy=1, atomic=True)
        for item in (*result.saves, *result.deletions):
            if item.HasField("error"):
                raise BrumeError(item.error)

    def share(self, root):
        self.done([
            p.RecordSave(name=f"share-{root}", type="cloudkit.share", share=p.ShareChange(root=root)),
            p.RecordSave(name=root, type="List")])

    def act(self):
        self.share("list")
        self.done(deletions=["share-list"])


class Moves(Shares):
    """As many records as move with one request, into a share and out of it in turn."""
    items = 9_600

    def prepare(self):
        super().prepare()
        self.share("shelf")

    def act(self):
        self.done([p.RecordSave(name="list", type="List", parent="shelf")])
        self.done([p.RecordSave(name="list", type="List", removes_parent=True)])


class Nothing(Attack):
    """For comparison: what the machine itself makes a call wait."""

    def act(self):
        time.sleep(0.1)


ATTACKS = {
    "nothing": Nothing,
    "references": References, "orphans": Orphans, "terms": Terms, "public-terms": PublicTerms, "words": Words,
    "matching": Matching, "grapheme": Grapheme, "events": Events, "locations": Locations, "indexed": Indexed,
    "overwrites": Overwrites, "parts": Parts, "flood": Flood,
    "fragments": Fragments, "audience": Audience, "shares": Shares, "moves": Moves,
}


class Mixed:
    """All attacks by chance."""

    def __init__(self, ready, client, number, chance):
        self.ready, self.client, self.number, self.chance, self.attacks = ready, client, number, chance, {}

    def act(self):
        # Thousands of connections are not made on the way.
        name = self.chance.choice(sorted(set(ATTACKS) - {"audience", "shares"}))
        if name not in self.attacks:
            self.attacks[name] = ATTACKS[name](self.ready, self.client, self.number, self.chance)
        self.attacks[name].act()


def attacker(ready, name, number, seed, seconds, begun, counts):
    # Attackers have machines of their own: what their processes compute here is not to take the server's time.
    os.nice(15)
    client = connect(ready, "eve")
    made = Mixed if name == "random" else ATTACKS[name]
    try:
        attack = made(ready, client, number, random.Random(f"{seed}/{number}"))
    except BrumeError as error:
        counts.put((0, f"prepare: {error}"))
        begun.wait()
        return
    begun.wait()
    end, done, last_refusal = time.monotonic() + seconds, 0, None
    while time.monotonic() < end:
        try:
            attack.act()
            done += 1
        except BrumeError as error:
            last_refusal = str(error)
            time.sleep(0.005)
        except (ConnectionError, TimeoutError, OSError) as error:
            counts.put((done, f"connection: {error}"))
            return
    counts.put((done, last_refusal))


def fetch(client, scope, name):
    client.call(
        p.METHOD_RECORDS_FETCH,
        p.FetchRecordsRequest(database=scope, zones=[p.ZoneFetch(zone=p.ZoneID(name="_defaultZone"), names=[name])]),
        p.FetchRecordsResponse)


def victim(ready, seconds, asked, large):
    """The victim's waits in milliseconds: those of reads, those of saves, and those of other calls that it is to make."""
    client = connect(ready, "ada")
    for scope in (1, 2):
        modify(client, scope, "_defaultZone", [record("mine", "Victim", n=p.Value(int64_value=1))])
    if large:
        modify(client, 2, "_defaultZone", [record("large", "Victim", t=p.Value(string_value="x" * 100_000))])
    reads, saves, others, end = [], [], [], time.monotonic() + seconds
    while time.monotonic() < end:
        for scope in (1, 2):
            began = time.monotonic()
            fetch(client, scope, "mine")
            reads.append((time.monotonic() - began) * 1_000)
            time.sleep(0.003)
        began = time.monotonic()
        modify(client, 2, "_defaultZone", [record("mine", "Victim", n=p.Value(int64_value=len(saves)))])
        saves.append((time.monotonic() - began) * 1_000)
        time.sleep(0.003)
        if asked:
            began = time.monotonic()
            query(client, 1, asked[0], any_equal("n", asked[1]))
            others.append((time.monotonic() - began) * 1_000)
        if large:
            began = time.monotonic()
            fetch(client, 2, "large")
            others.append((time.monotonic() - began) * 1_000)
    return sorted(reads), sorted(saves), sorted(others)


def at(waits, part):
    return waits[min(len(waits) - 1, int(len(waits) * part))]


def shown(waits):
    return f"{len(waits):5}  p50 {at(waits, 0.5):6.2f}  p99 {at(waits, 0.99):6.2f}  longest {waits[-1]:7.2f}"


def run(brume, name, seed, seconds, connections):
    """A server of its own for each attack. Returns whether the rule held."""
    with tempfile.TemporaryDirectory(prefix="brume-isolation-") as folder:
        ready_file = os.path.join(folder, "ready.json")
        server = subprocess.Popen(
            [brume, "dev", "--accounts", ACCOUNTS, "--loops", "1", "--ready-file", ready_file, "--data", os.path.join(folder, "data")],
            stdout=subprocess.DEVNULL, stderr=open(os.path.join(folder, "log"), "w"), stdin=subprocess.DEVNULL)
        try:
            while not os.path.exists(ready_file):
                if server.poll() is not None:
                    sys.exit(f"the server did not start: {open(os.path.join(folder, 'log')).read()}")
                time.sleep(0.02)
            ready = json.load(open(ready_file))
            begun = multiprocessing.Barrier(connections + 1)
            counts = multiprocessing.Queue()
            peers = [
                multiprocessing.Process(target=attacker, args=(ready, name, number, seed, seconds + 1, begun, counts))
                for number in range(connections)]
            for peer in peers:
                peer.start()
            begun.wait(600)
            time.sleep(0.5)
            try:
                attack = ATTACKS.get(name, Attack)
                reads, saves, others = victim(ready, seconds, attack.victims_query, attack.victims_large)
            except (ConnectionError, TimeoutError, OSError) as error:
                print(f"{name:13} the victim's connection ended: {error}; server: {server.poll()}")
                return False
            outcomes = [counts.get(timeout=120) for _ in peers]
            for peer in peers:
                peer.join(30)
                if peer.is_alive():
                    peer.kill()
            acts = sum(done for done, _ in outcomes)
            refusals = {text[:70] for _, text in outcomes if text}
            bounded = [reads, saves] + ([others] if attack.victims_large else [])
            held = max(at(waits, 0.99) for waits in bounded) <= LIMIT_MILLISECONDS and server.poll() is None
            print(
                f"{name:13} reads {shown(reads)}  saves {shown(saves)}" + (f"  {'large reads' if attack.victims_large else 'queries'} {shown(others)}" if others else "")
                + f"  {'held' if held else 'BROKEN'}  attacker: {acts} acts" + (f", {'; '.join(sorted(refusals))}" if refusals else ""),
                flush=True)
            return held
        finally:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()


def main():
    global p
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("brume")
    arguments.add_argument("attacks", nargs="*", help=", ".join(list(ATTACKS) + ["random"]))
    arguments.add_argument("--seconds", type=float, default=6)
    arguments.add_argument("--connections", type=int, default=4)
    arguments.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    chosen = arguments.parse_args()
    print(f"seed {chosen.seed}, {chosen.connections} connections of the attacker, {os.cpu_count()} processors; milliseconds")
    with tempfile.TemporaryDirectory(prefix="brume-isolation-") as generated:
        p = Protocol(os.path.join(ROOT, "proto"), generated)
        held = [run(chosen.brume, name, chosen.seed, chosen.seconds, chosen.connections) for name in chosen.attacks or list(ATTACKS) + ["random"]]
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
