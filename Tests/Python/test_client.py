"""Runs the Python client against a server that runs already.

    /usr/bin/python3 Tests/Python/test_client.py READY_FILE

READY_FILE is what `brume dev --ready-file` writes; the server needs at least the three accounts that it names first.
"""

import json
import math
import os
import sys
import tempfile
import time
import unittest
import uuid

from brume_client import CONTENT_BYTES, FRAME_HEADER, BrumeError, Client, Protocol, Stream, predicate
from encryption import chains, codes, constructions, statements
from encryption.parts import ZEROS
from encryption.ring_entries import OWNER, ZONE_RING, Entry, Member, Ring
from encryption.ring_keys import key_commitment, seal_earlier_keys, sign_entry
from encryption.trees import PRIVATE_TREE, Place, Tree, make_header
from test_page import PageTests, vectors  # its tests run with those of this file

FOLDER = os.path.dirname(os.path.abspath(__file__))
CONTAINER = "iCloud.com.example.python"

# CKError.Code
UNKNOWN_ITEM, INVALID_ARGUMENTS, SERVER_RECORD_CHANGED = 11, 12, 14
PERMISSION_FAILURE, LIMIT_EXCEEDED, BAD_CONTAINER = 10, 27, 5
ASSET_FILE_MODIFIED, ZONE_BUSY, ASSET_NOT_AVAILABLE = 17, 23, 35
ACCOUNT_TEMPORARILY_UNAVAILABLE = 36
NOT_AUTHENTICATED, CHANGE_TOKEN_EXPIRED, ZONE_NOT_FOUND, OPERATION_CANCELLED = 9, 21, 26, 20

p = None  # the message classes
ready = None  # what the ready file says
ready_path = None  # where it is


class Device:
    """A device of an account: an id that outlives its connections."""

    def __init__(self, account=0):
        self.id = os.urandom(16)
        self.token = list(ready["accounts"].values())[account]["token"]

    def connect(self):
        return Client(p, ready["server"], ready["ca"], CONTAINER, self.id, self.token)


def private(name):
    return p.ZoneID(name=name)


def place(zone):
    """Database and id of a zone: a name is one of the caller's own, an id with its owner is one of the shared database."""
    return (p.DATABASE_SCOPE_PRIVATE, private(zone)) if isinstance(zone, str) else (p.DATABASE_SCOPE_SHARED, zone)


def make_zone(client, name):
    answer = client.call(
        p.METHOD_ZONES_MODIFY,
        p.ModifyZonesRequest(database=p.DATABASE_SCOPE_PRIVATE, saves=[private(name)], operation_id=os.urandom(16)),
        p.ModifyZonesResponse)
    assert answer.saves[0].WhichOneof("outcome") == "zone", answer
    return answer.saves[0].zone


def save(client, zone, *saves, deletions=(), policy=0):
    database, zone_id = place(zone)
    answer = client.call(
        p.METHOD_RECORDS_MODIFY,
        p.ModifyRecordsRequest(
            database=database, save_policy=policy, operation_id=os.urandom(16),
            zones=[p.ZoneModification(zone=zone_id, saves=saves, deletions=deletions)]),
        p.ModifyRecordsResponse)
    return answer.zones[0]


def note(name, text, tag=""):
    return p.RecordSave(
        name=name, type="Note", change_tag=tag,
        fields=[p.Field(key="text", value=p.Value(string_value=text))])


def make_ring(client, zone):
    """Gives an account its first statement, and a zone of it the first entry of its ring, with plain assets; returns the
    place."""
    account, seed = client.welcome.user_record_name, os.urandom(32)
    code = os.urandom(16)
    paper, _ = codes.paper_pair(code, account, CONTAINER, "development")
    devices = (statements.Device(constructions.public_keys(os.urandom(32))),)
    statement = statements.sign_statement(
        statements.Statement(
            account, CONTAINER, "development", 1, ZEROS, constructions.public_keys(seed), paper, devices),
        seed, None, code)
    client.append_statement(statement.encoded())
    there, key = Place(CONTAINER, "development", account, zone, os.urandom(16)), os.urandom(32)
    ring = Ring(there, ZONE_RING)
    entry = Entry(
        ring=ring, number=1, before=ZEROS, other_branch=b"", author=account, scope=0, assets=1, zone_key=0, closed=0,
        commitment=key_commitment(ring, 1, key), earlier=seal_earlier_keys(ring, 1, key, ()), closed_key=b"",
        members=(Member(account, statement.hash, OWNER),))
    signed = sign_entry(entry, seed, key, [constructions.public_keys(seed).box])
    client.call(
        p.METHOD_RINGS_APPEND, p.AppendRingEntryRequest(zone=private(zone), entry=signed.encoded()),
        p.AppendRingEntryResponse)
    return there


def fetch(client, zone, *names, keys=None):
    database, zone_id = place(zone)
    request = p.FetchRecordsRequest(database=database, zones=[p.ZoneFetch(zone=zone_id, names=names)])
    if keys is not None:
        request.desired_keys.CopyFrom(p.DesiredKeys(keys=keys))
    return client.call(p.METHOD_RECORDS_FETCH, request, p.FetchRecordsResponse).zones[0].records


def changes(client, zone, token=b"", limit=0):
    database, zone_id = place(zone)
    return client.call(
        p.METHOD_RECORDS_CHANGES,
        p.ZoneChangesRequest(database=database, zone=zone_id, token=token, results_limit=limit),
        p.ZoneChangesResponse)


class ConnectionTests(unittest.TestCase):
    def test_a_hello_is_welcomed_with_user_and_limits(self):
        with Device().connect() as client:
            self.assertEqual(client.welcome.protocol_version, 1)
            self.assertTrue(client.welcome.user_record_name.startswith("_"))
            for _, limit in client.welcome.limits.ListFields():
                self.assertGreater(limit, 0)
            self.assertEqual(len(client.welcome.limits.ListFields()), 8)

    def test_the_user_record_name_belongs_to_the_account(self):
        with Device().connect() as one, Device().connect() as same, Device(1).connect() as other:
            self.assertEqual(one.welcome.user_record_name, same.welcome.user_record_name)
            self.assertNotEqual(one.welcome.user_record_name, other.welcome.user_record_name)

    def test_an_unknown_token_is_not_authenticated(self):
        device = Device()
        device.token = "not-a-token"
        with self.assertRaises(BrumeError) as refused:
            device.connect()
        self.assertEqual(refused.exception.code, NOT_AUTHENTICATED)
        self.assertTrue(refused.exception.message)

    def test_pings_are_answered_while_calls_run(self):
        with Device().connect() as client:
            client.ping()
            answer = client.call(p.METHOD_HEALTH_CHECK, p.HealthRequest(), p.HealthResponse)
            self.assertTrue(answer.serving)
            client.ping(b"\0\1\2\3\4\5\6\7")

    def test_an_unknown_method_fails_its_call_alone(self):
        with Device().connect() as client:
            with self.assertRaises(BrumeError) as refused:
                client.call(9999, p.HealthRequest(), p.HealthResponse)
            self.assertEqual(refused.exception.code, INVALID_ARGUMENTS)
            self.assertTrue(client.call(p.METHOD_HEALTH_CHECK, p.HealthRequest(), p.HealthResponse).serving)


class PageBytesTests(unittest.TestCase):
    """The frames that proto/README.md shows, sent and compared byte by byte."""

    def test_the_server_takes_the_frames_of_the_page_and_gives_those_that_it_shows(self):
        frames = vectors()
        container = "iCloud.com.example.python.page"
        with Client(p, ready["server"], ready["ca"], container, os.urandom(16), Device().token) as client:
            for sent, received in [
                    (["The start of a call", "Its request"], "Its answer"), (["A ping"], "A pong")]:
                for name in sent:
                    client._socket.sendall(frames[name].bytes)
                kind, flags, stream, payload = client._read_frame()
                if received == "Its answer":
                    # The token is each server's own, and the page leaves it out.
                    answer = p.ModifyZonesResponse.FromString(payload)
                    self.assertTrue(answer.saves[0].zone.change_token)
                    answer.saves[0].zone.ClearField("change_token")
                    payload = answer.SerializeToString()
                self.assertEqual(FRAME_HEADER.pack(len(payload), kind, flags, stream) + payload, frames[received].bytes)


