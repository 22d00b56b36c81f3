#!/usr/bin/env python3
"""Kills a server with -9 in the midst of uploads and downloads, again and again, and checks that each of them goes on.

    Scripts/kill-transfers.py BRUME [--rounds N] [--transfers N] [--seed N] [--folder DIR]

BRUME is the executable. In each round (50) some clients (20) upload or download assets, each on a connection of its
own; at a random moment the server is killed and started again, sometimes twice. Clients keep the ids of their uploads,
and how much of a download they have, and go on with that until they are done. The data folder is the same in all
rounds. Checked are:

- an upload goes on no earlier than 32 MiB before what the server granted credit for, that is, wrote to its disk;
- a receipt that was given before a kill is good after it;
- every download has the bytes that were uploaded, those from before the kill included;
- at the end, all records that were saved name the assets that were uploaded, and each is downloaded once more;
- `brume verify` finds the folder sound, and no content is stored that no record names, but for those that the script
  left: one in each round is uploaded and not named. Others are counted: a kill after an upload became a content, and
  before its client learned of it, may leave one, which the server removes later.

Prints a line for each round and a summary. Exit code 1: something was lost, or was not as it should be. Needs protoc
and python3-protobuf, like the tests of the Python client.
"""

import argparse
import glob
import hashlib
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "Tests", "Python"))
from brume_client import CONTENT_BYTES, LAST, BrumeError, Client, Protocol, Stream  # noqa: E402

CONTAINER = "iCloud.com.example.kill"
ZONE = "Files"
MIB = 1024 * 1024
CHECKPOINT = 32 * MIB  # what of an upload may have to be sent again
TRY_AGAIN = (4, 6, 7, 23)  # networkFailure, serviceUnavailable, requestRateLimited, zoneBusy
STUCK_SECONDS = 180
p = None


class Failure(Exception):
    """The server did not keep what it promised."""


class Content:
    """Bytes that no other content has, made from a few."""

    pool = None
    _count = 0

    def __init__(self, size):
        Content._count += 1
        self.size = size
        self.head = struct.pack(">QQ", Content._count, size)[:size]
        digest = hashlib.sha256()
        for start in range(0, size, MIB):
            digest.update(self.part(start, min(start + MIB, size)))
        self.checksum = digest.digest()

    def part(self, start, end):
        if start < len(self.head):
            return self.head[start:end] + self.part(len(self.head), max(end, len(self.head)))
        at = start % (len(Content.pool) - MIB)
        return Content.pool[at:at + end - start]


