internal import BrumeKit
internal import BrumeModel
internal import BrumeServer
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// Writes the fixtures with the server as it is: starts, commits, a backup, a future that is lost, a restore, a kill.
@Suite("Fixtures", .serialized, .timeLimit(.minutes(2)))
struct FixtureWriter {
    /// A server in this process, with small journal files.
    private func serve(on data: String) throws -> RunningServer {
        try RunningServer {
            $0.dataFolder = data
            $0.loopCount = 1
            $0.journalSegmentBytes = 16 * 1024
        }
    }

    private static let notes = FixtureContent.notes

    @Test(
        "are written",
        .enabled(
            if: ProcessInfo.processInfo.environment["BRUME_WRITE_FIXTURES"] != nil, "BRUME_WRITE_FIXTURES is not set"))
    func write() async throws {
        let folder = try TestFolder()
        var known = FixtureContent.Knowledge()
        let (data, restored) = (folder.path + "/data", folder.path + "/restored")
        try FileManager.default.createDirectory(atPath: FixtureContent.folder, withIntermediateDirectories: true)
        let target = FixtureContent.path(version: FixtureContent.writtenVersion)
        let backup = target + ".brume"
        for path in [backup, target] { try? FileManager.default.removeItem(atPath: path) }

        var run = try serve(on: data)
        for name in ["ada", "bob"] {
            let (account, token) = try run.server.addAccount(name: name, email: name + "@example.com")
            known.texts[name] = token
            let user = run.server.account(
                named: account.name, container: FixtureContent.container, environment: .development)
            known.texts[name + "User"] = user?.userRecordName
        }
        try await first(run, &known)
        run.stop()

        run = try serve(on: data)
        try await second(run, &known)
        run.stop()
        let made = try CommandRun(["backup", backup, "--data", data], in: folder)
        try #require(made.status == 0, "\(made.errors)")

        run = try serve(on: data)
        try await lost(run, &known)
        run.stop()

        let restore = try CommandRun(["restore", backup, "--data", restored], in: folder)
        try #require(restore.status == 0, "\(restore.errors)")
        run = try serve(on: restored)
        _ = try await run.session(known["ada"]).save(Self.notes, [.note("after-restore")])
        known.set("late", token: try await run.session(known["ada"]).page(of: Self.notes).token)
        run.stop()

        run = try serve(on: restored)
        let ada = try run.session(known["ada"])
        _ = try await ada.save(Self.notes, [.note("tail")], deletions: ["old3"])
        known.set("last", token: try await ada.page(of: Self.notes).token)
        // As a kill would leave it: the last commits are in the journal alone.
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: restored)
        where !["lock", "server.json", "operator"].contains(name) {
            try FileManager.default.copyItem(atPath: restored + "/" + name, toPath: target + "/" + name)
        }
        try FileManager.default.moveItem(atPath: target + "/secret.key", toPath: target + "/secret")
        run.stop()
        try known.write()
    }

    private func first(_ run: RunningServer, _ known: inout FixtureContent.Knowledge) async throws {
        let session = try run.session(known["ada"])
        let database = run.container(try known["ada"]).privateCloudDatabase
        let zones = [FixtureContent.notes, FixtureContent.again, FixtureContent.gone]
        _ = try await session.modifyZones(ModifyZonesRequest(database: .private, saves: zones))
        _ = try await session.modifyZones(FixtureContent.makingRemembered)
        let parent = try await session.save(Self.notes, [.note("parent")])
        known.texts["parentTag"] = parent[0].record?.system.changeTag
        let everything = RecordSave<DecodedFields>(
            name: "everything", type: "Everything", fields: FixtureContent.values.mapValues { .some($0) })
        _ = try await session.save(
            Self.notes,
            [everything, .note("child", parent: .set("parent")), .note("old1"), .note("old2"), .note("old3")])
        _ = try await session.save(FixtureContent.again, [.note("first")])
        _ = try await session.save(FixtureContent.gone, [.note("lost")])
        _ = try await session.save(ZoneID.defaultZone, [.note("in-default", 7)])
        _ = try await session.save(ZoneID.defaultZone, [.note("shared", 8)], database: .public)
        let once = try await session.save(Self.notes, [.note("once")], operationID: FixtureContent.operationID)
        known.texts["onceTag"] = once[0].record?.system.changeTag
        _ = try await database.save(CKDatabaseSubscription(subscriptionID: "all"))
        _ = try await database.save(
            CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Notes"), subscriptionID: "notes"))
        known.set("early", token: try await session.page(of: Self.notes).token)
        known.set("earlyAgain", token: try await session.page(of: FixtureContent.again).token)
        known.set("earlyDatabase", token: try await database.databaseChanges(since: nil).changeToken.bytes)
        let bob = try run.session(known["bob"])
        _ = try await bob.modifyZones(ModifyZonesRequest(database: .private, saves: [FixtureContent.notes]))
        _ = try await bob.save(Self.notes, [.note("bobs")])
        try await share(run, &known)
    }

    /// Two lists of one zone, which bob takes part in.
    private func share(_ run: RunningServer, _ known: inout FixtureContent.Knowledge) async throws {
        let (ada, bob) = (try run.session(known["ada"]), try run.session(known["bob"]))
        let (adas, bobs) = (run.container(try known["ada"]), run.container(try known["bob"]))
        let lists = FixtureContent.lists
        _ = try await ada.modifyZones(ModifyZonesRequest(database: .private, saves: [lists]))
        for (list, item) in [("food", "milk"), ("plans", "travel")] {
            var edit = ShareEdit()
            edit.publicPermission = .readWrite
            _ = try await ada.save(
                lists, [RecordSave(name: "s-\(list)", type: Names.shareType, fields: [:]), .note(list)],
                shares: ["s-\(list)": ShareSave(root: list, edit: edit)])
            _ = try await ada.save(lists, [.note(item, parent: .set(list))])
            let id = CKRecord.ID(recordName: "s-\(list)", zoneID: CKRecordZone.ID(zoneName: lists.name))
            let share = try #require(try await adas.privateCloudDatabase.record(for: id) as? CKShare)
            let metadata = try await bobs.shareMetadata(for: try #require(share.url))
            _ = try await bobs.accept(metadata)
        }
        let shared = ZoneID(name: lists.name, owner: try known["adaUser"])
        known.set("bobsShared", token: try await bob.page(of: shared, in: .shared).token)
    }

    private func second(_ run: RunningServer, _ known: inout FixtureContent.Knowledge) async throws {
        let session = try run.session(known["ada"])
        _ = try await session.save(Self.notes, [], deletions: ["old1", "old2"])
        _ = try await session.save(Self.notes, [.note("old3", 2)], policy: .allKeys)
        for zone in [FixtureContent.gone, FixtureContent.again, FixtureContent.remembered] {
            _ = try await session.modifyZones(ModifyZonesRequest(database: .private, deletions: [zone]))
        }
        _ = try await session.modifyZones(ModifyZonesRequest(database: .private, saves: [FixtureContent.again]))
        _ = try await session.save(FixtureContent.again, [.note("second")])
        // One record leaves a share, another one comes, and the other share ends.
        _ = try await session.save(
            FixtureContent.lists, [.note("milk", parent: .removed), .note("bread", parent: .set("food"))],
            deletions: ["s-plans"], policy: .allKeys)
        known.set("middle", token: try await session.page(of: Self.notes).token)
    }

    private func lost(_ run: RunningServer, _ known: inout FixtureContent.Knowledge) async throws {
        let session = try run.session(known["ada"])
        let outcome = try await session.save(
            Self.notes, [.note("lost-future"), .note("parent", 99, tag: try known["parentTag"])])
        known.texts["lostTag"] = outcome[1].record?.system.changeTag
        known.set("lost", token: try await session.page(of: Self.notes).token)
    }
}

extension RunningServer {
    fileprivate func container(_ token: String) -> CKContainer {
        CKContainer(identifier: FixtureContent.container, configuration: configuration(token))
    }

    fileprivate func session(_ token: String) throws -> ClientSession {
        try ClientSession.unshared(configuration(token))
    }

    private func configuration(_ token: String) -> BrumeConfiguration {
        clientConfiguration(token: token) { $0.container = FixtureContent.container }
    }
}
