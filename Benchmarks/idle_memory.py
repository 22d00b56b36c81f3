#!/usr/bin/python3
"""Resident memory of a server per idle connection that holds a subscription and a notification stream.

    Benchmarks/idle_memory.py [CONNECTIONS] [BRUME]

CONNECTIONS is 1000 by default, BRUME the release build's executable. Uses the Python client of Tests/Python, so that the
server is measured alone: its process holds nothing of a client's.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "Tests", "Python"))
from brume_client import Client, Protocol  # noqa: E402

ACCOUNTS = 10


def resident_kilobytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    brume = sys.argv[2] if len(sys.argv) > 2 else os.path.join(ROOT, ".build", "release", "brume")
    with tempfile.TemporaryDirectory() as folder:
        protocol = Protocol(os.path.join(ROOT, "proto"), folder)
        ready_path = os.path.join(folder, "ready.json")
        names = ",".join(f"account{number}" for number in range(ACCOUNTS))
        server = subprocess.Popen(
            [brume, "dev", "--accounts", names, "--ready-file", ready_path, "--data", os.path.join(folder, "data")],
            stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 30
            while not os.path.exists(ready_path):
                if server.poll() is not None or time.monotonic() > deadline:
                    sys.exit("the server did not become ready")
                time.sleep(0.01)
            with open(ready_path) as file:
                ready = json.load(file)
            tokens = [account["token"] for account in ready["accounts"].values()]

            def connect(number):
                client = Client(
                    protocol, ready["server"], ready["ca"], "iCloud.com.example.idle", os.urandom(16),
                    tokens[number % len(tokens)])
                if number < len(tokens):
                    client.call(
                        protocol.METHOD_SUBSCRIPTIONS_MODIFY,
                        protocol.ModifySubscriptionsRequest(
                            database=protocol.DATABASE_SCOPE_PRIVATE,
                            saves=[protocol.Subscription(id="all", database=protocol.DatabaseSubscription())]),
                        protocol.ModifySubscriptionsResponse)
                stream = client.open_notifications()
                assert stream.next_event().WhichOneof("kind") == "ready"
                return client, stream

            # The first connections load databases and fill pools: they are not what one more connection costs.
            warm = [connect(number) for number in range(2 * ACCOUNTS)]
            before = resident_kilobytes(server.pid)
            held = [connect(number) for number in range(count)]
            after = resident_kilobytes(server.pid)
            print(
                f"{count} idle subscribed connections: {(after - before) / count:.1f} KB each"
                f" (resident {before} KB before, {after} KB after)")
            del warm, held
        finally:
            server.terminate()
            server.wait(timeout=30)


if __name__ == "__main__":
    main()