class RecordTests(unittest.TestCase):
    def test_every_kind_of_value_comes_back_as_it_was(self):
        place = p.Location(
            latitude=52.5, longitude=13.4, altitude=34.0, horizontal_accuracy=5.0, vertical_accuracy=-1.0, course=-1.0,
            speed=0.0, timestamp=700000000.25)
        elsewhere = p.Location(latitude=-33.9, longitude=151.2)
        target = p.Reference(record_name="target", action=p.REFERENCE_ACTION_NONE)
        owner = p.Reference(record_name="target", action=p.REFERENCE_ACTION_DELETE_SELF)
        contents = [b"a photo", os.urandom(100_000), b""]
        with Device().connect() as client:
            make_zone(client, "Values")
            photo, *pages = (
                client.upload(p.DATABASE_SCOPE_PRIVATE, private("Values"), content) for content in contents)
        values = {
            "string": p.Value(string_value="grüße \0 \U0001F680"),
            "emptyString": p.Value(string_value=""),
            "int": p.Value(int64_value=-(2**63)),
            "zero": p.Value(int64_value=0),
            "double": p.Value(double_value=0.1),
            "bytes": p.Value(bytes_value=bytes(range(256))),
            "date": p.Value(date_value=-1.5),
            "location": p.Value(location_value=place),
            "reference": p.Value(reference_value=owner),
            "strings": p.Value(string_list=p.StringList(values=["", "a", "ß\0"])),
            "ints": p.Value(int64_list=p.Int64List(values=[2**63 - 1, 0, -1])),
            "doubles": p.Value(double_list=p.DoubleList(values=[1.5, -0.0, 1e300])),
            "blobs": p.Value(bytes_list=p.BytesList(values=[b"", b"\0\xff"])),
            "dates": p.Value(date_list=p.DateList(values=[0.0, 1e9])),
            "places": p.Value(location_list=p.LocationList(values=[place, elsewhere])),
            "references": p.Value(reference_list=p.ReferenceList(values=[target, owner])),
            "nothing": p.Value(empty_list=p.EmptyList()),
            "asset": p.Value(asset_value=photo),
            "assets": p.Value(asset_list=p.AssetList(values=pages)),
        }
        # What no server can open: a header and, behind it, what could be a nonce and 32 bytes encrypted.
        with Device().connect() as client:
            tree = Tree(make_ring(client, "Values"), PRIVATE_TREE, "all")
            newer = p.RecordSave(name="all", type="Everything", stamp=make_header(tree, 2) + bytes(40))
            refused = save(client, "Values", newer).saves[0].error
            self.assertEqual(
                (refused.code, refused.detail), (ACCOUNT_TEMPORARILY_UNAVAILABLE, p.STATUS_DETAIL_KEYS_CHANGED))
        header = make_header(tree, 1)
        for kind in p.Value.DESCRIPTOR.fields:
            if kind.name.startswith("encrypted_") and kind.message_type is None:
                values[kind.name] = p.Value(**{kind.name: header + bytes(range(40 + 32))})
        # With as many asset secrets, of 74 bytes each, as there are contents.
        values["encrypted_asset"] = p.Value(
            encrypted_asset=p.EncryptedAsset(asset=photo, sealed=header + bytes(40 + constructions.pad(4 + 74))))
        values["encrypted_asset_list"] = p.Value(
            encrypted_asset_list=p.EncryptedAssetList(
                assets=pages, sealed=header + bytes(40 + constructions.pad(4 + 4 + 74 * len(pages)))))
        kinds = {value.WhichOneof("kind") for value in values.values()}
        self.assertEqual(kinds, {field.name for field in p.Value.DESCRIPTOR.fields}, "a kind of value is not tried")

        with Device().connect() as client:
            sent = p.RecordSave(
                name="all", type="Everything", stamp=header + bytes(40),
                fields=[p.Field(key=key, value=value) for key, value in values.items()])
            result = save(client, "Values", sent).saves[0]
            self.assertEqual(result.WhichOneof("outcome"), "record", result)
            saved = result.record
            self.assertTrue(saved.change_tag)
            self.assertEqual(saved.creator, client.welcome.user_record_name)

            # What an upload gave is for the save alone.
            for asset in (
                    values["asset"].asset_value, *values["assets"].asset_list.values,
                    values["encrypted_asset"].encrypted_asset.asset,
                    *values["encrypted_asset_list"].encrypted_asset_list.assets):
                self.assertTrue(asset.receipt)
                asset.ClearField("receipt")
            fetched = fetch(client, "Values", "all")[0].record
            self.assertEqual((fetched.name, fetched.type, fetched.change_tag), ("all", "Everything", saved.change_tag))
            self.assertEqual({field.key: field.value for field in fetched.fields}, values)
            negative_zero = next(field for field in fetched.fields if field.key == "doubles").value.double_list.values[1]
            self.assertEqual(math.copysign(1, negative_zero), -1)

            some = fetch(client, "Values", "all", keys=["int", "unknown"])[0].record
            self.assertEqual([field.key for field in some.fields], ["int"])
            self.assertEqual(some.stamp, header + bytes(40))
            none = fetch(client, "Values", "all", keys=[])[0].record
            self.assertEqual(list(none.fields), [])

            named = [("asset", 0, photo), *(("assets", index, page) for index, page in enumerate(pages))]
            named += [("encrypted_" + field.replace("assets", "asset_list"), *rest) for field, *rest in named]
            for (field, index, asset), content in zip(named, contents * 2):
                self.assertEqual(asset.byte_count, len(content))
                self.assertEqual(
                    client.download(
                        p.DATABASE_SCOPE_PRIVATE, private("Values"), "all", field, asset.checksum, list_index=index),
                    content)

    def test_a_fetch_answers_in_order_and_names_what_is_missing(self):
        with Device().connect() as client:
            make_zone(client, "Order")
            save(client, "Order", note("b", "2"), note("a", "1"))
            results = fetch(client, "Order", "a", "missing", "b")
            self.assertEqual([result.WhichOneof("outcome") for result in results], ["record", "error", "record"])
            self.assertEqual(results[0].record.name, "a")
            self.assertEqual(results[1].error.code, UNKNOWN_ITEM)

    def test_a_stale_tag_gets_the_servers_record(self):
        with Device().connect() as one, Device().connect() as two:
            make_zone(one, "Conflicts")
            tag = save(one, "Conflicts", note("n", "first")).saves[0].record.change_tag
            save(two, "Conflicts", note("n", "second", tag))
            lost = save(one, "Conflicts", note("n", "third", tag)).saves[0].error
            self.assertEqual(lost.code, SERVER_RECORD_CHANGED)
            self.assertEqual(lost.server_record.fields[0].value.string_value, "second")

    def test_a_field_without_a_value_removes_its_key(self):
        with Device().connect() as client:
            make_zone(client, "Removal")
            tag = save(client, "Removal", note("n", "text")).saves[0].record.change_tag
            save(client, "Removal", p.RecordSave(name="n", type="Note", change_tag=tag, fields=[p.Field(key="text")]))
            self.assertEqual(list(fetch(client, "Removal", "n")[0].record.fields), [])

    def test_the_same_operation_has_one_effect(self):
        with Device().connect() as client:
            make_zone(client, "Retry")
            request = p.ModifyRecordsRequest(
                database=p.DATABASE_SCOPE_PRIVATE, operation_id=os.urandom(16),
                zones=[p.ZoneModification(zone=private("Retry"), saves=[note("n", "once")])])
            first = client.call(p.METHOD_RECORDS_MODIFY, request, p.ModifyRecordsResponse)
            again = client.call(p.METHOD_RECORDS_MODIFY, request, p.ModifyRecordsResponse)
            self.assertEqual(first, again)
            self.assertEqual(first.zones[0].saves[0].WhichOneof("outcome"), "record")
            request.zones[0].saves[0].name = "other"
            with self.assertRaises(BrumeError) as refused:
                client.call(p.METHOD_RECORDS_MODIFY, request, p.ModifyRecordsResponse)
            self.assertEqual(refused.exception.code, INVALID_ARGUMENTS)
            self.assertNotEqual(fetch(client, "Retry", "other")[0].WhichOneof("outcome"), "record")

    def test_another_account_has_its_own_zone_of_that_name(self):
        with Device().connect() as mine, Device(1).connect() as theirs:
            name = "Mine" + uuid.uuid4().hex
            make_zone(mine, name)
            save(mine, name, note("secret", "mine"))
            with self.assertRaises(BrumeError) as refused:
                changes(theirs, name)
            self.assertEqual(refused.exception.code, ZONE_NOT_FOUND)


class AssetTests(unittest.TestCase):
    """Each test has a zone of its own. The records are photos, whose file is an asset."""

    def setUp(self):
        self.zone = "Photos" + uuid.uuid4().hex
        self.client = Device().connect()
        self.addCleanup(self.client.close)
        make_zone(self.client, self.zone)

    @staticmethod
    def patiently(action):
        """Does it again while the server has not noticed yet that the upload's earlier stream is gone."""
        while True:
            try:
                return action()
            except BrumeError as error:
                if error.code != ZONE_BUSY:
                    raise
                time.sleep(error.retry_after_milliseconds / 1000)

    def upload(self, content, client=None, **options):
        return self.patiently(lambda: (client or self.client).upload(
            p.DATABASE_SCOPE_PRIVATE, private(self.zone), content, **options))

    def begin(self, upload_id, byte_count, client=None):
        """Opens the stream of an upload: the stream, and what the server says first."""
        begin = p.UploadBegin(
            database=p.DATABASE_SCOPE_PRIVATE, zone=private(self.zone), upload_id=upload_id, byte_count=byte_count)
        stream = Stream(
            client or self.client, p.METHOD_ASSETS_UPLOAD, p.UploadMessage(begin=begin), p.UploadEvent)
        return stream, stream.next_message()

    def download(self, asset, name="photo", client=None, **options):
        return (client or self.client).download(
            p.DATABASE_SCOPE_PRIVATE, private(self.zone), name, "file", asset.checksum, **options)

    def save(self, asset, name="photo", client=None, zone=None):
        """Saves a photo: None, or the code of the error."""
        photo = p.RecordSave(
            name=name, type="Photo", fields=[p.Field(key="file", value=p.Value(asset_value=asset))])
        result = save(client or self.client, zone or self.zone, photo, policy=p.SAVE_POLICY_CHANGED_KEYS).saves[0]
        return None if result.WhichOneof("outcome") == "record" else result.error.code

    def assert_refused(self, code, detail, action, *arguments, **options):
        with self.assertRaises(BrumeError) as refused:
            action(*arguments, **options)
        self.assertEqual((refused.exception.code, refused.exception.detail), (code, detail))

    @staticmethod
    def without_receipt(asset):
        return p.Asset(checksum=asset.checksum, byte_count=asset.byte_count, generation=asset.generation)

    def test_contents_of_many_messages_come_back_whole_and_in_part(self):
        content = os.urandom(3 * 1024 * 1024 + 1)
        asset = self.upload(content)
        self.assertIsNone(self.save(asset))
        self.assertEqual(self.download(asset), content)
        for offset, count in [(1024 * 1024 - 1, 2), (1, 0), (len(content) - 1, 10), (len(content), 0)]:
            self.assertEqual(
                self.download(asset, offset=offset, byte_count=count),
                content[offset:offset + count] if count else content[offset:])
        self.assert_refused(INVALID_ARGUMENTS, 0, self.download, asset, offset=len(content) + 1)

    def test_an_upload_that_broke_goes_on_where_the_server_has_it(self):
        content, upload_id = os.urandom(35 * 1024 * 1024), os.urandom(16)
        with Device().connect() as broken:
            stream, event = self.begin(upload_id, len(content), broken)
            self.assertEqual(event.offset, 0)
            for start in range(0, 33 * 1024 * 1024, CONTENT_BYTES):
                stream.send(p.UploadMessage(content=content[start:start + CONTENT_BYTES]))
            self.assert_refused(ZONE_BUSY, 0, self.begin, upload_id, len(content))
        stream, event = self.patiently(lambda: self.begin(upload_id, len(content)))
        # To the MiB: of what was under way when the connection broke, some may not have come.
        self.assertIn(event.offset, (32 * 1024 * 1024, 33 * 1024 * 1024))
        self.assert_refused(INVALID_ARGUMENTS, 0, stream.end)  # there was no checksum
        asset = self.upload(content, upload_id=upload_id)
        self.assertIsNone(self.save(asset))
        self.assertEqual(self.download(asset, offset=32 * 1024 * 1024 - 1), content[32 * 1024 * 1024 - 1:])
        # The id gives the same asset again, and nothing is sent.
        _, event = self.begin(upload_id, len(content))
        self.assertEqual(self.without_receipt(event.asset), self.without_receipt(asset))

    def test_a_content_of_another_checksum_is_no_asset(self):
        stream, event = self.begin(os.urandom(16), 3)
        self.assertEqual(event.offset, 0)
        stream.send(p.UploadMessage(content=b"abc"))
        stream.send(p.UploadMessage(end=p.UploadEnd(checksum=bytes(32))))
        self.assert_refused(ASSET_FILE_MODIFIED, 0, stream.next_message)

    def test_an_asset_is_named_with_a_receipt_or_by_the_record_that_names_it(self):
        other = self.zone + "Other"
        make_zone(self.client, other)
        asset = self.upload(b"a photo")
        bare = self.without_receipt(asset)
        self.assertEqual(self.save(bare), ASSET_NOT_AVAILABLE)
        self.assertEqual(self.save(asset, zone=other), ASSET_NOT_AVAILABLE)
        self.assertIsNone(self.save(asset))
        self.assertIsNone(self.save(bare))
        self.assertEqual(self.save(bare, "another"), ASSET_NOT_AVAILABLE)
        asset.generation += 1
        self.assertEqual(self.save(asset, "another"), ASSET_NOT_AVAILABLE)
        asset.checksum = b"short"
        self.assertEqual(self.save(asset, "another"), INVALID_ARGUMENTS)
        with Device(1).connect() as stranger:
            make_zone(stranger, self.zone)
            self.assertEqual(self.save(self.upload(b"a photo"), client=stranger), ASSET_NOT_AVAILABLE)

    def test_a_download_is_of_what_the_field_names_now(self):
        asset, newer = self.upload(b"old"), self.upload(b"new")
        self.assertIsNone(self.save(asset))
        with Device(1).connect() as stranger:
            self.assert_refused(ASSET_NOT_AVAILABLE, 0, self.download, asset, client=stranger)
        self.assert_refused(ASSET_NOT_AVAILABLE, 0, self.download, asset, "missing")
        changed = p.STATUS_DETAIL_ASSET_CHANGED
        self.assert_refused(ASSET_NOT_AVAILABLE, changed, self.download, newer)
        self.assert_refused(ASSET_NOT_AVAILABLE, changed, self.download, asset, list_index=1)
        self.assertIsNone(self.save(newer))
        self.assert_refused(ASSET_NOT_AVAILABLE, changed, self.download, asset)
        self.assertEqual(self.download(newer), b"new")


