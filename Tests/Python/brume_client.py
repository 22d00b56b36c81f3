"""A Brume client, written from proto/README.md and the .proto files alone.

It shares no code with the Swift side: it is the second implementation, which shows that the page says enough. Blocking
and single-threaded: whoever waits for a message reads frames and puts those for others aside.
"""

import collections
import glob
import hashlib
import importlib
import os
import socket
import ssl
import struct
import subprocess
import sys

PROTOCOL_VERSION = 1
FRAME_HEADER = struct.Struct(">IBBI")  # length of the payload, type, flags, stream
LAST = 1
HELLO, WELCOME, CALL, MESSAGE, STATUS, CANCEL, CREDIT, PING, PONG, GOAWAY = range(1, 11)
CONTENT_BYTES = 64 * 1024  # of an asset in one message


class BrumeError(Exception):
    """A call or the connection failed; `code` is a raw value of CKError.Code."""

    def __init__(self, status):
        super().__init__(f"{status.code}: {status.message}")
        self.code = status.code
        self.message = status.message
        self.retry_after_milliseconds = status.retry_after_milliseconds
        self.detail = status.detail


class ProtocolViolation(Exception):
    """The server did something that the page does not allow."""


class Protocol:
    """The message classes, generated from the .proto files by protoc into a folder of the caller's."""

    def __init__(self, proto_folder, output_folder):
        files = sorted(glob.glob(os.path.join(proto_folder, "brume/v1/*.proto")))
        names = [os.path.relpath(file, proto_folder) for file in files] + ["protobuf-c/protobuf-c.proto"]
        subprocess.run(
            ["protoc", "-I", proto_folder, "--python_out", output_folder, *names],
            check=True, stdin=subprocess.DEVNULL)
        sys.path.insert(0, output_folder)
        try:
            for file in files:
                name = os.path.basename(file)[: -len(".proto")]
                module = importlib.import_module(f"brume.v1.{name}_pb2")
                for symbol, value in vars(module).items():
                    if not symbol.startswith("_") and not symbol.endswith("_pb2"):
                        setattr(self, symbol, value)
        finally:
            sys.path.remove(output_folder)


