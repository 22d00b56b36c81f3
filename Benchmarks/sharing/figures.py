#!/usr/bin/env python3
"""What sharing costs: figures of a release build on this machine, each beside what it is compared with.

    Benchmarks/sharing/figures.py BRUME [saves|reads|databases|large ...]

saves      saves of one record, one after the other, in a zone with 100 online participants on 16 loops, beside a zone whose owner has
           100 devices online: median and 99th percentile in milliseconds
reads      pages of 10,000 records for a participant, of the whole zone and of a record that is shared, beside the owner's own
databases  changes of the shared database for a user who takes part in 1,000 zones of 10 owners, whose databases are not in memory:
           milliseconds, and how many databases were loaded for it
large      a list of 100,000 records that is shared, fetched by a participant, and no longer shared

BRUME is the executable. Needs protoc and python3-protobuf, like the tests of the Python client.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "Tests", "Python"))
from brume_client import BrumeError, Client, Protocol  # noqa: E402

CONTAINER = "iCloud.com.example.sharing"
PRIVATE, SHARED = 2, 3
READ_AND_WRITE = 3
p = None


class Server:
    """A server of its own in a folder, with accounts a0, a1, ..."""

    def __init__(self, brume, folder, accounts, loops):
        self.brume, self.data = brume, os.path.join(folder, "data")
        self.ready_file = os.path.join(folder, "ready.json")
        if os.path.exists(self.ready_file):
            os.remove(self.ready_file)
        self.process = subprocess.Popen(
            [brume, "dev", "--accounts", ",".join(f"a{number}" for number in range(accounts)), "--loops", str(loops),
             "--ready-file", self.ready_file, "--data", self.data],
            stdout=subprocess.DEVNULL, stderr=open(os.path.join(folder, "log"), "a"), stdin=subprocess.DEVNULL)
        while not os.path.exists(self.ready_file):
            if self.process.poll() is not None:
                sys.exit(f"the server did not start: {open(os.path.join(folder, 'log')).read()}")
            time.sleep(0.02)
        self.ready = json.load(open(self.ready_file))

    def connect(self, account):
        token = self.ready["accounts"][f"a{account}"]["token"]
        return Client(p, self.ready["server"], self.ready["ca"], CONTAINER, os.urandom(16), token, timeout_seconds=120)

    def loads(self):
        """How many databases have come into memory since the start."""
        output = subprocess.run(
            [self.brume, "stats", "--json", "--data", self.data], check=True, capture_output=True, text=True).stdout
        return json.loads(output)["databases"]["loads"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)


def make_zone(client, name):
    client.call(
        p.METHOD_ZONES_MODIFY,
        p.ModifyZonesRequest(database=PRIVATE, operation_id=os.urandom(16), saves=[p.ZoneID(name=name)]),
        p.ModifyZonesResponse)


def modify(client, zone, saves=(), deletions=(), database=PRIVATE):
    result = client.call(
        p.METHOD_RECORDS_MODIFY,
        p.ModifyRecordsRequest(
            database=database, save_policy=1, operation_id=os.urandom(16),
            zones=[p.ZoneModification(zone=zone, saves=saves, deletions=deletions)]),
        p.ModifyRecordsResponse).zones[0]
    for item in (*result.saves, *result.deletions):
        if item.HasField("error"):
            raise BrumeError(item.error)
    return result


def share(client, zone, root=""):
    """Shares a zone, or a record of it, with whoever has the URL, which it returns."""
    change = p.ShareChange(root=root, public_permission=READ_AND_WRITE)
    name = f"share-{root}" if root else "cloudkit.zoneshare"
    saves = [p.RecordSave(name=name, type="cloudkit.share", share=change)]
    if root:
        saves.append(p.RecordSave(name=root, type="List"))
    return modify(client, p.ZoneID(name=zone), saves).saves[0].record.share_details.url


def listen(client, scope):
    """Opens a subscribed stream, and reads it for as long as the connection is there."""
    client.call(
        p.METHOD_SUBSCRIPTIONS_MODIFY,
        p.ModifySubscriptionsRequest(
            database=scope, operation_id=os.urandom(16),
            saves=[p.Subscription(id="all", database=p.DatabaseSubscription())]),
        p.ModifySubscriptionsResponse)
    stream = client.open_notifications()
    stream.next_event()

    def follow():
        try:
            while True:
                stream.acknowledge(stream.next_event())
        except Exception:
            pass

    threading.Thread(target=follow, daemon=True).start()


def at(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))] * 1_000


def time_saves(client, zone, count=400):
    times = []
    for number in range(count):
        began = time.perf_counter()
        modify(client, p.ZoneID(name=zone), [p.RecordSave(name=f"r{number % 50}", type="Note")])
        times.append(time.perf_counter() - began)
    return times


def fill(client, zone, count, parent=""):
    for start in range(0, count, 400):
        modify(client, p.ZoneID(name=zone), [
            p.RecordSave(
                name=f"i{number}", type="Item", **({"parent": parent} if parent else {}),
                fields=[p.Field(key="text", value=p.Value(string_value="some text of an item"))])
            for number in range(start, min(start + 400, count))])


def pages(client, zone, database):
    """All changes of a zone: records, and how long it took."""
    began, token, count = time.perf_counter(), b"", 0
    while True:
        page = client.call(
            p.METHOD_RECORDS_CHANGES, p.ZoneChangesRequest(database=database, zone=zone, token=token),
            p.ZoneChangesResponse)
        count += len(page.records)
        token = page.token
        if not page.more_coming:
            return count, time.perf_counter() - began


def saves(brume, folder):
    with Server(brume, folder, 102, 16) as server:
        owner, alone = server.connect(0), server.connect(101)
        for client in (owner, alone):
            make_zone(client, "Notes")
        url = share(owner, "Notes")
        guests = [server.connect(number) for number in range(1, 101)]
        for guest in guests:
            guest.accept_share(url)
            listen(guest, SHARED)
        for client in [server.connect(101) for _ in range(100)]:
            listen(client, PRIVATE)
        for name, client in (("100 devices of one user", alone), ("100 participants", owner)) * 2:
            times = time_saves(client, "Notes")
            print(f"saves      {name:24} median {at(times, 0.5):.2f} ms, 99th percentile {at(times, 0.99):.2f} ms")


def reads(brume, folder):
    with Server(brume, folder, 2, 2) as server:
        owner, guest = server.connect(0), server.connect(1)
        make_zone(owner, "Whole")
        make_zone(owner, "Part")
        fill(owner, "Whole", 10_000)
        modify(owner, p.ZoneID(name="Part"), [p.RecordSave(name="list", type="List")])
        fill(owner, "Part", 10_000, "list")
        guest.accept_share(share(owner, "Whole"))
        guest.accept_share(share(owner, "Part", "list"))
        user = owner.welcome.user_record_name
        for name, client, zone, database in (
                ("the owner", owner, p.ZoneID(name="Whole"), PRIVATE),
                ("a participant, zone", guest, p.ZoneID(name="Whole", owner=user), SHARED),
                ("a participant, record", guest, p.ZoneID(name="Part", owner=user), SHARED)):
            times = [pages(client, zone, database) for _ in range(7)]
            print(f"reads      {name:24} {times[0][0]} records in {statistics.median(t for _, t in times) * 1_000:.0f} ms")


def databases(brume, folder):
    with Server(brume, folder, 11, 2) as server:
        guest = server.connect(0)
        for number in range(1, 11):
            owner = server.connect(number)
            for zone in range(100):
                make_zone(owner, f"z{zone}")
                guest.accept_share(share(owner, f"z{zone}"))
    with Server(brume, folder, 11, 2) as server:
        guest = server.connect(0)
        token, zones = b"", 0
        began = time.perf_counter()
        while True:
            page = guest.call(
                p.METHOD_DATABASES_CHANGES, p.DatabaseChangesRequest(database=SHARED, token=token),
                p.DatabaseChangesResponse)
            zones += len(page.changed)
            token = page.token
            if not page.more_coming:
                break
        whole = time.perf_counter() - began
        times = []
        for _ in range(100):
            began = time.perf_counter()
            guest.call(
                p.METHOD_DATABASES_CHANGES, p.DatabaseChangesRequest(database=SHARED, token=token),
                p.DatabaseChangesResponse)
            times.append(time.perf_counter() - began)
        print(
            f"databases  {zones} zones of 10 owners: all {whole * 1_000:.1f} ms, with a token of {len(token)} bytes "
            f"{at(times, 0.5):.2f} ms, databases loaded since the start: {server.loads()}")


def large(brume, folder):
    with Server(brume, folder, 2, 2) as server:
        owner, guest = server.connect(0), server.connect(1)
        make_zone(owner, "Lists")
        modify(owner, p.ZoneID(name="Lists"), [p.RecordSave(name="list", type="List")])
        fill(owner, "Lists", 100_000, "list")
        began = time.perf_counter()
        url = share(owner, "Lists", "list")
        print(f"large      shared in {(time.perf_counter() - began) * 1_000:.0f} ms")
        guest.accept_share(url)
        zone = p.ZoneID(name="Lists", owner=owner.welcome.user_record_name)
        count, seconds = pages(guest, zone, SHARED)
        print(f"large      {count} records fetched in {seconds * 1_000:.0f} ms")
        began = time.perf_counter()
        modify(owner, p.ZoneID(name="Lists"), deletions=["share-list"])
        print(f"large      no longer shared in {(time.perf_counter() - began) * 1_000:.0f} ms")


def main():
    global p
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    parts = {"saves": saves, "reads": reads, "databases": databases, "large": large}
    with tempfile.TemporaryDirectory(prefix="brume-sharing-") as generated:
        p = Protocol(os.path.join(ROOT, "proto"), generated)
        for name in sys.argv[2:] or list(parts):
            with tempfile.TemporaryDirectory(prefix="brume-sharing-") as folder:
                parts[name](sys.argv[1], folder)


if __name__ == "__main__":
    main()