class ChangesTests(unittest.TestCase):
    def test_changes_go_on_from_a_token_each_record_once_and_deletions_too(self):
        with Device().connect() as client:
            make_zone(client, "Feed")
            save(client, "Feed", note("a", "1"), note("b", "1"), note("c", "1"))
            start = changes(client, "Feed")
            self.assertFalse(start.more_coming)
            self.assertEqual([record.name for record in start.records], ["a", "b", "c"])

            tag = next(record for record in start.records if record.name == "b").change_tag
            save(client, "Feed", note("b", "2", tag), deletions=["a"])
            later = changes(client, "Feed", start.token)
            self.assertEqual([record.name for record in later.records], ["b"])
            self.assertEqual(later.records[0].fields[0].value.string_value, "2")
            self.assertEqual([(gone.name, gone.type) for gone in later.deletions], [("a", "Note")])

            head = changes(client, "Feed", later.token)
            self.assertEqual((len(head.records), len(head.deletions), head.more_coming), (0, 0, False))

    def test_pages_meet_without_gap_or_overlap(self):
        with Device().connect() as client:
            make_zone(client, "Pages")
            for first in range(0, 60, 20):
                save(client, "Pages", *(note(f"n{index:02}", "x") for index in range(first, first + 20)))
            names, token, more = [], b"", True
            while more:
                page = changes(client, "Pages", token, limit=7)
                names += [record.name for record in page.records]
                token, more = page.token, page.more_coming
            self.assertEqual(names, [f"n{index:02}" for index in range(60)])

    def test_a_device_gets_back_its_latest_client_token_and_no_other_devices(self):
        device = Device()
        with device.connect() as client, Device().connect() as other:
            make_zone(client, "Sent")
            self.assertEqual(changes(client, "Sent").client_token, b"")
            for token in (b"first", b"\0second"):
                client.call(
                    p.METHOD_RECORDS_MODIFY,
                    p.ModifyRecordsRequest(
                        database=p.DATABASE_SCOPE_PRIVATE, client_token=token,
                        zones=[p.ZoneModification(zone=private("Sent"), saves=[note(token.hex(), "x")])]),
                    p.ModifyRecordsResponse)
            save(client, "Sent", note("without", "x"))
            self.assertEqual(changes(client, "Sent").client_token, b"\0second")
            self.assertEqual(changes(other, "Sent").client_token, b"")

    def test_a_token_of_the_zones_earlier_life_expires(self):
        with Device().connect() as client:
            make_zone(client, "Reborn")
            token = changes(client, "Reborn").token
            client.call(
                p.METHOD_ZONES_MODIFY,
                p.ModifyZonesRequest(database=p.DATABASE_SCOPE_PRIVATE, deletions=[private("Reborn")]),
                p.ModifyZonesResponse)
            make_zone(client, "Reborn")
            with self.assertRaises(BrumeError) as refused:
                changes(client, "Reborn", token)
            self.assertEqual(refused.exception.code, CHANGE_TOKEN_EXPIRED)

    def test_a_made_up_token_is_refused(self):
        with Device().connect() as client:
            make_zone(client, "Forged")
            for token in (b"x", b"\0" * 64, os.urandom(48)):
                with self.assertRaises(BrumeError) as refused:
                    changes(client, "Forged", token)
                self.assertEqual(refused.exception.code, INVALID_ARGUMENTS)

    def test_the_database_says_which_zones_changed(self):
        def zones_since(client, token):
            names, more = [], True
            while more:
                page = client.call(
                    p.METHOD_DATABASES_CHANGES,
                    p.DatabaseChangesRequest(database=p.DATABASE_SCOPE_PRIVATE, token=token),
                    p.DatabaseChangesResponse)
                names += [zone.name for zone in page.changed]
                token, more = page.token, page.more_coming
            return names, token

        with Device().connect() as client:
            name = "Zone" + uuid.uuid4().hex
            _, token = zones_since(client, b"")
            make_zone(client, name)
            names, token = zones_since(client, token)
            self.assertEqual(names, [name])
            save(client, name, note("n", "1"))
            names, token = zones_since(client, token)
            self.assertEqual(names, [name])

    def test_a_zones_own_token_tells_of_deletions_before_the_first_fetch(self):
        with Device().connect() as client, Device().connect() as other:
            name = "Zone" + uuid.uuid4().hex
            made = make_zone(client, name).change_token
            save(client, name, note("gone", "1"), note("kept", "2"))
            there = client.call(
                p.METHOD_ZONES_FETCH,
                p.FetchZonesRequest(database=p.DATABASE_SCOPE_PRIVATE, zones=[private(name)]),
                p.FetchZonesResponse).zones[0].zone.change_token
            save(other, name, deletions=["gone"])
            for token in (made, there):
                page = changes(client, name, token)
                self.assertEqual([record.name for record in page.records], ["kept"])
                self.assertEqual([deletion.name for deletion in page.deletions], ["gone"])
            self.assertFalse(changes(client, name).deletions)

    def test_a_zone_that_was_deleted_and_made_again_is_told_as_both(self):
        def changes_since(client, token):
            return client.call(
                p.METHOD_DATABASES_CHANGES,
                p.DatabaseChangesRequest(database=p.DATABASE_SCOPE_PRIVATE, token=token),
                p.DatabaseChangesResponse)

        with Device().connect() as client:
            name = "Zone" + uuid.uuid4().hex
            make_zone(client, name)
            page = changes_since(client, b"")
            while page.more_coming:
                page = changes_since(client, page.token)
            client.call(
                p.METHOD_ZONES_MODIFY,
                p.ModifyZonesRequest(database=p.DATABASE_SCOPE_PRIVATE, deletions=[private(name)]),
                p.ModifyZonesResponse)
            make_zone(client, name)
            page = changes_since(client, page.token)
            self.assertEqual([deletion.id.name for deletion in page.earlier_deletions], [name])
            self.assertEqual([zone.name for zone in page.changed], [name])
            self.assertEqual(len(page.deletions), 0)