class Client:
    """One connection. Raises BrumeError when the server refuses the hello."""

    def __init__(self, protocol, server, ca_file, container, device_id, account_token=None, timeout_seconds=20, admin_token=None):
        self.protocol = protocol
        self._streams = {}  # id -> deque of ("message", payload, is_last) and ("status", Status)
        self._credit = {}  # id -> [messages, bytes] that this side may still send on the stream
        self._last_stream = 0
        self._pongs = []
        self.goaway = None

        if server.startswith("/"):
            # The operator's socket: no TLS, no token.
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(timeout_seconds)
            self._socket.connect(server)
        else:
            self._socket = self._secure_socket(server, ca_file, timeout_seconds)
        self._incoming = self._socket.makefile("rb")

        hello = protocol.Hello(
            protocol_version=PROTOCOL_VERSION, client_version="Python 0.1", device_id=device_id, container=container,
            environment=protocol.ENVIRONMENT_DEVELOPMENT)
        if account_token is not None:
            hello.account_token = account_token
        if admin_token is not None:
            hello.admin_token = admin_token
        try:
            self._send(HELLO, payload=hello.SerializeToString())
            kind, _, stream, payload = self._read_frame()
            if kind != WELCOME or stream != 0:
                raise ProtocolViolation(f"frame of type {kind} on stream {stream} instead of a welcome")
        except Exception:
            self.close()
            raise
        self.welcome = protocol.Welcome.FromString(payload)

    @staticmethod
    def _secure_socket(server, ca_file, timeout_seconds):
        host, port = server.rsplit(":", 1)
        host = host.strip("[]")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(cafile=ca_file)
        context.set_alpn_protocols(["brume/1"])
        plain = socket.create_connection((host, int(port)), timeout=timeout_seconds)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        secure = context.wrap_socket(plain, server_hostname=host)
        if secure.selected_alpn_protocol() != "brume/1":
            secure.close()
            raise ProtocolViolation("the server did not choose ALPN brume/1")
        return secure

    def close(self):
        self._incoming.close()
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Calls

    def call(self, method, request, response_type):
        """A unary call: the response, or BrumeError."""
        stream = self._open(method)
        self._send(MESSAGE, stream, LAST, request.SerializeToString())
        try:
            payload, is_last = self._next_message(stream)
            if not is_last:
                raise ProtocolViolation("the answer of a unary call is not marked as the last message")
            return response_type.FromString(payload)
        finally:
            del self._streams[stream]

    def query(self, database, record_type, tree, sort=(), zone=None, limit=0, keys=None):
        """All pages of a query: yields each page's matches, and goes on from its cursor."""
        p = self.protocol
        request = p.QueryRequest(
            database=database, zone=zone, results_limit=limit,
            query=p.Query(record_type=record_type, predicate=predicate(p, tree), sort=sort))
        if keys is not None:
            request.desired_keys.CopyFrom(p.DesiredKeys(keys=keys))
        while True:
            page = self.call(p.METHOD_RECORDS_QUERY, request, p.QueryResponse)
            yield page.matches
            if not page.cursor:
                return
            request.cursor = page.cursor

    def share_metadata(self, url):
        """What the URL of a share leads to. The title that may stand behind its "#" is no business of the server's."""
        p = self.protocol
        request = p.ShareMetadataRequest(url=url.partition("#")[0])
        return self.call(p.METHOD_SHARES_METADATA, request, p.ShareMetadataResponse)

    def accept_share(self, url):
        """Takes part in a share: its zone, under its owner's name, is in the shared database then."""
        p = self.protocol
        request = p.AcceptShareRequest(url=url.partition("#")[0])
        return self.call(p.METHOD_SHARES_ACCEPT, request, p.AcceptShareResponse)

    def append_statement(self, statement, replaced_hash=b""):
        """Keeps the account's next statement, signed, or a first one in the place of all. Again, it has no more effect."""
        p = self.protocol
        request = p.AppendStatementRequest(statement=statement, replaced_hash=replaced_hash)
        self.call(p.METHOD_STATEMENTS_APPEND, request, p.AppendStatementResponse)

    def statements(self, after=0):
        """The account's statements behind a number, all pages; from the first on where they were replaced meanwhile."""
        p = self.protocol
        start, found, last = after, [], 0
        while True:
            page = self.call(
                p.METHOD_STATEMENTS_FETCH, p.FetchStatementsRequest(after=start + len(found)),
                p.FetchStatementsResponse)
            if page.last < last:
                start, found, last = 0, [], 0
                continue
            found += page.statements
            last = page.last
            if start + len(found) >= last or not page.statements:
                return found

    def upload(self, database, zone, content, upload_id=None):
        """Uploads the content of an asset for a zone: the asset, with the receipt by which records may name it.

        Under the id of an upload of the same content that broke off, it goes on where the server says.
        """
        p = self.protocol
        begin = p.UploadBegin(
            database=database, zone=zone, upload_id=upload_id or os.urandom(16), byte_count=len(content))
        with Stream(self, p.METHOD_ASSETS_UPLOAD, p.UploadMessage(begin=begin), p.UploadEvent) as stream:
            event = stream.next_message()
            if event.WhichOneof("kind") == "offset":
                for start in range(event.offset, len(content), CONTENT_BYTES):
                    stream.send(p.UploadMessage(content=content[start:start + CONTENT_BYTES]))
                end = p.UploadEnd(checksum=hashlib.sha256(content).digest())
                stream.send(p.UploadMessage(end=end), LAST)
                event = stream.next_message()
            if event.WhichOneof("kind") != "asset" or list(stream.messages()):
                raise ProtocolViolation("an upload does not end with its asset")
            return event.asset

    def download(self, database, zone, record_name, field, checksum, list_index=0, offset=0, byte_count=0):
        """The content of an asset that a record names; with an offset or a number of bytes, that part of it."""
        p = self.protocol
        request = p.DownloadRequest(
            database=database, zone=zone, record_name=record_name, field=field, list_index=list_index,
            checksum=checksum, offset=offset, byte_count=byte_count)
        with Stream(self, p.METHOD_ASSETS_DOWNLOAD, request, p.DownloadEvent, LAST) as stream:
            size = stream.next_message().byte_count
            content = b"".join(event.content for event in stream.messages())
        if len(content) != min(byte_count or size, size - offset):
            raise ProtocolViolation(f"a download of {len(content)} bytes, from byte {offset} of {size} on")
        if len(content) == size and hashlib.sha256(content).digest() != checksum:
            raise ProtocolViolation("the content is not the one of the asset's checksum")
        return content

    def ping(self, payload=b"12345678"):
        self._send(PING, payload=payload)
        while payload not in self._pongs:
            self._dispatch()
        self._pongs.remove(payload)

    def open_notifications(self, position=b""):
        return NotificationStream(self, position)

    def _open(self, method):
        self._last_stream += 1
        self._streams[self._last_stream] = collections.deque()
        self._send(CALL, self._last_stream, payload=self.protocol.Call(method=method).SerializeToString())
        return self._last_stream

    def _next_message(self, stream):
        while not self._streams[stream]:
            self._dispatch()
        kind, *content = self._streams[stream].popleft()
        if kind == "status":
            raise BrumeError(content[0])
        return content

    # Frames

    def _send(self, kind, stream=0, flags=0, payload=b""):
        self._socket.sendall(FRAME_HEADER.pack(len(payload), kind, flags, stream) + payload)

    def _read_exactly(self, count):
        data = self._incoming.read(count)
        if len(data) < count:
            raise ConnectionError("the server closed the connection")
        return data

    def _read_frame(self):
        """The next frame. A status on stream 0 ends the connection, at the hello and later."""
        length, kind, flags, stream = FRAME_HEADER.unpack(self._read_exactly(FRAME_HEADER.size))
        if flags & ~LAST:
            raise ProtocolViolation(f"unknown flags {flags}")
        payload = self._read_exactly(length)
        if kind == STATUS and stream == 0:
            raise BrumeError(self.protocol.Status.FromString(payload))
        return kind, flags, stream, payload

    def _dispatch(self):
        kind, flags, stream, payload = self._read_frame()
        if kind == MESSAGE:
            if stream in self._streams:  # else the call was cancelled: the message crossed the cancel
                self._streams[stream].append(("message", payload, bool(flags & LAST)))
        elif kind == STATUS:
            if stream in self._streams:
                self._streams[stream].append(("status", self.protocol.Status.FromString(payload)))
        elif kind == CREDIT:
            if stream in self._credit:
                messages, size = struct.unpack(">II", payload)
                self._credit[stream][0] += messages
                self._credit[stream][1] += size
        elif kind == PING:
            self._send(PONG, payload=payload)
        elif kind == PONG:
            self._pongs.append(payload)
        elif kind == GOAWAY:
            self.goaway = self.protocol.Goaway.FromString(payload)
        else:
            raise ProtocolViolation(f"unexpected frame of type {kind} on stream {stream}")