class Server:
    """`brume serve` on one data folder and one port, started as often as it is killed."""

    def __init__(self, brume, folder):
        self.brume, self.folder = brume, folder
        self.data = os.path.join(folder, "data")
        self.log = os.path.join(folder, "server.log")
        certificates = os.path.join(folder, "certs")
        self.run("certs", "--folder", certificates, "--name", "localhost")
        self.ca = os.path.join(certificates, "ca.pem")
        self.certificate = [
            "--certificate", os.path.join(certificates, "server.pem"),
            "--key", os.path.join(certificates, "server.key"), "--ca", self.ca]
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.token = json.loads(self.run("account", "add", "ada", "--data", self.data, "--json"))["token"]
        self.process = None
        self.is_up = threading.Event()

    def run(self, *arguments):
        return subprocess.run(
            [self.brume, *arguments], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout

    def start(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [self.brume, "serve", "--data", self.data, "--listen", f"127.0.0.1:{self.port}", *self.certificate,
                 "--asset-limit", "1GiB", "--quota", "100GiB", "--log-level", "warning"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise Failure(f"the server does not start: {self.tail()}") from None
                time.sleep(0.01)
        self.is_up.set()

    def kill(self):
        self.is_up.clear()
        if self.process.poll() is not None:
            raise Failure(f"the server ended by itself with {self.process.returncode}: {self.tail()}")
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(60) != 0:
            raise Failure(f"the server ended with {self.process.returncode}: {self.tail()}")

    def tail(self):
        with open(self.log, errors="replace") as log:
            return log.read()[-2000:]

    def connect(self):
        return Client(
            p, f"localhost:{self.port}", self.ca, CONTAINER, os.urandom(16), self.token, timeout_seconds=STUCK_SECONDS)


class Transfer(threading.Thread):
    """One transfer, until it is done, whatever happens to the server meanwhile."""

    def __init__(self, server, content):
        super().__init__(daemon=True)
        self.server, self.content = server, content
        self.moved = 0  # bytes of the content that went or came, and need not again
        self.breaks = 0  # how often it broke in the midst
        self.is_under_way = False
        self.went_on_from = []
        self.problem = None
        self.is_done = False

    def run(self):
        end = time.monotonic() + STUCK_SECONDS
        try:
            while not self.is_done:
                if time.monotonic() > end:
                    raise Failure("it is stuck")
                self.server.is_up.wait(1)
                try:
                    with self.server.connect() as client:
                        self.is_under_way = True
                        self.go_on(client)
                        self.is_done = True
                except BrumeError as error:
                    if error.code not in TRY_AGAIN:
                        raise
                    time.sleep(max(error.retry_after_milliseconds, 50) / 1000)
                except OSError:
                    self.breaks += self.is_under_way
                    time.sleep(0.05)
                finally:
                    self.is_under_way = False
        except Exception as error:  # pylint: disable=broad-except
            self.problem = error

    def expect(self, condition, problem):
        if not condition:
            raise Failure(problem)


class Upload(Transfer):
    """An upload under one id; then, unless it is to have no name, the save of a record that names it."""

    def __init__(self, server, content, name):
        super().__init__(server, content)
        self.record_name = name
        self.upload_id, self.operation_id = os.urandom(16), os.urandom(16)
        self.written = 0  # bytes that the server has granted credit for
        self.asset = None

    def go_on(self, client):
        if self.asset is None:
            self.asset = self.upload(client)
            self.expect(
                (self.asset.checksum, self.asset.byte_count) == (self.content.checksum, self.content.size),
                "the asset is another content's")
        if self.record_name is not None:
            self.save(client)

    def upload(self, client):
        begin = p.UploadMessage(begin=p.UploadBegin(
            database=p.DATABASE_SCOPE_PRIVATE, zone=p.ZoneID(name=ZONE), upload_id=self.upload_id,
            byte_count=self.content.size))
        with Stream(client, p.METHOD_ASSETS_UPLOAD, begin, p.UploadEvent) as stream:
            event = stream.next_message()
            if event.WhichOneof("kind") == "offset":
                offset = event.offset
                self.expect(
                    max(self.written - CHECKPOINT, 0) <= offset <= self.content.size,
                    f"it goes on at byte {offset}, and {self.written} were written")
                if self.breaks:
                    self.went_on_from.append(offset)
                sent = 0
                for start in range(offset, self.content.size, CONTENT_BYTES):
                    end = min(start + CONTENT_BYTES, self.content.size)
                    stream.send(p.UploadMessage(content=self.content.part(start, end)))
                    self.moved = end
                    sent += 1
                    # All messages but the last of a content are of one size, and the first was the beginning.
                    granted = sent + 1 - (client.welcome.limits.stream_credit - client._credit[stream._stream][0])
                    self.written = max(self.written, offset + max(granted - 1, 0) * CONTENT_BYTES)
                stream.send(p.UploadMessage(end=p.UploadEnd(checksum=self.content.checksum)), LAST)
                event = stream.next_message()
            elif self.breaks:
                self.went_on_from.append(self.content.size)
            is_over = event.WhichOneof("kind") == "asset" and not list(stream.messages())
            self.expect(is_over, "it has no asset at its end")
            self.moved = self.content.size
            return event.asset

    def save(self, client):
        record = p.RecordSave(
            name=self.record_name, type="File", fields=[p.Field(key="file", value=p.Value(asset_value=self.asset))])
        request = p.ModifyRecordsRequest(
            database=p.DATABASE_SCOPE_PRIVATE, operation_id=self.operation_id,
            zones=[p.ZoneModification(zone=p.ZoneID(name=ZONE), saves=[record])])
        result = client.call(p.METHOD_RECORDS_MODIFY, request, p.ModifyRecordsResponse).zones[0].saves[0]
        self.expect(result.WhichOneof("outcome") == "record", f"its record is not saved: {result}")


class Download(Transfer):
    """The download of what a record names."""

    def __init__(self, server, content, name):
        super().__init__(server, content)
        self.record_name = name

    def go_on(self, client):
        if self.breaks:
            self.went_on_from.append(self.moved)
        request = p.DownloadRequest(
            database=p.DATABASE_SCOPE_PRIVATE, zone=p.ZoneID(name=ZONE), record_name=self.record_name, field="file",
            checksum=self.content.checksum, offset=self.moved)
        with Stream(client, p.METHOD_ASSETS_DOWNLOAD, request, p.DownloadEvent, LAST) as stream:
            self.expect(stream.next_message().byte_count == self.content.size, "it has another size")
            for event in stream.messages():
                end = self.moved + len(event.content)
                self.expect(
                    end <= self.content.size and event.content == self.content.part(self.moved, end),
                    f"bytes {self.moved} to {end} are not those that were uploaded")
                self.moved = end
        self.expect(self.moved == self.content.size, f"it ends after {self.moved} of {self.content.size} bytes")


def some_size(chance):
    """Small files, some of a few MiB, and every third one with at least one checkpoint."""
    kind = chance.random()
    if kind < 0.33:
        return chance.randrange(34 * MIB, 72 * MIB)
    return chance.randrange(MIB, 20 * MIB) if kind < 0.7 else chance.randrange(1, MIB)


def run_round(number, server, chance, named, count):
    """A round: adds to `named` what it saved; the bytes that were sent and not sent again, and a line about it."""
    uploads = [Upload(server, Content(some_size(chance)), f"r{number}-{i}") for i in range(count // 2)]
    uploads.append(Upload(server, Content(some_size(chance)), None))
    downloads = [
        Download(server, content, name) for name, content in
        (chance.choice(list(named.items())) for _ in range(count - len(uploads)))]
    transfers = uploads + downloads
    total = sum(transfer.content.size for transfer in transfers)
    # Most kills come early, while all of them are under way.
    kills = sorted([chance.uniform(0.01, 0.5), *([chance.uniform(0.5, 0.95)] if chance.random() < 0.3 else [])])
    begun, under_way = time.monotonic(), []
    for transfer in transfers:
        transfer.start()
    for part in kills:
        # Also when nothing goes on any more, which the end of the round reports.
        end = time.monotonic() + STUCK_SECONDS
        while sum(transfer.moved for transfer in transfers) < part * total and time.monotonic() < end:
            time.sleep(0.002)
        under_way.append(sum(transfer.is_under_way for transfer in transfers))
        server.kill()
        server.start()
    for transfer in transfers:
        transfer.join()
    problems = [
        f"round {number}, {type(transfer).__name__} of {transfer.content.size} bytes: {transfer.problem!r}"
        for transfer in transfers if transfer.problem is not None]
    if problems:
        raise Failure("\n".join(problems))
    named.update((upload.record_name, upload.content) for upload in uploads if upload.record_name is not None)
    breaks = sum(transfer.breaks for transfer in transfers)
    went_on = [offset for transfer in transfers for offset in transfer.went_on_from if offset > 0]
    print(
        f"round {number}: {len(transfers)} transfers, {total / MIB:.0f} MiB; killed at "
        + " and ".join(f"{part:.0%} with {open_ones} under way" for part, open_ones in zip(kills, under_way))
        + f"; {breaks} broke, {len(went_on)} of them went on in the midst and spared {sum(went_on) / MIB:.0f} MiB; "
        f"all complete after {time.monotonic() - begun:.1f} s", flush=True)
    return breaks, len(went_on)


def check_all(server, named):
    """Fetches all records, and downloads what they name."""
    names = sorted(named)
    with server.connect() as client:
        for start in range(0, len(names), 200):
            some = names[start:start + 200]
            request = p.FetchRecordsRequest(
                database=p.DATABASE_SCOPE_PRIVATE,
                zones=[p.ZoneFetch(zone=p.ZoneID(name=ZONE), names=some)])
            results = client.call(p.METHOD_RECORDS_FETCH, request, p.FetchRecordsResponse).zones[0].records
            for name, result in zip(some, results, strict=True):
                if result.WhichOneof("outcome") != "record":
                    raise Failure(f"record {name} is lost: {result}")
                asset = result.record.fields[0].value.asset_value
                if (asset.checksum, asset.byte_count) != (named[name].checksum, named[name].size):
                    raise Failure(f"record {name} names another asset")
    for start in range(0, len(names), 8):
        downloads = [Download(server, named[name], name) for name in names[start:start + 8]]
        for download in downloads:
            download.start()
        for download in downloads:
            download.join()
            if download.problem is not None:
                raise Failure(f"record {download.record_name}: {download.problem!r}")


def run(server, rounds, count, seed):
    chance = random.Random(seed)
    Content.pool = chance.randbytes(8 * MIB)
    Content.pool += Content.pool[:MIB]
    server.start()
    named, left = {}, 0
    with server.connect() as client:
        client.call(
            p.METHOD_ZONES_MODIFY,
            p.ModifyZonesRequest(
                database=p.DATABASE_SCOPE_PRIVATE, saves=[p.ZoneID(name=ZONE)], operation_id=os.urandom(16)),
            p.ModifyZonesResponse)
        for size in (1, 65536, 5 * MIB + 7, 40 * MIB, 70 * MIB):
            upload = Upload(server, Content(size), f"seed-{size}")
            upload.go_on(client)
            named[upload.record_name] = upload.content
    broken = went_on = 0
    for number in range(1, rounds + 1):
        of_round = run_round(number, server, chance, named, count)
        broken, went_on, left = broken + of_round[0], went_on + of_round[1], left + 1
    check_all(server, named)
    server.stop()
    files = [
        path for path in glob.glob(os.path.join(server.data, "assets", "**"), recursive=True)
        if os.path.isfile(path) and len(os.path.basename(path).split(".")[0]) == 64]
    unnamed = len(files) - len(named)
    verified = subprocess.run(
        [server.brume, "verify", server.data], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    print(f"brume verify: {' / '.join(verified.stdout.split(chr(10))).strip(' /')}")
    if verified.returncode != 0:
        raise Failure(f"brume verify ends with {verified.returncode}")
    surplus = unnamed - left
    print(
        f"{rounds} rounds: {broken} transfers broke, {went_on} of them went on in the midst, all were completed; "
        f"{len(named)} records name what was uploaded, byte for byte; {unnamed} contents have no record: {left} were "
        f"left on purpose, {surplus} were left by kills; seed {seed}")
    if surplus < 0:
        raise Failure("contents are missing that were uploaded")


def main():
    global p
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("brume")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--transfers", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--folder", help="where the data goes, and stays; otherwise it is removed at the end")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        p = Protocol(os.path.join(ROOT, "proto"), temporary)
        folder = options.folder or os.path.join(temporary, "server")
        os.makedirs(folder, exist_ok=True)
        server = Server(os.path.abspath(options.brume), folder)
        try:
            run(server, options.rounds, options.transfers, options.seed)
        except Failure as failure:
            sys.exit(f"{failure}\nseed {options.seed}")
        finally:
            if server.process is not None and server.process.poll() is None:
                server.process.kill()
                server.process.wait()


if __name__ == "__main__":
    main()