class QueryTests(unittest.TestCase):
    """Books of the default zone's account; each test has a record type of its own, so that none sees another's."""

    def setUp(self):
        self.type = "Book" + uuid.uuid4().hex
        self.zone = "Shelf" + uuid.uuid4().hex

    def books(self, client, zone, *books):
        """Each book: a name, and its fields as values."""
        result = save(client, zone, *(
            p.RecordSave(
                name=name, type=self.type, fields=[p.Field(key=key, value=value) for key, value in fields.items()])
            for name, fields in books))
        for outcome in result.saves:
            self.assertEqual(outcome.WhichOneof("outcome"), "record", outcome)

    def names(self, client, tree, sort=(), zone=None, limit=0):
        pages = client.query(p.DATABASE_SCOPE_PRIVATE, self.type, tree, sort, zone, limit)
        return [match.record.name for page in pages for match in page]

    @staticmethod
    def key(name):
        return name if isinstance(name, p.QueryKey) else p.QueryKey(field=name)

    def compare(self, name, operator, any_element=False, **value):
        return p.PredicateNode(comparison=p.Comparison(
            key=self.key(name), operator=getattr(p, "COMPARISON_OPERATOR_" + operator), value=p.Value(**value),
            any_element=any_element))

    def member(self, name, *texts, any_element=False):
        return p.PredicateNode(membership=p.Membership(
            key=self.key(name), values=[p.Value(string_value=text) for text in texts], any_element=any_element))

    def test_every_kind_of_term_finds_what_the_page_says(self):
        berlin, potsdam, paris = (p.Location(latitude=latitude, longitude=longitude) for latitude, longitude in (
            (52.52, 13.405), (52.39, 13.06), (48.857, 2.352)))
        with Device().connect() as client:
            make_zone(client, self.zone)
            text, number = (lambda value: p.Value(string_value=value)), (lambda value: p.Value(int64_value=value))
            self.books(
                client, self.zone,
                ("a", {"title": text("The Déjà Vu"), "pages": number(100), "place": p.Value(location_value=berlin),
                       "tags": p.Value(string_list=p.StringList(values=["x", "y"]))}),
                ("b", {"title": text("Vu again"), "pages": p.Value(int64_value=250), "published": p.Value(date_value=5.0),
                       "tags": p.Value(string_list=p.StringList(values=["z"]))}),
                ("c", {"title": text("the end"), "place": p.Value(location_value=paris),
                       "author": p.Value(reference_value=p.Reference(record_name="a"))}),
                ("d", {"pages": number(-1)}))
            true = p.PredicateNode(constant=True)
            far = p.PredicateNode(distance=p.Distance(
                key=self.key("place"), latitude=potsdam.latitude, longitude=potsdam.longitude, metres=50_000))
            near = p.PredicateNode(distance=p.Distance(
                key=self.key("place"), latitude=berlin.latitude, longitude=berlin.longitude, metres=0, inclusive=True))
            system = lambda name: p.QueryKey(system=getattr(p, "SYSTEM_KEY_" + name))
            reference = lambda name: p.Reference(record_name=name)
            search = lambda words, match: p.PredicateNode(text=p.TextSearch(text=words, match=match))
            for found, tree in (
                ("abcd", true), ("", p.PredicateNode(constant=False)), ("abcd", ("and",)), ("", ("or",)),
                ("a", self.compare("pages", "EQUAL", int64_value=100)),
                ("a", self.compare("pages", "EQUAL", double_value=100.0)),
                ("bd", self.compare("pages", "NOT_EQUAL", int64_value=100)),
                ("bd", ("not", self.compare("pages", "EQUAL", int64_value=100))),
                ("d", self.compare("pages", "LESS", int64_value=0)),
                ("ab", self.compare("pages", "GREATER_OR_EQUAL", double_value=99.5)),
                ("a", self.compare("title", "BEGINS_WITH", string_value="The")),
                ("c", self.compare("title", "BEGINS_WITH", string_value="the")),
                ("a", self.compare("tags", "EQUAL", any_element=True, string_value="y")),
                ("bc", self.member("title", "the end", "Vu again", "nothing")),
                ("ab", self.member("tags", "x", "z", any_element=True)),
                ("", self.member("title")),
                ("ab", p.PredicateNode(between=p.Between(
                    key=self.key("pages"), low=p.Value(int64_value=100), high=p.Value(int64_value=250)))),
                ("ab", search("DEJA vu", p.TEXT_MATCH_ANY_WORD)), ("a", search("deja VU", p.TEXT_MATCH_ALL_WORDS)),
                ("a", far), ("a", near),
                ("c", self.compare("author", "EQUAL", reference_value=reference("a"))),
                ("b", self.compare("published", "LESS", date_value=6.0)),
                ("d", self.compare(system("RECORD_ID"), "EQUAL", reference_value=reference("d"))),
                ("abcd", self.compare(
                    system("CREATOR_USER_RECORD_ID"), "EQUAL", reference_value=reference("__defaultOwner__"))),
                ("abcd", self.compare(system("CREATION_DATE"), "GREATER", date_value=0.0)),
                ("ac", ("and", ("not", self.compare("title", "EQUAL", string_value="Vu again")), true)),
                ("abd", ("or", self.compare("pages", "LESS", int64_value=1000), self.compare(
                    "title", "EQUAL", string_value="nothing"))),
            ):
                with self.subTest(tree=tree):
                    self.assertEqual("".join(self.names(client, tree, zone=private(self.zone))), found)

    def test_the_order_is_that_of_the_keys_and_then_of_creation(self):
        with Device().connect() as client:
            make_zone(client, self.zone)
            number = lambda value: p.Value(int64_value=value)
            self.books(
                client, self.zone, ("a", {"n": number(2), "m": number(1)}), ("b", {"n": number(1)}), ("c", {"m": number(7)}),
                ("d", {"n": number(2), "m": number(0)}))
            true = p.PredicateNode(constant=True)
            by = lambda name, **options: p.QuerySort(key=self.key(name), **options)
            for order, sort in (
                ("abcd", []), ("badc", [by("n")]), ("adbc", [by("n", descending=True)]), ("bdac", [by("n"), by("m")]),
            ):
                with self.subTest(order=order):
                    self.assertEqual("".join(self.names(client, true, sort)), order)
                    self.assertEqual("".join(self.names(client, true, sort, limit=1)), order)
            for name, latitude in (("far", 50.0), ("near", 10.0)):
                self.books(client, self.zone, (name, {
                    "place": p.Value(location_value=p.Location(latitude=latitude, longitude=0))}))
            nearest = p.QuerySort(key=self.key("place"), relative_to=p.Location(latitude=0, longitude=0))
            self.assertEqual(self.names(client, true, [nearest])[:2], ["near", "far"])

    def test_pages_meet_across_connections_while_others_write(self):
        reader, writer = Device(), Device()
        request = p.QueryRequest(
            database=p.DATABASE_SCOPE_PRIVATE, results_limit=7,
            query=p.Query(
                record_type=self.type, predicate=p.Predicate(nodes=[p.PredicateNode(constant=True)]),
                sort=[p.QuerySort(key=self.key("n"))]))
        with writer.connect() as client:
            make_zone(client, self.zone)
            self.books(client, self.zone, *((f"r{index:02}", {"n": p.Value(int64_value=index)}) for index in range(40)))
            shown, pages = [], 0
            while True:
                with reader.connect() as reading:
                    page = reading.call(p.METHOD_RECORDS_QUERY, request, p.QueryResponse)
                shown += [match.record.name for match in page.matches]
                pages += 1
                # One that is shown goes, one comes in before the place, one behind it.
                save(client, self.zone, deletions=[f"r{pages:02}"])
                self.books(
                    client, self.zone, (f"early{pages}", {"n": p.Value(int64_value=-pages)}),
                    (f"late{pages}", {"n": p.Value(int64_value=1000 + pages)}))
                if not page.cursor:
                    break
                request.cursor = page.cursor
                self.assertLess(pages, 30)
            self.assertEqual([name for name in shown if name[0] == "r"], [f"r{index:02}" for index in range(40)])
            self.assertEqual(len(set(shown)), len(shown))
            self.assertFalse([name for name in shown if name.startswith("early")])
            self.assertIn("late1", shown)

    def test_a_cursor_goes_with_its_query_its_zone_and_its_account(self):
        with Device().connect() as client, Device(1).connect() as stranger:
            for each in (client, stranger):
                make_zone(each, self.zone)
                self.books(each, self.zone, ("a", {}), ("b", {}))

            def ask(asking, cursor=b"", tree=p.PredicateNode(constant=True), zone=None, limit=1):
                return asking.call(
                    p.METHOD_RECORDS_QUERY,
                    p.QueryRequest(
                        database=p.DATABASE_SCOPE_PRIVATE, zone=zone, cursor=cursor, results_limit=limit,
                        query=p.Query(record_type=self.type, predicate=p.Predicate(nodes=[tree]))), p.QueryResponse)

            cursor = ask(client).cursor
            self.assertEqual([match.record.name for match in ask(client, cursor, limit=0).matches], ["b"])
            for case in (
                lambda: ask(stranger, cursor), lambda: ask(client, cursor, zone=private(self.zone)),
                lambda: ask(client, cursor, p.PredicateNode(constant=False)), lambda: ask(client, cursor[:-1]),
                lambda: ask(client, bytes([cursor[0]]) + os.urandom(len(cursor) - 1)),
            ):
                with self.assertRaises(BrumeError) as refused:
                    case()
                self.assertEqual(refused.exception.code, INVALID_ARGUMENTS)

    def test_matches_name_their_zone_and_hold_the_desired_keys(self):
        with Device().connect() as client:
            for zone in (self.zone, self.zone + "2"):
                make_zone(client, zone)
                self.books(client, zone, ("a", {"n": p.Value(int64_value=1), "m": p.Value(int64_value=2)}))
            true = p.PredicateNode(constant=True)
            pages = client.query(p.DATABASE_SCOPE_PRIVATE, self.type, true, keys=["m", "unknown"])
            matches = [match for page in pages for match in page]
            self.assertEqual([match.zone.name for match in matches], [self.zone, self.zone + "2"])
            for match in matches:
                self.assertEqual([field.key for field in match.record.fields], ["m"])
                self.assertTrue(match.record.change_tag)

    def test_the_public_database_is_queried_by_everybody(self):
        public = p.DATABASE_SCOPE_PUBLIC
        with Device().connect() as author, Device(1).connect() as reader:
            author.call(
                p.METHOD_RECORDS_MODIFY,
                p.ModifyRecordsRequest(database=public, operation_id=os.urandom(16), zones=[p.ZoneModification(
                    zone=private("_defaultZone"),
                    saves=[p.RecordSave(name=self.type, type=self.type, fields=[
                        p.Field(key="n", value=p.Value(int64_value=1))])])]), p.ModifyRecordsResponse)
            pages = reader.query(public, self.type, self.compare("n", "EQUAL", int64_value=1))
            records = [match.record for page in pages for match in page]
            self.assertEqual([record.name for record in records], [self.type])
            self.assertEqual(records[0].creator, author.welcome.user_record_name)

    def test_a_query_is_explained(self):
        with Device().connect() as client:
            make_zone(client, self.zone)
            self.books(client, self.zone, ("a", {"n": p.Value(int64_value=1)}))
            answer = client.call(
                p.METHOD_RECORDS_EXPLAIN,
                p.QueryRequest(database=p.DATABASE_SCOPE_PRIVATE, query=p.Query(
                    record_type=self.type, predicate=p.Predicate(nodes=[self.compare("n", "EQUAL", int64_value=1)]))),
                p.ExplainResponse)
            self.assertTrue(answer.steps)
            self.assertEqual((answer.matches, answer.records_read > 0), (1, True))

    def test_what_is_wrong_with_a_query_is_said(self):
        with Device().connect() as client:
            make_zone(client, self.zone)
            self.books(client, self.zone, ("a", {"n": p.Value(int64_value=1), "blob": p.Value(bytes_value=b"x")}))
            term = self.compare("n", "EQUAL", int64_value=1)
            deep = term
            for _ in range(64):
                deep = ("not", deep)
            wide = ("or", *(self.compare("n", "EQUAL", int64_value=index) for index in range(1001)))

            def ask(tree=None, nodes=(), record_type=None, zone=None):
                client.call(
                    p.METHOD_RECORDS_QUERY,
                    p.QueryRequest(database=p.DATABASE_SCOPE_PRIVATE, zone=zone, query=p.Query(
                        record_type=record_type or self.type,
                        predicate=p.Predicate(nodes=nodes) if tree is None else predicate(p, tree))), p.QueryResponse)

            both = p.PredicateNode(**{"and": 2})
            for code, case in (
                (UNKNOWN_ITEM, lambda: ask(term, record_type="Nobody" + uuid.uuid4().hex)),
                (ZONE_NOT_FOUND, lambda: ask(term, zone=private("Nowhere"))),
                (LIMIT_EXCEEDED, lambda: ask(deep)), (LIMIT_EXCEEDED, lambda: ask(wide)),
                (INVALID_ARGUMENTS, lambda: ask(self.compare("unknown", "EQUAL", int64_value=1))),
                (INVALID_ARGUMENTS, lambda: ask(self.compare("n", "EQUAL", string_value="1"))),
                (INVALID_ARGUMENTS, lambda: ask(self.compare("n", "BEGINS_WITH", string_value="1"))),
                (INVALID_ARGUMENTS, lambda: ask(self.compare("n", "EQUAL", double_value=math.nan))),
                (INVALID_ARGUMENTS, lambda: ask(self.compare("n", "EQUAL", any_element=True, int64_value=1))),
                (INVALID_ARGUMENTS, lambda: ask(self.compare("n", "EQUAL", int64_list=p.Int64List(values=[1])))),
                (INVALID_ARGUMENTS, lambda: ask(nodes=[])), (INVALID_ARGUMENTS, lambda: ask(nodes=[both, term])),
                (INVALID_ARGUMENTS, lambda: ask(nodes=[term, term])),
                (INVALID_ARGUMENTS, lambda: ask(nodes=[p.PredicateNode()])),
                (INVALID_ARGUMENTS, lambda: ask(term, record_type="Users")),
            ):
                with self.assertRaises(BrumeError) as refused:
                    case()
                self.assertEqual(refused.exception.code, code, refused.exception.message)
                self.assertTrue(refused.exception.message)


