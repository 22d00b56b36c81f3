#!/usr/bin/env python3
"""What clients that want too much cost a server: its memory and descriptors, and what another account notices meanwhile.

    Benchmarks/isolation/memory.py .build/release/brume [ATTACK...]

Starts `brume dev` with two loops on 127.0.0.1 for each attack, and prints one line for it. Needs Python alone.
"""

import contextlib
import json
import os
import resource
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

HELLO, WELCOME, CALL, MESSAGE, STATUS, CANCEL = 1, 2, 3, 4, 5, 6
ZONES_LIST, RECORDS_MODIFY, RECORDS_FETCH, NOTIFICATIONS_OPEN = 18, 32, 33, 80
PUBLIC, PRIVATE = 1, 2
ACCOUNTS = [f"a{number}" for number in range(8)] + ["witness"]


def varint(value):
    data = b""
    while value > 0x7F:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def frame(kind, stream=0, payload=b"", last=False):
    return struct.pack(">IBBI", len(payload), kind, 1 if last else 0, stream) + payload


class Server:
    def __init__(self, executable, soft_limit=None):
        self.folder = tempfile.TemporaryDirectory(prefix="brume-attacks")
        ready = os.path.join(self.folder.name, "ready.json")

        def limit():
            if soft_limit:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft_limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

        self.process = subprocess.Popen(
            [executable, "dev", "--accounts", ",".join(ACCOUNTS), "--loops", "2", "--ready-file", ready, "--log-level", "error"],
            stdout=subprocess.DEVNULL, preexec_fn=limit)
        while not os.path.exists(ready):
            time.sleep(0.05)
        with open(ready) as file:
            self.ready = json.load(file)
        self.port = int(self.ready["server"].rsplit(":", 1)[1])
        self.context = ssl.create_default_context(cafile=self.ready["ca"])
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.set_alpn_protocols(["brume/1"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def resident(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def plain(self, receive_buffer=None):
        # One that is not accepted waits in the kernel.
        plain = socket.socket()
        if receive_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plain.settimeout(5)
        plain.connect(("127.0.0.1", self.port))
        return plain

    def connect(self, account, device=0, receive_buffer=None):
        """A connection that was welcomed; raises OSError where it was not."""
        secure = self.context.wrap_socket(self.plain(receive_buffer), server_hostname="127.0.0.1")
        hello = number(1, 1) + data(2, "attack") + data(3, struct.pack(">QQ", 1, device)) + data(4, "iCloud.brume") + number(5, 1)
        if account:
            hello += data(6, self.ready["accounts"][account]["token"])
        secure.sendall(frame(HELLO, payload=hello))
        kind, _ = read_frame(secure)
        if kind != WELCOME:
            raise ConnectionError("not welcomed")
        return secure

    def client_hello(self):
        """The first bytes of a TLS handshake, which the server answers at its full cost."""
        outgoing = ssl.MemoryBIO()
        side = self.context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1")
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
        return outgoing.read()


def read_exactly(secure, count):
    received = b""
    while len(received) < count:
        part = secure.recv(count - len(received))
        if not part:
            raise ConnectionError("closed")
        received += part
    return received


def read_frame(secure):
    length, kind, _, stream = struct.unpack(">IBBI", read_exactly(secure, 10))
    payload = read_exactly(secure, length)
    return kind, payload


def call(stream, method, request):
    return frame(CALL, stream, number(1, method)) + frame(MESSAGE, stream, request, last=True)


class Witness:
    """Another account's client: asks again and again, and notes how long it waits."""

    def __init__(self, server):
        self.waits, self.failures = [], 0
        self.server, self.ends = server, False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        secure = self.server.connect("witness", 77)
        stream = 0
        while not self.ends:
            stream += 1
            began = time.monotonic()
            secure.sendall(call(stream, ZONES_LIST, number(1, PRIVATE)))
            if read_frame(secure)[0] != MESSAGE:
                self.failures += 1
            self.waits.append(time.monotonic() - began)
            time.sleep(0.002)

    def end(self):
        self.ends = True
        self.thread.join()
        waits = sorted(self.waits)
        return f"p50 {waits[len(waits) // 2] * 1e3:.1f} ms, max {waits[-1] * 1e3:.0f} ms"


def can_connect(server):
    try:
        server.connect("witness", 99).close()
        return "yes"
    except OSError:
        return "no"


def connections(executable):
    """One account opens connections until one fails; the server was started with a soft limit of 1,024 files."""
    with Server(executable, soft_limit=1024) as server:
        before, held = server.resident(), []
        with contextlib.suppress(OSError):
            while len(held) < 1100:
                held.append(server.connect("a0", len(held)))
        return f"{len(held)} held, {server.descriptors()} descriptors, {grown(server, before)}, another gets in: {can_connect(server)}"


def silence(executable):
    """2,000 connections that say nothing, from one address, with a soft limit of 1,024 files; others come from another."""
    with Server(executable, soft_limit=1024) as server:
        before, held = server.resident(), []
        for _ in range(2000):
            plain = socket.socket()
            plain.bind(("127.0.0.2", 0))
            plain.settimeout(2)
            try:
                plain.connect(("127.0.0.1", server.port))
                held.append(plain)
            except OSError:
                break
        time.sleep(0.5)
        return f"{len(held)} tried, {server.descriptors()} descriptors, {grown(server, before)}, another gets in: {can_connect(server)}"


def handshakes(executable):
    """Bursts of 200 handshakes that begin at once and never end."""
    with Server(executable) as server:
        before, begin = server.resident(), server.client_hello()
        witness = Witness(server)
        time.sleep(0.5)
        for _ in range(10):
            sockets = []
            for _ in range(200):
                plain = socket.socket()
                plain.bind(("127.0.0.2", 0))
                plain.settimeout(5)
                plain.connect(("127.0.0.1", server.port))
                sockets.append(plain)
            for plain in sockets:
                with contextlib.suppress(OSError):
                    plain.sendall(begin)
            time.sleep(0.3)
            for plain in sockets:
                plain.close()
        return f"{grown(server, before)}, another waits {witness.end()}"


def unread(executable):
    """200 connections of 8 accounts ask for 3.6 MB of the public database 60 times each, and read nothing."""
    with Server(executable) as server:
        author = server.connect("witness", 1)
        for index in range(4):
            value = data(1, b"a" * 900_000)
            save = data(1, f"large{index}") + data(2, "Note") + data(15, data(1, "text") + data(2, value))
            zone = data(1, data(1, "_defaultZone")) + data(2, save)
            author.sendall(call(index + 1, RECORDS_MODIFY, number(1, PUBLIC) + data(5, zone)))
            assert read_frame(author)[0] == MESSAGE
        names = b"".join(data(2, f"large{index}") for index in range(4))
        request = number(1, PUBLIC) + data(2, data(1, data(1, "_defaultZone")) + names)
        before, held, peak = server.resident(), [], 0
        for index in range(200):
            held.append(server.connect(ACCOUNTS[index % 8], index, receive_buffer=8192))
        for secure in held:
            secure.setblocking(False)
            with contextlib.suppress(OSError):
                secure.send(b"".join(call(stream, RECORDS_FETCH, request) for stream in range(1, 61)))
        for _ in range(40):
            time.sleep(0.1)
            peak = max(peak, server.resident())
        return f"{(peak - before) / 2**20:.0f} MiB more at most, another gets in: {can_connect(server)}"


def unfinished(executable):
    """60 connections without an account send all but the last byte of the largest frame that they may."""
    with Server(executable) as server:
        before, held = server.resident(), []
        for index in range(60):
            secure = server.connect(None, index)
            held.append(secure)
            secure.sendall(frame(CALL, 1, number(1, RECORDS_FETCH)))
            count = 4 * 1024 * 1024 - 1
            secure.settimeout(2)
            with contextlib.suppress(OSError):
                secure.sendall(struct.pack(">IBBI", count + 1, MESSAGE, 1, 1) + b"a" * count)
        time.sleep(0.5)
        return f"{grown(server, before)}, another gets in: {can_connect(server)}"


def streams(executable):
    """One connection opens and cancels 100,000 notification streams."""
    with Server(executable) as server:
        before, peak = server.resident(), 0
        secure = server.connect("a0", 1)
        witness = Witness(server)
        for first in range(1, 100_001, 100):
            secure.sendall(
                b"".join(
                    frame(CALL, stream, number(1, NOTIFICATIONS_OPEN)) + frame(MESSAGE, stream) + frame(CANCEL, stream)
                    for stream in range(first, first + 100)))
            if first % 1000 == 1:
                peak = max(peak, server.resident())
        peak = max(peak, server.resident())
        return f"{(peak - before) / 2**20:.0f} MiB more at most, another waits {witness.end()}"


def grown(server, before):
    return f"{(server.resident() - before) / 2**20:.0f} MiB more"


ATTACKS = [connections, silence, handshakes, unread, unfinished, streams]


def main():
    executable, *names = sys.argv[1:]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    for attack in ATTACKS:
        if not names or attack.__name__ in names:
            print(f"{attack.__name__}: {attack(executable)}", flush=True)


main()
