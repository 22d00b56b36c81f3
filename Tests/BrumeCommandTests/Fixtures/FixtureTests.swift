internal import BrumeKit
internal import BrumeModel
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// What an earlier version wrote is opened, and what its clients knew is worth what it was.
@Suite("Data of an earlier version", .serialized, .timeLimit(.minutes(2)))
struct FixtureTests {
    /// A server on a folder, and the sessions of the two accounts.
    private struct Desk {
        let server: ServerProcess
        let known: FixtureContent.Knowledge
        let ada: ClientSession
        let bob: ClientSession
        let database: CKDatabase

        init(_ folder: TestFolder, version: Int) throws {
            let server = try ServerProcess(folder: folder)
            let known = try FixtureContent.Knowledge.read(version: version)
            (self.server, self.known) = (server, known)
            try server.start()
            func configuration(_ name: String) throws -> BrumeConfiguration {
                server.configuration(token: try known[name], container: FixtureContent.container)
            }
            ada = try ClientSession.unshared(configuration("ada"))
            bob = try ClientSession.unshared(configuration("bob"))
            database =
                CKContainer(identifier: FixtureContent.container, configuration: try configuration("ada"))
                .privateCloudDatabase
        }

        func expectChanges(
            since name: String, _ live: [String], _ deleted: [String],
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let page = try await ada.page(of: FixtureContent.notes, since: known.token(name))
            #expect(page.live == live && page.deleted.sorted() == deleted, "\(name)", sourceLocation: sourceLocation)
        }

        func expectExpired(
            _ name: String, of zone: ZoneID = FixtureContent.notes, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let token = try known.token(name)
            let error = await #expect(throws: ServiceError.self, sourceLocation: sourceLocation) {
                try await ada.page(of: zone, since: token)
            }
            #expect(error?.code == .changeTokenExpired, "\(name)", sourceLocation: sourceLocation)
        }