class NotificationTests(unittest.TestCase):
    def subscribe(self, client, zone):
        subscription = p.Subscription(
            id="zone-" + zone, zone=p.ZoneSubscription(zone=private(zone)),
            notification_info=p.NotificationInfo(should_send_content_available=True))
        answer = client.call(
            p.METHOD_SUBSCRIPTIONS_MODIFY,
            p.ModifySubscriptionsRequest(
                database=p.DATABASE_SCOPE_PRIVATE, saves=[subscription], operation_id=os.urandom(16)),
            p.ModifySubscriptionsResponse)
        self.assertEqual(answer.saves[0].WhichOneof("outcome"), "subscription", answer)
        self.addCleanup(self.unsubscribe, subscription.id)
        return subscription.id

    def unsubscribe(self, subscription_id):
        with Device().connect() as client:
            client.call(
                p.METHOD_SUBSCRIPTIONS_MODIFY,
                p.ModifySubscriptionsRequest(database=p.DATABASE_SCOPE_PRIVATE, deletions=[subscription_id]),
                p.ModifySubscriptionsResponse)

    def next_of(self, stream, subscription_id):
        """The next event of one subscription; other tests' events of the same account may stand between."""
        while True:
            event = stream.next_event()
            if event.subscription_id == subscription_id:
                return event

    def test_a_push_reaches_the_other_device_and_the_stream_resumes_behind_the_acknowledged_one(self):
        listener, writer = Device(), Device()
        zone = "Push" + uuid.uuid4().hex
        with writer.connect() as writing:
            make_zone(writing, zone)
            with listener.connect() as listening:
                subscription_id = self.subscribe(listening, zone)
                stream = listening.open_notifications()
                self.assertEqual(stream.next_event().WhichOneof("kind"), "ready")

                save(writing, zone, note("n", "first"))
                event = self.next_of(stream, subscription_id)
                self.assertEqual(event.WhichOneof("kind"), "zone_changed")
                self.assertEqual(event.zone_changed.zone.name, zone)
                self.assertTrue(event.notification_info.should_send_content_available)
                stream.acknowledge(event)
                stream.close()

            # Two commits while the device is away: both are delivered, the acknowledged one is not.
            for name in ("second", "third"):
                save(writing, zone, note(name, name))
            with listener.connect() as listening:
                stream = listening.open_notifications()
                first = stream.next_event()
                self.assertEqual(first.WhichOneof("kind"), "ready")
                self.assertTrue(first.ready.resumed)
                missed = [self.next_of(stream, subscription_id) for _ in range(2)]
                positions = [missed_event.position for missed_event in missed]
                self.assertEqual(len(set(positions + [event.position])), 3)

            # Nothing was acknowledged this time; with a position the stream resumes behind that one.
            with listener.connect() as listening:
                stream = listening.open_notifications(position=positions[0])
                self.assertEqual(stream.next_event().WhichOneof("kind"), "ready")
                self.assertEqual(self.next_of(stream, subscription_id).position, positions[1])

    def test_the_device_that_made_the_change_is_left_out(self):
        device, other = Device(), Device()
        zone = "Own" + uuid.uuid4().hex
        with device.connect() as client, other.connect() as writing:
            make_zone(client, zone)
            subscription_id = self.subscribe(client, zone)
            stream = client.open_notifications()
            self.assertEqual(stream.next_event().WhichOneof("kind"), "ready")
            save(client, zone, note("own", "1"))
            tag = save(writing, zone, note("other", "1")).saves[0].record.change_tag
            first = self.next_of(stream, subscription_id)
            save(writing, zone, note("other", "2", tag))
            second = self.next_of(stream, subscription_id)
            # Three commits, two events: the first one is that of the other device.
            self.assertLess(first.committed_milliseconds, second.committed_milliseconds + 1)
            self.assertNotEqual(first.notification_id, second.notification_id)
            client.ping()
            self.assertFalse(
                [item for item in client._streams[stream._stream] if subscription_id.encode() in item[1]])

    def subscribe_to_query(self, client, record_type, node, options, database=None, zone=None, keys=()):
        subscription = p.Subscription(
            id="query-" + uuid.uuid4().hex,
            query=p.QuerySubscription(
                record_type=record_type, predicate=p.Predicate(nodes=[node]), options=options, zone=zone),
            notification_info=p.NotificationInfo(desired_keys=keys))
        database = database or p.DATABASE_SCOPE_PRIVATE
        answer = client.call(
            p.METHOD_SUBSCRIPTIONS_MODIFY,
            p.ModifySubscriptionsRequest(database=database, saves=[subscription], operation_id=os.urandom(16)),
            p.ModifySubscriptionsResponse)
        self.assertEqual(answer.saves[0].WhichOneof("outcome"), "subscription", answer)
        self.assertEqual(answer.saves[0].subscription.query.predicate, subscription.query.predicate)
        return subscription.id

    def listed(self, client, database):
        answer = client.call(
            p.METHOD_SUBSCRIPTIONS_LIST, p.ListSubscriptionsRequest(database=database), p.ListSubscriptionsResponse)
        return [subscription.id for subscription in answer.subscriptions]

    def test_a_query_subscription_tells_of_the_records_that_match(self):
        listener, writer = Device(), Device()
        zone, kind = "Tasks" + uuid.uuid4().hex, "Task" + uuid.uuid4().hex
        is_open = p.PredicateNode(comparison=p.Comparison(
            key=p.QueryKey(field="open"), operator=p.COMPARISON_OPERATOR_EQUAL, value=p.Value(int64_value=1)))

        def task(name, value, text="", tag=""):
            return p.RecordSave(name=name, type=kind, change_tag=tag, fields=[
                p.Field(key="open", value=p.Value(int64_value=value)),
                p.Field(key="text", value=p.Value(string_value=text)), p.Field(key="other", value=p.Value(int64_value=7))])

        with writer.connect() as writing, listener.connect() as listening:
            make_zone(writing, zone)
            subscription_id = self.subscribe_to_query(
                listening, kind, is_open, 1 | 2 | 4, zone=private(zone), keys=["text", "open"])
            stream = listening.open_notifications()
            self.assertEqual(stream.next_event().WhichOneof("kind"), "ready")
            tag = save(writing, zone, task("quiet", 0), task("loud", 1, "x" * 200)).saves[1].record.change_tag
            tag = save(writing, zone, task("loud", 1, "again", tag)).saves[0].record.change_tag
            # It matches no more: no event. Then it does again, and goes.
            tag = save(writing, zone, task("loud", 0, "again", tag)).saves[0].record.change_tag
            save(writing, zone, task("loud", 1, "last", tag))
            save(writing, zone, deletions=["loud", "quiet"])
            events = [self.next_of(stream, subscription_id) for _ in range(4)]
            changes_told = [event.record_changed for event in events]
            self.assertEqual(
                [(change.record_name, change.reason) for change in changes_told],
                [("loud", p.RECORD_CHANGE_REASON_CREATED), ("loud", p.RECORD_CHANGE_REASON_UPDATED),
                 ("loud", p.RECORD_CHANGE_REASON_UPDATED), ("loud", p.RECORD_CHANGE_REASON_DELETED)])
            self.assertTrue(all(change.zone.name == zone for change in changes_told))
            fields = [{field.key: field.value for field in change.fields} for change in changes_told]
            self.assertEqual(set(fields[0]), {"text", "open"})
            self.assertEqual((fields[0]["text"].string_value, changes_told[0].pruned), ("x" * 100, True))
            self.assertEqual((fields[1]["text"].string_value, changes_told[1].pruned), ("again", False))
            self.assertEqual(fields[3], {})
            # The zone's end tells of what went with it, and ends the subscription.
            save(writing, zone, task("left", 1))
            self.next_of(stream, subscription_id)
            writing.call(
                p.METHOD_ZONES_MODIFY,
                p.ModifyZonesRequest(database=p.DATABASE_SCOPE_PRIVATE, deletions=[private(zone)]),
                p.ModifyZonesResponse)
            last = self.next_of(stream, subscription_id).record_changed
            self.assertEqual((last.record_name, last.reason), ("left", p.RECORD_CHANGE_REASON_DELETED))
            self.assertNotIn(subscription_id, self.listed(listening, p.DATABASE_SCOPE_PRIVATE))

    def test_a_subscription_of_the_public_database_that_fires_once(self):
        author, reader, kind = Device(), Device(1), "News" + uuid.uuid4().hex

        def publish(client, name):
            client.call(
                p.METHOD_RECORDS_MODIFY,
                p.ModifyRecordsRequest(
                    database=p.DATABASE_SCOPE_PUBLIC, operation_id=os.urandom(16),
                    zones=[p.ZoneModification(zone=private("_defaultZone"), saves=[note(name, name)])]),
                p.ModifyRecordsResponse)

        with author.connect() as writing, reader.connect() as reading:
            match = p.PredicateNode(comparison=p.Comparison(
                key=p.QueryKey(field="text"), operator=p.COMPARISON_OPERATOR_BEGINS_WITH, value=p.Value(string_value=kind)))
            public = p.DATABASE_SCOPE_PUBLIC
            subscription_id = self.subscribe_to_query(reading, "Note", match, 1 | 8, database=public)
            self.assertIn(subscription_id, self.listed(reading, public))
            self.assertNotIn(subscription_id, self.listed(writing, public))
            stream = reading.open_notifications()
            self.assertEqual(stream.next_event().WhichOneof("kind"), "ready")
            publish(writing, "other" + kind)
            publish(writing, kind + "1")
            event = self.next_of(stream, subscription_id)
            self.assertEqual(event.record_changed.database, public)
            self.assertEqual(event.record_changed.record_name, kind + "1")
            self.assertNotIn(subscription_id, self.listed(reading, public))
            publish(writing, kind + "2")
            reading.ping()
            self.assertFalse(
                [item for item in reading._streams[stream._stream] if subscription_id.encode() in item[1]])

    def test_a_device_that_was_away_for_too_long_is_told_to_fetch(self):
        listener, writer = Device(), Device()
        zone = "Away" + uuid.uuid4().hex
        with writer.connect() as writing:
            make_zone(writing, zone)
            with listener.connect() as listening:
                self.subscribe_to_query(listening, "Note", p.PredicateNode(constant=True), 1, zone=private(zone))
                stream = listening.open_notifications()
                stream.acknowledge(stream.next_event())
                stream.close()
            for first in range(0, 1200, 400):
                save(writing, zone, *(note(f"n{index}", "") for index in range(first, first + 400)))
            with listener.connect() as listening:
                stream = listening.open_notifications()
                self.assertEqual(stream.next_event().WhichOneof("kind"), "ready")
                event = stream.next_event()
                self.assertEqual(event.WhichOneof("kind"), "fetch_from_token")
                self.assertEqual(event.fetch_from_token.database, p.DATABASE_SCOPE_PRIVATE)

    def test_a_second_stream_of_the_device_ends_the_first(self):
        device = Device()
        with device.connect() as one, device.connect() as two:
            first = one.open_notifications()
            first.next_event()
            second = two.open_notifications()
            self.assertEqual(second.next_event().WhichOneof("kind"), "ready")
            with self.assertRaises(BrumeError) as ended:
                while True:
                    first.next_event()
            self.assertEqual(ended.exception.code, OPERATION_CANCELLED)