def predicate(p, tree):
    """A tree as its nodes in preorder. A term is a PredicateNode; ("and", a, b), ("or", a, b) and ("not", a) hold trees."""
    nodes, pending = [], [tree]
    while pending:
        next_one = pending.pop()
        if not isinstance(next_one, tuple):
            nodes.append(next_one)
            continue
        kind, *operands = next_one
        nodes.append(p.PredicateNode(**{kind: True if kind == "not" else len(operands)}))
        pending += reversed(operands)
    return p.Predicate(nodes=nodes)


class Stream:
    """A streaming call: messages both ways, each with credit. It is cancelled if it is left before its end."""

    def __init__(self, client, method, request, event_type, flags=0):
        self._client = client
        self._event_type = event_type
        self._stream = client._open(method)
        limits = client.welcome.limits
        client._credit[self._stream] = [limits.stream_credit, limits.stream_credit_bytes]
        self._taken = [0, 0]
        self.send(request, flags)

    def next_message(self):
        """The next message; BrumeError when the server ended the call."""
        payload, _ = self._client._next_message(self._stream)
        self._taken[0] += 1
        self._taken[1] += len(payload)
        limits = self._client.welcome.limits
        if self._taken[0] * 2 >= limits.stream_credit or self._taken[1] * 2 >= limits.stream_credit_bytes:
            self._client._send(CREDIT, self._stream, payload=struct.pack(">II", *self._taken))
            self._taken = [0, 0]
        return self._event_type.FromString(payload)

    def messages(self):
        """All messages up to the end of the call; BrumeError when it failed."""
        try:
            while True:
                yield self.next_message()
        except BrumeError as error:
            if error.code != 0:
                raise

    def send(self, message, flags=0):
        """Sends a message when there is credit for it; BrumeError when the server ended the call instead."""
        credit, received = self._client._credit[self._stream], self._client._streams[self._stream]
        while min(credit) <= 0:
            if received and received[-1][0] == "status":
                raise BrumeError(received[-1][1])
            self._client._dispatch()
        payload = message.SerializeToString()
        credit[0] -= 1
        credit[1] -= len(payload)
        self._client._send(MESSAGE, self._stream, flags, payload)

    def end(self):
        """Ends this side with an empty message, which needs no credit, and waits for the server's status."""
        self._client._send(MESSAGE, self._stream, LAST)
        for _ in self.messages():
            pass

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if kind is not None and not isinstance(error, (BrumeError, OSError)):
            self._client._send(CANCEL, self._stream)
        del self._client._streams[self._stream], self._client._credit[self._stream]


class NotificationStream(Stream):
    """The device's stream: events down, acknowledgements up."""

    def __init__(self, client, position):
        p = client.protocol
        super().__init__(
            client, p.METHOD_NOTIFICATIONS_OPEN, p.NotificationsRequest(position=position), p.NotificationEvent)

    def next_event(self):
        """The next event; BrumeError when the server ended the stream."""
        return self.next_message()

    def acknowledge(self, event):
        self.send(self._client.protocol.NotificationsRequest(position=event.position))

    def close(self):
        """Ends this side and waits for the server's status."""
        self.end()
