#!/usr/bin/python3
"""How often a server asks for memory in each operation.

    Benchmarks/allocations.py [BRUME]

BRUME is the release build's executable by default. The server has a counter before its allocator (CAllocations), the Python client
of Tests/Python asks. Prints one JSON object: calls of malloc and its like for each operation, the least of several rounds, so that what
the server does by itself does not count. A test holds the figures of the debug build against limits.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "Tests", "Python"))
from brume_client import Client, Protocol  # noqa: E402

ROUNDS = 3
SAVES = 100
BATCH = 400
READS = 100
DEVICES = 10
PUBLICATIONS = 20


def counter_library(folder):
    library = os.path.join(folder, "allocations.so")
    source = os.path.join(HERE, "CAllocations")
    for compiler in ("cc", "clang"):
        try:
            subprocess.run(
                [compiler, "-shared", "-fPIC", "-O2", "-I", os.path.join(source, "include"), "-o", library,
                 os.path.join(source, "allocations.c")], check=True, stdin=subprocess.DEVNULL)
            return library
        except FileNotFoundError:
            continue
    sys.exit("allocations: there is no C compiler; install gcc")


class Subject:
    """A device that saves, reads and fetches, with the calls that are counted."""

    def __init__(self, protocol, ready, token):
        self.protocol, self.ready, self.token = protocol, ready, token
        self.client = self.connect()
        self.zone = protocol.ZoneID(name="counted")
        self.client.call(
            protocol.METHOD_ZONES_MODIFY,
            protocol.ModifyZonesRequest(database=protocol.DATABASE_SCOPE_PRIVATE, saves=[self.zone]),
            protocol.ModifyZonesResponse)
        self.client.call(
            protocol.METHOD_SUBSCRIPTIONS_MODIFY,
            protocol.ModifySubscriptionsRequest(
                database=protocol.DATABASE_SCOPE_PRIVATE,
                saves=[protocol.Subscription(id="all", database=protocol.DatabaseSubscription())]),
            protocol.ModifySubscriptionsResponse)

    def connect(self):
        return Client(
            self.protocol, self.ready["server"], self.ready["ca"], "iCloud.com.example.counted", os.urandom(16),
            self.token)

    def save(self, numbers):
        p = self.protocol
        saves = [
            p.RecordSave(
                name=f"record-{number:06}", type="Counted",
                fields=[p.Field(key="value", value=p.Value(bytes_value=os.urandom(1024)))])
            for number in numbers]
        answer = self.client.call(
            p.METHOD_RECORDS_MODIFY,
            p.ModifyRecordsRequest(
                database=p.DATABASE_SCOPE_PRIVATE, save_policy=p.SAVE_POLICY_ALL_KEYS, operation_id=os.urandom(16),
                zones=[p.ZoneModification(zone=self.zone, saves=saves)]),
            p.ModifyRecordsResponse)
        assert all(result.WhichOneof("outcome") == "record" for result in answer.zones[0].saves)

    def read(self, number):
        p = self.protocol
        answer = self.client.call(
            p.METHOD_RECORDS_FETCH,
            p.FetchRecordsRequest(
                database=p.DATABASE_SCOPE_PRIVATE,
                zones=[p.ZoneFetch(zone=self.zone, names=[f"record-{number:06}"])]),
            p.FetchRecordsResponse)
        assert answer.zones[0].records[0].WhichOneof("outcome") == "record"

    def page(self):
        p = self.protocol
        answer = self.client.call(
            p.METHOD_RECORDS_CHANGES,
            p.ZoneChangesRequest(database=p.DATABASE_SCOPE_PRIVATE, zone=self.zone, results_limit=BATCH),
            p.ZoneChangesResponse)
        assert len(answer.records) == BATCH

    def listen(self):
        client = self.connect()
        stream = client.open_notifications()
        assert stream.next_event().WhichOneof("kind") == "ready"
        return client, stream


def measure(subject, count):
    """Allocations of each operation: `count` reads the counter."""

    def least(times, operation):
        found = []
        for _ in range(ROUNDS):
            before = count()
            for number in range(times):
                operation(number)
            found.append((count() - before) / times)
        return min(found)

    # Twice what is measured, so that what grows has grown.
    for _ in range(2):
        subject.save(range(BATCH))
        subject.save(range(BATCH, 2 * BATCH))
        subject.page()
        subject.read(1)
    single = least(SAVES, lambda number: subject.save([number]))
    figures = {
        "save": single,
        "recordOfBatch": least(3, lambda _: subject.save(range(BATCH))) / BATCH,
        "read": least(READS, subject.read),
        "page": least(5, lambda _: subject.page()),
    }
    held = [subject.listen() for _ in range(DEVICES)]

    def publish(number):
        subject.save([number])
        for _, stream in held:
            assert stream.next_event().WhichOneof("kind") == "database_changed"

    figures["push"] = (least(PUBLICATIONS, publish) - single) / DEVICES
    return figures


def main():
    brume = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, ".build", "release", "brume")
    with tempfile.TemporaryDirectory() as folder:
        protocol = Protocol(os.path.join(ROOT, "proto"), folder)
        ready_path, count_path = os.path.join(folder, "ready.json"), os.path.join(folder, "count")
        open(count_path, "wb").close()
        environment = dict(os.environ, LD_PRELOAD=counter_library(folder), ALLOCATIONS_FILE=count_path)
        server = subprocess.Popen(
            [brume, "dev", "--accounts", "a", "--ready-file", ready_path, "--data", os.path.join(folder, "data"),
             "--with-parent"],
            stdout=subprocess.DEVNULL, stdin=subprocess.PIPE, env=environment)
        try:
            deadline = time.monotonic() + 60
            while not os.path.exists(ready_path):
                if server.poll() is not None or time.monotonic() > deadline:
                    sys.exit("allocations: the server did not become ready")
                time.sleep(0.01)
            with open(ready_path) as file:
                ready = json.load(file)

            def count():
                with open(count_path, "rb") as file:
                    return struct.unpack("Q", file.read(8))[0]

            figures = measure(Subject(protocol, ready, ready["accounts"]["a"]["token"]), count)
            if count() == 0:
                sys.exit("allocations: the counter was not loaded")
            print(json.dumps({name: round(value, 2) for name, value in figures.items()}))
        finally:
            server.terminate()
            server.wait(timeout=30)


if __name__ == "__main__":
    main()