class StatementTests(unittest.TestCase):
    """An identity that is made here, kept by the server, and read by another device of the account."""

    def connect(self):
        token = list(ready["accounts"].values())[0]["token"]
        client = Client(p, ready["server"], ready["ca"], self.container, os.urandom(16), token)
        self.addCleanup(client.close)
        return client

    def setUp(self):
        self.container = "iCloud.com.example." + uuid.uuid4().hex
        self.client = self.connect()
        self.seed, self.code = os.urandom(32), os.urandom(16)

    def make(self, before=None, devices=1):
        """The statement behind another one, with so many devices."""
        account = self.client.welcome.user_record_name
        number, before_hash = (1, ZEROS) if before is None else (before.content.number + 1, before.hash)
        paper, _ = codes.paper_pair(self.code, account, self.container, "development")
        listed = tuple(
            statements.Device(constructions.public_keys(bytes([number]) * 31 + bytes([n]))) for n in range(devices))
        if before is not None:
            listed = before.content.devices + listed
        content = statements.Statement(
            account, self.container, "development", number, before_hash, constructions.public_keys(self.seed), paper,
            listed)
        return statements.sign_statement(
            content, self.seed, None if before is None else self.seed, self.code if before is None else None)

    def refusal(self, signed):
        with self.assertRaises(BrumeError) as refused:
            self.client.append_statement(signed.encoded())
        return refused.exception.code

    def test_a_chain_is_kept_and_read_by_another_device(self):
        self.assertEqual(self.client.statements(), [])
        first = self.make()
        second = self.make(first)
        for signed in (first, first, second):
            self.client.append_statement(signed.encoded())
        chain = self.connect().statements()
        self.assertEqual(chain, [first.encoded(), second.encoded()])
        self.assertEqual(len(chains.read_statements(chain)[-1].content.devices), 2)
        self.assertEqual(self.client.statements(after=1), [second.encoded()])

    def test_the_second_of_two_first_ones_is_too_late_and_what_does_not_follow_is_refused(self):
        first, late = self.make(), self.make(devices=2)
        self.client.append_statement(first.encoded())
        self.assertEqual(self.refusal(late), SERVER_RECORD_CHANGED)
        self.assertEqual(self.refusal(self.make(late)), INVALID_ARGUMENTS)
        genuine, self.seed = self.make(first), os.urandom(32)
        self.assertEqual(self.refusal(self.make(first)), INVALID_ARGUMENTS)
        self.client.append_statement(genuine.encoded())

    def test_a_first_statement_takes_the_place_of_all_if_it_names_the_last(self):
        first = self.make()
        self.client.append_statement(first.encoded())
        self.seed, self.code = os.urandom(32), os.urandom(16)
        anew = self.make()
        self.assertEqual(self.refusal(anew), SERVER_RECORD_CHANGED)
        for _ in range(2):
            self.client.append_statement(anew.encoded(), replaced_hash=first.hash)
        self.assertEqual(self.client.statements(), [anew.encoded()])
        with self.assertRaises(BrumeError) as refused:
            self.client.append_statement(first.encoded(), replaced_hash=anew.hash)
        self.assertEqual(refused.exception.code, INVALID_ARGUMENTS)

    def test_more_than_a_page_of_statements_comes_whole(self):
        made = [self.make(devices=40)]
        while sum(len(signed.encoded()) for signed in made) < 1_200_000:
            self.seed, before = os.urandom(32), (made[-1], self.seed)
            made.append(self.follow_with_new_keys(*before))
        for signed in made:
            self.client.append_statement(signed.encoded())
        page = self.client.call(
            p.METHOD_STATEMENTS_FETCH, p.FetchStatementsRequest(after=1), p.FetchStatementsResponse)
        self.assertEqual(page.last, len(made))
        self.assertLess(len(page.statements), len(made) - 1)
        self.assertLessEqual(sum(map(len, page.statements)), 1 << 20)
        chain = self.client.statements()
        self.assertEqual(chain, [signed.encoded() for signed in made])
        chains.read_statements(chain)

    def follow_with_new_keys(self, before, seed_before):
        """A statement of the same devices and code with the seed of now."""
        content = statements.Statement(
            before.content.account, self.container, "development", before.content.number + 1, before.hash,
            constructions.public_keys(self.seed), before.content.code, before.content.devices,
            statements.seal_earlier_seed(self.seed, before.hash, seed_before))
        return statements.sign_statement(content, self.seed, seed_before)


class SharingCase(unittest.TestCase):
    """A zone of the first account, which it shares. The second account takes part, the third one does not."""

    OWNER, ADMINISTRATOR, INVITED, CAME_BY_URL = 1, 2, 3, 4  # ShareParticipant.role
    READ_ONLY, READ_AND_WRITE = 2, 3  # ShareParticipant.permission

    def setUp(self):
        self.owner, self.guest, self.stranger = (self.connect(account) for account in range(3))
        self.name = "Shared" + uuid.uuid4().hex
        # As all but the owner name it.
        self.zone = p.ZoneID(name=self.name, owner=self.owner.welcome.user_record_name)

    def connect(self, account):
        client = Device(account).connect()
        self.addCleanup(client.close)
        return client

    def participants(self, share="cloudkit.zoneshare"):
        """User and role of each, as the owner sees it."""
        details = fetch(self.owner, self.name, share)[0].record.share_details
        return [(participant.user, participant.role) for participant in details.participants]

    def zones(self, client):
        answer = client.call(
            p.METHOD_ZONES_LIST, p.ListZonesRequest(database=p.DATABASE_SCOPE_SHARED), p.ListZonesResponse)
        return [zone.id for zone in answer.zones]

    def zones_since(self, client, token=b""):
        """All pages of the shared database's changes: the zones that changed, those that went, and the new token."""
        changed, gone, more = [], [], True
        while more:
            page = client.call(
                p.METHOD_DATABASES_CHANGES,
                p.DatabaseChangesRequest(database=p.DATABASE_SCOPE_SHARED, token=token), p.DatabaseChangesResponse)
            changed += page.changed
            gone += [deletion.id for deletion in page.deletions]
            token, more = page.token, page.more_coming
        return changed, gone, token

    def modify_zones(self, client, **items):
        return client.call(
            p.METHOD_ZONES_MODIFY,
            p.ModifyZonesRequest(database=p.DATABASE_SCOPE_SHARED, operation_id=os.urandom(16), **items),
            p.ModifyZonesResponse)

    def refused(self, code, action, *arguments):
        with self.assertRaises(BrumeError) as refused:
            action(*arguments)
        self.assertEqual(refused.exception.code, code, refused.exception.message)
        self.assertTrue(refused.exception.message)


