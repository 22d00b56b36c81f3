#!/usr/bin/env python3
"""How long a small save waits on a slow line for the downloads on its own connection.

    Benchmarks/isolation/slow_line.py BRUME [--rate 20mbit] [--downloads 8] [--saves 40]

BRUME is the executable (a release build). Needs root, `unshare`, `ip` and `tc`: the server and one client run in a
network of their own, whose only line has the rate in both directions together, and a queue of 40 ms as a home router
might have, which requests stand in as answers do. The client uploads a file, then downloads it several times at once
and saves one record after the other meanwhile. For no download and for all of them: the 50th percentile and the longest
of the saves in milliseconds, and how much of the line the downloads used. Needs protoc and python3-protobuf, like the
tests of the Python client.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "Tests", "Python"))
from brume_client import LAST, BrumeError, Client, Protocol, Stream  # noqa: E402

CONTAINER = "iCloud.com.example.isolation"
FILE_BYTES = 240_000_000
IN_NETWORK = "--in-network"


def save(client, p, **values):
    fields = [p.Field(key=key, value=value) for key, value in sorted(values.items())]
    zone = p.ZoneModification(
        zone=p.ZoneID(name="_defaultZone"), saves=[p.RecordSave(name="mine", type="Victim", fields=fields)])
    request = p.ModifyRecordsRequest(
        database=2, save_policy=2, not_atomic=True, operation_id=os.urandom(16), zones=[zone])
    return client.call(p.METHOD_RECORDS_MODIFY, request, p.ModifyRecordsResponse)


class Download(Stream):
    """A download whose messages are taken as they come, between the client's other calls."""

    def __init__(self, client, p, checksum):
        request = p.DownloadRequest(
            database=2, zone=p.ZoneID(name="_defaultZone"), record_name="mine", field="file", checksum=checksum)
        super().__init__(client, p.METHOD_ASSETS_DOWNLOAD, request, p.DownloadEvent, LAST)
        self.byte_count = 0

    def take(self):
        while self._client._streams[self._stream]:
            self.byte_count += len(self.next_message().content)


class SlowClient(Client):
    """Takes what came of its downloads after each frame, so that their credit goes on."""

    downloads = ()

    def _dispatch(self):
        super()._dispatch()
        for download in self.downloads:
            download.take()


def timed(client, p, count):
    waits = []
    for number in range(count):
        began = time.monotonic()
        save(client, p, n=p.Value(int64_value=number), file=client.asset)
        waits.append((time.monotonic() - began) * 1_000)
    return sorted(waits)


def measure(p, ready, rate, downloads, saves):
    token = ready["accounts"]["ada"]["token"]
    client = SlowClient(p, ready["server"], ready["ca"], CONTAINER, os.urandom(16), token, timeout_seconds=300)
    asset = client.upload(2, p.ZoneID(name="_defaultZone"), bytes(FILE_BYTES))
    client.asset = p.Value(asset_value=asset)
    save(client, p, file=client.asset)
    subprocess.run(
        ["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", rate, "burst", "15k", "latency", "40ms"],
        check=True)
    for count in (0, downloads):
        client.downloads = [Download(client, p, asset.checksum) for _ in range(count)]
        # The line is full, and TCP knows its rate.
        end = time.monotonic() + (3 if count else 0)
        while time.monotonic() < end:
            client._dispatch()
        before, began = sum(each.byte_count for each in client.downloads), time.monotonic()
        waits = timed(client, p, saves)
        seconds = time.monotonic() - began
        moved = sum(each.byte_count for each in client.downloads) - before
        print(
            f"{count:2} downloads on {rate}: {len(waits)} saves  p50 {waits[len(waits) // 2]:7.1f}"
            f"  longest {waits[-1]:7.1f} ms  downloads {moved * 8 / seconds / 1e6:6.1f} Mbit/s", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("brume")
    arguments.add_argument("--rate", default="20mbit", help="of the line, as tc(8) has it")
    arguments.add_argument("--downloads", type=int, default=8)
    arguments.add_argument("--saves", type=int, default=40)
    arguments.add_argument(IN_NETWORK, action="store_true", help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if not chosen.in_network:
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv, IN_NETWORK])
    subprocess.run(["ip", "link", "set", "lo", "mtu", "1500", "up"], check=True)
    with tempfile.TemporaryDirectory(prefix="brume-slow-line-") as folder:
        p = Protocol(os.path.join(ROOT, "proto"), folder)
        ready_file, log = os.path.join(folder, "ready.json"), os.path.join(folder, "log")
        server = subprocess.Popen(
            [
                chosen.brume, "dev", "--accounts", "ada", "--loops", "1", "--ready-file", ready_file,
                "--data", os.path.join(folder, "data")],
            stdout=subprocess.DEVNULL, stderr=open(log, "w"), stdin=subprocess.DEVNULL)
        try:
            while not os.path.exists(ready_file):
                if server.poll() is not None:
                    sys.exit(f"the server did not start: {open(log).read()}")
                time.sleep(0.02)
            measure(p, json.load(open(ready_file)), chosen.rate, chosen.downloads, chosen.saves)
        except BrumeError as error:
            # A download that has all of its file ends with code 0.
            ended = "a download ended before the saves: take a slower line, or fewer saves"
            sys.exit(ended if error.code == 0 else str(error))
        finally:
            server.terminate()
            server.wait(60)


if __name__ == "__main__":
    main()