        func record(
            _ name: String, in zone: ZoneID = FixtureContent.notes, database: BrumeModel.DatabaseScope = .private
        ) async throws -> Record? {
            try await ada.fetchRecords(
                FetchRecordsRequest(database: database, zones: [.init(zone: zone, names: [name])]))[0][0].record
        }
    }

    /// What the data folder and the backup of a version both hold.
    private func expectCommon(_ desk: Desk, version: Int) async throws {
        let known = desk.known
        #expect(try await desk.ada.welcome().userRecordName == known["adaUser"])
        #expect(try await desk.bob.welcome().userRecordName == known["bobUser"])
        #expect(try await desk.bob.page(of: FixtureContent.notes).live == ["bobs"])
        #expect(try await desk.record("everything")?.fields == FixtureContent.values)
        let child = try await desk.record("child")
        #expect(child?.system.parent == "parent" && child?.system.type == "Note")
        #expect(try await desk.record("in-default", in: .defaultZone)?.fields == ["n": .int64(7)])
        #expect(try await desk.record("shared", in: .defaultZone, database: .public)?.fields == ["n": .int64(8)])
        #expect(try await desk.record("lost-future") == nil)

        #expect(try await desk.ada.page(of: FixtureContent.again).live == ["second"])
        try await desk.expectExpired("earlyAgain", of: FixtureContent.again)
        try await desk.expectExpired("lost")
        let error = await #expect(throws: ServiceError.self) { try await desk.ada.page(of: FixtureContent.gone) }
        #expect(error?.code == .zoneNotFound || error?.code == .userDeletedZone)
        let changes = try await desk.database.databaseChanges(
            since: CKServerChangeToken(bytes: known.token("earlyDatabase")))
        #expect(changes.modifications.map(\.zoneID.zoneName).contains("Again"))
        #expect(changes.deletions.map(\.zoneID.zoneName).contains("Gone"))
        let subscriptions = try await desk.database.allSubscriptions()
        #expect(Set(subscriptions.map(\.subscriptionID)) == ["all", "notes"])

        // The operation is remembered: asked for again it has no effect, and its answer is as it was.
        let retry = try await desk.ada.save(
            FixtureContent.notes, [.note("once")], operationID: FixtureContent.operationID)
        #expect(try retry[0].record?.system.changeTag == known["onceTag"])
        // Version 1 kept no digests, by which another request under the id is told.
        if version > 1 {
            let reused = await #expect(throws: ServiceError.self) {
                try await desk.ada.save(
                    FixtureContent.notes, [.note("other")], operationID: FixtureContent.operationID)
            }
            #expect(reused?.code == .invalidArguments, "its id names another request")
        }
        // What versions 1 and 2 kept of operations on zones can't be read any more: see FormerOperation.
        if version > 2 {
            let again = try await desk.ada.modifyZones(FixtureContent.makingRemembered)
            #expect(try again.saves.map { try $0.get().id } == [FixtureContent.remembered], "the answer is as it was")
            let page = await #expect(throws: ServiceError.self) {
                try await desk.ada.page(of: FixtureContent.remembered)
            }
            #expect(page?.code == .zoneNotFound || page?.code == .userDeletedZone, "the zone is not made again")
        }
        if version > 3 { try await expectShared(desk) }
        // The tag of a future that is lost wins nothing, the one before it does.
        let lost = try await desk.ada.save(FixtureContent.notes, [.note("parent", 3, tag: known["lostTag"])])
        #expect(lost[0].record == nil)
        let saved = try await desk.ada.save(FixtureContent.notes, [.note("parent", 3, tag: known["parentTag"])])
        #expect(saved[0].record != nil)
    }

    /// What bob is told of ada's lists, of which one is not shared any more.
    private func expectShared(_ desk: Desk) async throws {
        let zone = ZoneID(name: FixtureContent.lists.name, owner: try desk.known["adaUser"])
        let all = try await desk.bob.page(of: zone, in: .shared)
        #expect(Set(all.live) == ["food", "s-food", "bread"] && all.deleted.isEmpty)
        let since = try await desk.bob.page(of: zone, since: desk.known.token("bobsShared"), in: .shared)
        #expect(since.live == ["bread"] && Set(since.deleted) == ["milk", "plans", "s-plans", "travel"])
        let saves: [RecordSave<DecodedFields>] = [.note("butter", parent: .set("food"))]
        let saved = try await desk.bob.save(zone, saves, database: .shared)
        #expect(saved[0].record != nil)
    }

    @Test(
        "a data folder that a killed server left is opened, with all that was acknowledged",
        arguments: FixtureContent.versions)
    func dataFolder(version: Int) async throws {
        let folder = try TestFolder()
        try FileManager.default.copyItem(
            atPath: FixtureContent.path(version: version), toPath: folder.path + "/data")
        func metaVersion() throws -> Int {
            Int(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/data/brume.meta"))[8])
        }
        #expect(try metaVersion() == version, "the fixture is of the version that its name says")
        // Repositories are searched for keys by name; this one opens nothing that anybody runs.
        try FileManager.default.moveItem(
            atPath: folder.path + "/data/secret", toPath: folder.path + "/data/secret.key")
        let verified = try CommandRun(["verify", folder.path + "/data"], in: folder)
        #expect(verified.status == 0, "\(verified.output)")
        let desk = try Desk(folder, version: version)
        let names = ["parent", "everything", "child", "once", "after-restore", "tail"]
        #expect(try await desk.ada.page(of: FixtureContent.notes).live == names)
        try await desk.expectChanges(since: "early", ["after-restore", "tail"], ["old1", "old2", "old3"])
        try await desk.expectChanges(since: "middle", ["after-restore", "tail"], ["old3"])
        try await desk.expectChanges(since: "late", ["tail"], ["old3"])
        try await desk.expectChanges(since: "last", [], [])
        try await expectCommon(desk, version: version)
        desk.server.send(SIGTERM)
        #expect(try await desk.server.end() == 0)
        try desk.server.expectSound()
        #expect(try metaVersion() == FixtureContent.writtenVersion, "an earlier server refuses the folder")
    }

    @Test("a backup file is verified and restored; tokens from after it expire", arguments: FixtureContent.versions)
    func backupFile(version: Int) async throws {
        let folder = try TestFolder()
        let path = FixtureContent.path(version: version) + ".brume"
        #expect(try CommandRun(["verify", path], in: folder).status == 0)
        let restore = try CommandRun(["restore", path, "--data", folder.path + "/data"], in: folder)
        #expect(restore.status == 0, "\(restore.errors)")
        let desk = try Desk(folder, version: version)
        #expect(
            try await desk.ada.page(of: FixtureContent.notes).live == ["parent", "everything", "child", "once", "old3"])
        try await desk.expectChanges(since: "early", ["old3"], ["old1", "old2"])
        try await desk.expectChanges(since: "middle", [], [])
        try await desk.expectExpired("late")
        try await desk.expectExpired("last")
        try await expectCommon(desk, version: version)
        desk.server.kill()
    }
}