class SharingTests(SharingCase):
    """The zone is shared as a whole."""

    def share(self, permission=SharingCase.READ_AND_WRITE):
        """Shares the zone with whoever has the URL, and gives the URL."""
        make_zone(self.owner, self.name)
        answer = save(self.owner, self.name, p.RecordSave(
            name="cloudkit.zoneshare", type="cloudkit.share", share=p.ShareChange(public_permission=permission),
            fields=[p.Field(key="cloudkit.title", value=p.Value(string_value="Our notes"))])).saves[0]
        self.assertEqual(answer.WhichOneof("outcome"), "record", answer)
        self.assertTrue(answer.record.share_details.url)
        return answer.record.share_details.url

    def test_the_url_of_a_shared_zone_leads_others_into_it(self):
        url = self.share()
        for address in (url, url + "#Our_notes"):
            told = self.guest.share_metadata(address)
            self.assertEqual((told.container, told.environment), (CONTAINER, p.ENVIRONMENT_DEVELOPMENT))
            self.assertEqual((told.zone, told.root), (self.zone, ""))
            self.assertEqual(told.user, self.guest.welcome.user_record_name)
            self.assertEqual(
                (told.role, told.permission, told.is_accepted), (self.CAME_BY_URL, self.READ_AND_WRITE, False))
            self.assertEqual(told.share.fields[0].value.string_value, "Our notes")
        accepted = self.guest.accept_share(url)
        self.assertEqual((accepted.zone, accepted.share.name), (self.zone, "cloudkit.zoneshare"))
        self.assertEqual(self.guest.accept_share(url).zone, self.zone)
        self.assertTrue(self.guest.share_metadata(url).is_accepted)
        self.assertEqual(
            self.participants(),
            [(self.zone.owner, self.OWNER), (self.guest.welcome.user_record_name, self.CAME_BY_URL)])
        self.refused(INVALID_ARGUMENTS, self.owner.accept_share, url)
        self.refused(UNKNOWN_ITEM, self.guest.accept_share, url[:-6] + "AAAAAA")
        with Client(
                p, ready["server"], ready["ca"], "iCloud.com.example.python.other", os.urandom(16),
                Device(1).token) as elsewhere:
            self.assertEqual(elsewhere.share_metadata(url).container, CONTAINER)
            self.refused(BAD_CONTAINER, elsewhere.accept_share, url)

    def test_who_takes_part_finds_the_zone_and_writes_to_it(self):
        url = self.share()
        tag = save(self.owner, self.name, note("n", "the owner's")).saves[0].record.change_tag
        _, _, before = self.zones_since(self.guest)
        self.assertNotIn(self.zone, self.zones(self.guest))
        self.guest.accept_share(url)
        self.assertIn(self.zone, self.zones(self.guest))
        changed, _, token = self.zones_since(self.guest, before)
        self.assertIn(self.zone, changed)
        page = changes(self.guest, self.zone)
        texts = {record.name: record.fields[0].value.string_value for record in page.records}
        self.assertEqual(texts, {"n": "the owner's", "cloudkit.zoneshare": "Our notes"})

        saved = save(self.guest, self.zone, note("n", "changed", tag), note("m", "the guest's")).saves
        self.assertEqual([result.record.modifier for result in saved], [self.guest.welcome.user_record_name] * 2)
        for client, zone in ((self.owner, self.name), (self.guest, self.zone)):
            self.assertEqual(
                [result.record.fields[0].value.string_value for result in fetch(client, zone, "n", "m")],
                ["changed", "the guest's"])
        save(self.owner, self.name, deletions=["m"])
        page = changes(self.guest, self.zone, page.token)
        self.assertEqual([record.name for record in page.records], ["n"])
        changed, _, _ = self.zones_since(self.guest, token)
        self.assertIn(self.zone, changed)
        query = (p.DATABASE_SCOPE_SHARED, "Note", p.PredicateNode(constant=True))
        matches = [match for page in self.guest.query(*query, zone=self.zone) for match in page]
        self.assertEqual([(match.zone, match.record.name) for match in matches], [(self.zone, "n")])
        self.refused(INVALID_ARGUMENTS, list, self.guest.query(*query))
        # The zone is its owner's: nobody makes zones in the shared database.
        answer = self.modify_zones(self.guest, saves=[p.ZoneID(name="Mine", owner=self.zone.owner)])
        self.assertEqual(answer.saves[0].error.code, PERMISSION_FAILURE)

    def test_who_may_only_read_writes_nothing(self):
        url = self.share(self.READ_ONLY)
        save(self.owner, self.name, note("n", "1"))
        self.guest.accept_share(url)
        self.assertEqual(fetch(self.guest, self.zone, "n")[0].record.name, "n")
        answer = save(self.guest, self.zone, note("m", "2"), deletions=["n"])
        self.assertEqual(
            [result.error.code for result in (*answer.saves, *answer.deletions)], [PERMISSION_FAILURE] * 2)

    def test_a_zone_that_a_participant_leaves_stays_with_its_owner(self):
        url = self.share()
        save(self.owner, self.name, note("n", "1"))
        self.guest.accept_share(url)
        read = changes(self.guest, self.zone).token
        _, _, token = self.zones_since(self.guest)
        for _ in range(2):
            answer = self.modify_zones(self.guest, deletions=[self.zone])
            self.assertFalse(answer.deletions[0].HasField("error"), answer)
        _, gone, _ = self.zones_since(self.guest, token)
        self.assertIn(self.zone, gone)
        self.assertNotIn(self.zone, self.zones(self.guest))
        self.refused(ZONE_NOT_FOUND, changes, self.guest, self.zone)
        self.assertEqual(fetch(self.owner, self.name, "n")[0].record.name, "n")
        self.assertEqual(self.participants(), [(self.zone.owner, self.OWNER)])
        # Whoever comes back begins anew.
        self.guest.accept_share(url)
        self.refused(CHANGE_TOKEN_EXPIRED, changes, self.guest, self.zone, read)

    def test_to_a_third_account_the_zone_does_not_exist(self):
        self.guest.accept_share(self.share())
        save(self.owner, self.name, note("n", "1"))
        absent = p.ZoneID(name="Absent", owner=self.zone.owner)
        for zone in (self.zone, absent):
            self.refused(ZONE_NOT_FOUND, changes, self.stranger, zone)
            self.assertEqual(fetch(self.stranger, zone, "n")[0].error.code, ZONE_NOT_FOUND)
            answer = save(self.stranger, zone, note("m", "2"), deletions=["n"])
            self.assertEqual(
                [result.error.code for result in (*answer.saves, *answer.deletions)], [ZONE_NOT_FOUND] * 2)
            # Nor does leaving it tell whether it is there.
            self.assertFalse(self.modify_zones(self.stranger, deletions=[zone]).deletions[0].HasField("error"))
        self.assertNotIn(self.zone, self.zones(self.stranger))
        found = fetch(self.guest, self.zone, "n", "m")
        self.assertEqual([result.WhichOneof("outcome") for result in found], ["record", "error"])

    def test_all_devices_of_a_participant_are_told_of_the_zone_and_of_what_others_write(self):
        other_device = self.connect(1)
        subscription = p.Subscription(id="shared-" + uuid.uuid4().hex, database=p.DatabaseSubscription())

        def modify_subscriptions(**items):
            return self.guest.call(
                p.METHOD_SUBSCRIPTIONS_MODIFY,
                p.ModifySubscriptionsRequest(
                    database=p.DATABASE_SCOPE_SHARED, operation_id=os.urandom(16), **items),
                p.ModifySubscriptionsResponse)

        answer = modify_subscriptions(saves=[subscription])
        self.assertEqual(answer.saves[0].WhichOneof("outcome"), "subscription", answer)
        self.addCleanup(modify_subscriptions, deletions=[subscription.id])
        streams = [client.open_notifications() for client in (self.guest, other_device)]
        for stream in streams:
            self.assertEqual(stream.next_event().WhichOneof("kind"), "ready")

        def hears(stream):
            while True:
                event = stream.next_event()
                if event.subscription_id == subscription.id:
                    self.assertEqual(event.database_changed.database, p.DATABASE_SCOPE_SHARED)
                    stream.acknowledge(event)
                    return

        self.guest.accept_share(self.share())
        for stream in streams:
            hears(stream)
        save(self.owner, self.name, note("n", "1"))
        for stream in streams:
            hears(stream)


class RecordSharingTests(SharingCase):
    """Single records of the zone are shared, each with what is below it."""

    def below(self, parent, name, text="the owner's", tag=""):
        record = note(name, text, tag)
        record.parent = parent
        return record

    def setUp(self):
        super().setUp()
        make_zone(self.owner, self.name)
        saved = save(
            self.owner, self.name, note("folder", "hidden"), self.below("folder", "one"), self.below("one", "page"),
            self.below("folder", "two"), self.below("two", "sheet")).saves
        self.tags = {result.record.name: result.record.change_tag for result in saved}

    def share(self, root, permission=SharingCase.READ_AND_WRITE):
        """Shares a record, which the same request saves, and gives the share's URL. The share is named after it."""
        saved = save(
            self.owner, self.name, p.RecordSave(name=root, type="Note", change_tag=self.tags[root]),
            p.RecordSave(
                name="share-" + root, type="cloudkit.share",
                share=p.ShareChange(root=root, public_permission=permission))).saves
        self.assertEqual([result.WhichOneof("outcome") for result in saved], ["record"] * 2, saved)
        return saved[1].record.share_details.url

    def told(self, token=b""):
        """What the guest is told of the zone since a token: what is there, what went, and the new token."""
        page = changes(self.guest, self.zone, token)
        self.assertFalse(page.more_coming)
        return (
            {record.name for record in page.records}, {deletion.name for deletion in page.deletions}, page.token)

    def codes(self, *saves, deletions=()):
        """What becomes of each item of the guest's; 0 for what succeeds."""
        answer = save(self.guest, self.zone, *saves, deletions=deletions)
        return [result.error.code for result in (*answer.saves, *answer.deletions)]

    def test_who_takes_part_sees_the_record_with_what_is_below_it_alone(self):
        url = self.share("one")
        self.assertEqual(self.guest.share_metadata(url).root, "one")
        accepted = self.guest.accept_share(url)
        self.assertEqual((accepted.zone, accepted.share.name), (self.zone, "share-one"))
        self.assertIn(self.zone, self.zones(self.guest))
        names, gone, _ = self.told()
        self.assertEqual((names, gone), ({"one", "page", "share-one"}, set()))
        found = fetch(self.guest, self.zone, "one", "page", "folder", "two", "nothing")
        self.assertEqual([result.record.name for result in found[:2]], ["one", "page"])
        self.assertEqual([result.record.parent for result in found[:2]], ["", "one"])
        self.assertEqual(found[0].record.share, "share-one")
        self.assertEqual([result.error.code for result in found[2:]], [UNKNOWN_ITEM] * 3)
        self.assertEqual(len({result.error.message for result in found[2:]}), 1)
        query = (p.DATABASE_SCOPE_SHARED, "Note", p.PredicateNode(constant=True))
        matches = [match.record.name for page in self.guest.query(*query, zone=self.zone) for match in page]
        self.assertEqual(sorted(matches), ["one", "page"])
        self.assertEqual(fetch(self.stranger, self.zone, "one")[0].error.code, ZONE_NOT_FOUND)

    def test_who_takes_part_writes_below_the_record_and_nowhere_else(self):
        self.guest.accept_share(self.share("one"))
        self.assertEqual(self.codes(self.below("line", "word"), self.below("page", "line")), [0, 0])
        self.assertEqual(
            fetch(self.owner, self.name, "word")[0].record.creator, self.guest.welcome.user_record_name)
        refused = [
            note("new", "no parent"), self.below("folder", "new"), self.below("nothing", "new"),
            # A name that the guest doesn't see is taken all the same.
            self.below("one", "two"),
            # None takes a record out of its share, nor moves the root.
            self.below("folder", "page", tag=self.tags["page"]),
            p.RecordSave(name="page", type="Note", change_tag=self.tags["page"], removes_parent=True),
            self.below("page", "one", tag=fetch(self.guest, self.zone, "one")[0].record.change_tag)]
        for item in refused:
            answer = save(self.guest, self.zone, item).saves[0]
            self.assertEqual(answer.error.code, PERMISSION_FAILURE, item)
            self.assertFalse(answer.error.HasField("server_record"), item)
        self.assertEqual(self.codes(deletions=["one"]), [PERMISSION_FAILURE])
        self.assertEqual(self.codes(deletions=["folder", "nothing", "word"]), [0, 0, 0])
        self.assertEqual(
            [result.WhichOneof("outcome") for result in fetch(self.owner, self.name, "one", "folder", "word")],
            ["record", "record", "error"])

    def test_shares_of_one_zone_come_and_go_with_its_changes(self):
        urls = {root: self.share(root) for root in ("one", "two")}
        self.guest.accept_share(urls["one"])
        names, _, token = self.told()
        self.assertEqual(names, {"one", "page", "share-one"})
        self.guest.accept_share(urls["two"])
        names, gone, later = self.told(token)
        self.assertEqual((names, gone), ({"two", "sheet", "share-two"}, set()))
        _, _, zones = self.zones_since(self.guest)
        self.assertEqual(self.codes(note("new", "1"), deletions=["share-two"]), [PERMISSION_FAILURE, 0])
        names, gone, _ = self.told(later)
        self.assertEqual((names, gone), (set(), {"two", "sheet", "share-two"}))
        changed, gone, zones = self.zones_since(self.guest, zones)
        self.assertIn(self.zone, changed)
        self.assertNotIn(self.zone, gone)
        self.assertEqual(self.participants("share-two"), [(self.zone.owner, self.OWNER)])
        # What the owner moves into the share or out of it comes and goes as well.
        _, _, later = self.told(later)
        save(self.owner, self.name, self.below("one", "sheet", tag=self.tags["sheet"]))
        names, gone, later = self.told(later)
        self.assertEqual((names, gone), ({"sheet"}, set()))
        tag = fetch(self.owner, self.name, "sheet")[0].record.change_tag
        save(self.owner, self.name, self.below("two", "sheet", tag=tag))
        names, gone, later = self.told(later)
        self.assertEqual((names, gone), (set(), {"sheet"}))
        self.assertFalse(self.modify_zones(self.guest, deletions=[self.zone]).deletions[0].HasField("error"))
        self.assertIn(self.zone, self.zones_since(self.guest, zones)[1])
        self.refused(ZONE_NOT_FOUND, changes, self.guest, self.zone, later)
        self.assertEqual(fetch(self.owner, self.name, "one")[0].record.name, "one")

    def test_who_may_only_read_writes_nothing_below_the_record_either(self):
        self.guest.accept_share(self.share("one", self.READ_ONLY))
        self.assertEqual(
            self.codes(self.below("one", "new"), self.below("one", "page", "2", self.tags["page"])),
            [PERMISSION_FAILURE] * 2)
        self.assertEqual(self.codes(deletions=["page"]), [PERMISSION_FAILURE])


def bucket_bounds(index):
    """The smallest and the largest value of a histogram's bucket, as admin.proto says."""
    if index < 128:
        return index, index
    exponent, fraction = index // 128 - 1, index % 128 + 128
    return fraction << exponent, ((fraction + 1) << exponent) - 1


class AdminTests(unittest.TestCase):
    def test_the_operator_gets_figures_and_nobody_else(self):
        # The folder of the ready file holds the server's, as the test that runs this one lays it out.
        folder = os.path.join(os.path.dirname(os.path.abspath(ready_path)), "data")
        with Client(p, folder + "/operator/socket", None, CONTAINER, os.urandom(16)) as operator:
            operator.call(p.METHOD_HEALTH_CHECK, p.HealthRequest(), p.HealthResponse)
            stats = operator.call(p.METHOD_ADMIN_STATS, p.StatsRequest(), p.StatsResponse)
        self.assertTrue(stats.serving)
        self.assertGreater(stats.resident_bytes, 0)
        health = next(item for item in stats.methods if item.method == p.METHOD_HEALTH_CHECK)
        latency = health.latency_nanoseconds
        self.assertEqual(len(latency.buckets), len(latency.counts))
        self.assertEqual(sum(latency.counts), health.ended)
        low, high = bucket_bounds(latency.buckets[-1])
        self.assertTrue(low <= latency.maximum <= high, (low, latency.maximum, high))
        with Device().connect() as client, self.assertRaises(BrumeError) as refused:
            client.call(p.METHOD_ADMIN_STATS, p.StatsRequest(), p.StatsResponse)
        self.assertEqual(refused.exception.code, PERMISSION_FAILURE)
        # On the port not even the operator has them, unless the server was told to.
        with open(folder + "/admin.token", encoding="utf-8") as file:
            token = file.read().strip()
        with self.assertRaises(BrumeError) as refused:
            Client(p, ready["server"], ready["ca"], CONTAINER, os.urandom(16), admin_token=token)
        self.assertEqual(refused.exception.code, NOT_AUTHENTICATED)

    def test_what_may_not_be_read_is_told_as_what_is_not_there(self):
        container, public = "iCloud.com.example.python.reading", p.DATABASE_SCOPE_PUBLIC
        door = os.path.join(os.path.dirname(os.path.abspath(ready_path)), "data", "operator", "socket")
        with Client(p, door, None, container, os.urandom(16)) as operator:
            operator.call(
                p.METHOD_ADMIN_IMPORT_SCHEMA,
                p.ImportSchemaRequest(text="""
                    DEFINE SCHEMA RECORD TYPE Diary (
                        text STRING QUERYABLE, GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator");
                    """), p.ImportSchemaResponse)

        def modify(client, **items):
            return client.call(
                p.METHOD_RECORDS_MODIFY,
                p.ModifyRecordsRequest(
                    database=public, operation_id=os.urandom(16),
                    zones=[p.ZoneModification(zone=private("_defaultZone"), **items)]), p.ModifyRecordsResponse)

        def answers(client, name):
            fetch = p.FetchRecordsRequest(
                database=public, zones=[p.ZoneFetch(zone=private("_defaultZone"), names=[name])])
            return (
                client.call(p.METHOD_RECORDS_FETCH, fetch, p.FetchRecordsResponse).SerializeToString(),
                modify(client, deletions=[name]).SerializeToString(),
                modify(client, saves=[p.RecordSave(name="child", type="Diary", parent=name)]).SerializeToString())

        tokens = [account["token"] for account in ready["accounts"].values()]
        with Client(p, ready["server"], ready["ca"], container, os.urandom(16), tokens[0]) as author, \
                Client(p, ready["server"], ready["ca"], container, os.urandom(16), tokens[1]) as stranger:
            saved = modify(author, saves=[p.RecordSave(name="hidden", type="Diary")])
            self.assertEqual(saved.zones[0].saves[0].WhichOneof("outcome"), "record", saved)
            self.assertEqual(answers(stranger, "hidden"), answers(stranger, "absent"))
            over = modify(stranger, saves=[p.RecordSave(name="hidden", type="Diary")]).zones[0].saves[0]
            self.assertEqual(over.error.code, PERMISSION_FAILURE)
            with self.assertRaises(BrumeError) as refused:
                stranger.call(
                    p.METHOD_RECORDS_EXPLAIN,
                    p.QueryRequest(database=public, query=p.Query(
                        record_type="Diary", predicate=predicate(p, p.PredicateNode(constant=True)))), p.ExplainResponse)
            self.assertEqual(refused.exception.code, PERMISSION_FAILURE)


def main():
    """Generates the messages, then runs the tests."""
    global p, ready, ready_path
    if len(sys.argv) != 2:
        sys.exit("usage: test_client.py READY_FILE (what brume dev --ready-file writes)")
    ready_path = sys.argv.pop()
    with open(ready_path, encoding="utf-8") as file:
        ready = json.load(file)
    if len(ready["accounts"]) < 3:
        sys.exit("test_client.py needs a server with three accounts: brume dev --accounts alice,bob,carol")
    with tempfile.TemporaryDirectory() as generated:
        p = Protocol(os.path.join(FOLDER, "../../proto"), generated)
        outcome = unittest.main(exit=False, verbosity=2)
    sys.exit(0 if outcome.result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
