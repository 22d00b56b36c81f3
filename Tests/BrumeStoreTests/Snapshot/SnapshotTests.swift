import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("Snapshots")
struct SnapshotTests {
    /// A folder with something of everything in it.
    static func filled() throws -> Folder {
        let folder = try Folder()
        try folder.makeZone()
        try folder.save("a", "b", "c")
        try folder.save("a", bytes: 300)
        try folder.keep(try #require(folder.desk.modify(deletions: ["b"]).commit))
        try folder.keep(
            try #require(
                folder.desk.modify(saves: [
                    .of("child", ["up": Reference.cascading(to: "c")], parent: .set("a"))
                ]).commit))
        try folder.keep(try #require(folder.desk.modify(.defaultZone, saves: [.of("d"), .of("e")]).commit))
        try folder.keep(try #require(folder.desk.modify(.defaultZone, deletions: ["e"]).commit))
        for name in ["x", "y", "z"] { try folder.keep(try #require(folder.desk.makeZone(name))) }
        try folder.keep(try #require(folder.desk.deleteZone("y").commit))
        try folder.keep(try #require(folder.desk.deleteZone("z").commit))
        try folder.keep(try #require(folder.desk.makeZone("z")))
        let phone = Desk(
            folder.desk.database,
            caller: Caller(user: Desk.owner, isOwner: true, device: ClientTokenTests.phone))
        try folder.keep(try #require(phone.modify(saves: [.of("f")], clientToken: [7, 8]).commit))
        let subscriptions = folder.desk.database.modifySubscriptions(
            ModifySubscriptionsRequest(
                database: .private,
                saves: [
                    Subscription(
                        id: "s", kind: .zone(Desk.zone, recordType: "Note"), notificationInfo: NotificationInfo()),
                    Subscription(id: "t", kind: .database(recordType: "")),
                    Subscription(
                        id: "u",
                        kind: .query(
                            QuerySubscription(
                                recordType: "Note", predicate: .comparison(.field("x"), .less, .double(0.5)),
                                options: [.deletion, .once], zone: Desk.zone))),
                ]), caller: folder.desk.caller, nowMilliseconds: 1)
        var commit = try #require(subscriptions.commit)
        commit.entry.operationID = [1, 2, 3]
        commit.entry.operationDigest = OperationDigest(front: 6, back: 7)
        commit.entry.operationOutcome = folder.desk.database.remember(
            operation: [1, 2, 3], .subscriptions(subscriptions.answer), digest: commit.entry.operationDigest, user: "")
        try folder.keep(commit)
        let database = folder.desk.database
        for number in 1...3 {
            let zone = SharedZonesTests.zone(number)
            try folder.keep(try #require(try database.ask(SharedZonesTests.asked(zone), nowMilliseconds: 1)))
            if number == 3 { continue }
            let news = SharedZonesTests.news(zone, start: zone.start)
            try folder.keep(try #require(database.note(news, nowMilliseconds: 1)))
        }
        for number in 1...3 as ClosedRange<UInt32> {
            let statement = StatementTests.statement(number)
            try folder.keep(
                try #require(try database.append(statement: statement, number: number, nowMilliseconds: 1)))
        }
        let ended = SharedZonesTests.news(SharedZonesTests.zone(1), start: nil)
        try folder.keep(try #require(database.note(ended, nowMilliseconds: 1)))
        return folder
    }

    /// All that can be asked of a database, as text.
    static func portrait(_ database: Database) throws -> String {
        var lines = ["\(database.id) \(database.epoch) \(database.sequence)"]
        let feed = try database.databaseChanges(
            since: ChangeToken(kind: .database, epoch: database.epoch, incarnation: 0, position: .start),
            resultsLimit: 0)
        lines.append("\(feed)")
        for zone in database.zones {
            lines.append("\(zone) \(String(describing: database.incarnation(of: zone.id)))")
            guard !zone.id.isDefault else { continue }
            let incarnation = try #require(database.incarnation(of: zone.id))
            let start = ChangeToken(kind: .zone, epoch: database.epoch, incarnation: incarnation, position: .start)
            for token in [nil, start] {
                let page = try database.zoneChanges(
                    zone: zone.id, since: token, resultsLimit: 10_000, desiredKeys: nil,
                    caller: Caller(user: Desk.owner, isOwner: true, device: ClientTokenTests.phone))
                lines.append("\(page)")
            }
        }
        lines.append("\(database.subscriptions)")
        for digest in [nil, OperationDigest(front: 6, back: 7), OperationDigest(front: 6, back: 8)] {
            lines.append("\(String(describing: database.rememberedOperation([1, 2, 3], digest: digest)))")
        }
        let shared = database.sharedZones
        lines.append("\(database.statements.all)")
        database.rings.forEachEntry { lines.append("\($0) \($1) \($2)") }
        lines.append("\(shared.inOrder) \(shared.asked.map(\.incarnation).sorted()) \(shared.floor)")
        return lines.joined(separator: "\n")
    }

    @Test("a snapshot and a journal cut behind it open to the same database")
    func cutJournal() throws {
        let folder = try SnapshotTests.filled()
        let expected = try SnapshotTests.portrait(folder.desk.database)
        #expect(try SnapshotTests.portrait(Folder(on: folder.disk.copy()).desk.database) == expected)
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try folder.log.trim()
        #expect(!folder.disk.paths.contains(Folder.segment(1)))
        let again = try Folder(on: folder.disk.copy())
        #expect(again.log.report.entries == 0)
        #expect(try SnapshotTests.portrait(again.desk.database) == expected)
        #expect(again.desk.record("d", in: .defaultZone) == folder.desk.record("d", in: .defaultZone))
        // References work on: a parent can't go, a cascade is known.
        #expect(again.desk.modify(deletions: ["a"]).result.deletionCodes == [.referenceViolation])
        try again.keep(try #require(again.desk.modify(deletions: ["c"]).commit))
        #expect(again.desk.record("child") == nil)
        try again.save("later")
        let third = try Folder(on: again.disk)
        #expect(third.log.report.snapshotsRead == 1 && third.log.report.entriesApplied == 2)
        #expect(try SnapshotTests.portrait(third.desk.database) == SnapshotTests.portrait(again.desk.database))
    }

    @Test("commits after the capture are not in the snapshot, and replay adds them")
    func commitsBehindTheCapture() throws {
        let folder = try SnapshotTests.filled()
        let capture = folder.desk.database.capture()
        try folder.save("later")
        try folder.log.writeSnapshot(capture)
        try folder.log.trim()
        #expect(folder.disk.paths.contains(Folder.segment(1)), "the later commit is in no snapshot")
        let again = try Folder(on: folder.disk)
        #expect(again.log.report.entriesApplied == 1)
        #expect(try SnapshotTests.portrait(again.desk.database) == SnapshotTests.portrait(folder.desk.database))
    }

    @Test("every flipped byte of a snapshot is noticed, and so is every lost end")
    func flippedBytes() throws {
        let folder = try SnapshotTests.filled()
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try folder.log.trim()
        let path = try #require(folder.disk.paths.first { $0.hasSuffix(".snapshot") })
        let bytes = try #require(folder.disk.contents(of: path))
        for offset in bytes.indices {
            var damaged = bytes
            damaged[offset] ^= UInt8(1 << (offset % 8))
            try expectDamage(damaged, at: path, on: folder.disk, "flipped at \(offset)")
            try expectDamage(Array(bytes[..<offset]), at: path, on: folder.disk, "cut at \(offset)")
        }
        try expectDamage(bytes + [0], at: path, on: folder.disk, "longer")
        let other = "snapshots/development+private+iCloud.test+_other.snapshot"
        folder.disk.replace(other, with: bytes)
        #expect(try Verification(of: folder.disk).problems.map(\.file) == [other])
    }

    private func expectDamage(_ bytes: [UInt8], at path: String, on pristine: SimulatedDisk, _ comment: Comment) throws
    {
        let disk = pristine.copy()
        disk.replace(path, with: bytes)
        let error = #expect(throws: StoreError.self, comment) { try Folder(on: disk) }
        if case .damaged(let damage) = error {
            #expect(damage.file == path && damage.offset <= UInt64(bytes.count), comment)
        } else {
            Issue.record("\(comment) gave \(String(describing: error))")
        }
    }

    @Test("a snapshot of many blocks comes back whole")
    func manyBlocks() throws {
        let folder = try Folder(segmentBytes: 1 << 20)
        try folder.makeZone()
        for batch in 0..<20 {
            let saves = (0..<50).map {
                RecordSave<CheckedFields>.of(
                    "r\(batch)-\($0)", ["x": .bytes([UInt8](repeating: UInt8($0), count: 1000))])
            }
            try folder.keep(try #require(folder.desk.modify(saves: saves).commit))
        }
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try folder.log.trim()
        #expect(
            try SnapshotTests.portrait(Folder(on: folder.disk).desk.database)
                == SnapshotTests.portrait(folder.desk.database))
    }

    @Test("databases of any name have snapshots of their own")
    func names() throws {
        let long = String(repeating: "long/", count: 50)
        let ids = [
            DatabaseID(container: "a", environment: .development, scope: .private, owner: "b+c"),
            DatabaseID(container: "a+b", environment: .development, scope: .private, owner: "c"),
            DatabaseID(container: "a", environment: .production, scope: .private, owner: "b+c"),
            DatabaseID(container: "../é\0", environment: .development, scope: .public, owner: ""),
            DatabaseID(container: long, environment: .development, scope: .private, owner: "x"),
            DatabaseID(container: long, environment: .development, scope: .private, owner: "y"),
        ]
        let disk = SimulatedDisk()
        let log = try ManualJournal(opening: disk, options: Folder.options(), newEpoch: 7)
        for id in ids {
            let database = try log.open(id)
            let desk = Desk(database, caller: Caller(user: id.owner.isEmpty ? "_x" : id.owner, isOwner: true))
            _ = try log.append(try #require(desk.modify(.defaultZone, saves: [.of("a")]).commit).entry)
            try log.flush()
            try log.writeSnapshot(database.capture())
        }
        #expect(disk.paths.filter { $0.hasSuffix(".snapshot") }.count == ids.count)
        // The names are part of the format.
        let digest = "01be8a6b79642da26310d3c5f061e99cf47d88129ee6ce8462dc6198759697fa"
        #expect(disk.paths.contains("snapshots/sha256+\(digest).snapshot"))
        #expect(disk.paths.contains("snapshots/development+private+a%2bb+c.snapshot"))
        #expect(disk.paths.allSatisfy { $0.utf8.count < 230 && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } })
        try log.trim()
        let again = try ManualJournal(opening: disk, options: Folder.options(), newEpoch: 8)
        for id in ids { #expect(try again.open(id).recordCount == 1) }
        #expect(try Verification(of: disk).isSound)
    }

    @Test("a verification holds as many databases at a time as it may, and finds the same however few they are")
    func boundedVerification() throws {
        let disk = SimulatedDisk()
        let log = try ManualJournal(opening: disk, options: Folder.options(), newEpoch: 7)
        for index in 0..<9 {
            let id = DatabaseID(container: "a", environment: .development, scope: .private, owner: "_\(index)")
            let database = try log.open(id)
            let desk = Desk(database, caller: Caller(user: id.owner, isOwner: true))
            for step in 0..<3 {
                _ = try log.append(try #require(desk.modify(.defaultZone, saves: [.of("r\(step)")]).commit).entry)
                try log.flush()
                // Three have a snapshot of all, three one of the beginning, three none.
                if index < 3 && step == 2 || index < 6 && step == 0 { try log.writeSnapshot(database.capture()) }
            }
            if index == 2 { try log.trim() }
        }
        let whole = try Verification(of: disk)
        #expect(whole.isSound && whole.databases == 9 && whole.records == 27 && whole.snapshots == 6)
        #expect(whole.entries == 18 && whole.groups == 1)
        let single = try Verification(of: disk, memoryBytes: 1)
        #expect(single.isSound && single.databases == 9 && single.records == 27 && single.groups == 6)

        for path in disk.paths where path.hasSuffix(".snapshot") {
            let damaged = disk.copy()
            damaged.replace(path, with: disk.contents(of: path)!.dropLast())
            for memoryBytes in [1, 30_000, .max] {
                let verification = try Verification(of: damaged, memoryBytes: memoryBytes)
                #expect(verification.problems.map(\.file) == [path])
                #expect(verification.databases == 8 && verification.entries == 18)
            }
        }
    }

    @Test("a full disk refuses a snapshot, and the older one and the journal still open")
    func fullDisk() throws {
        let folder = try SnapshotTests.filled()
        try folder.log.writeSnapshot(folder.desk.database.capture())
        let path = try #require(folder.disk.paths.first { $0.hasSuffix(".snapshot") })
        let older = folder.disk.contents(of: path)
        try folder.save("later")
        folder.disk.faults.capacityBytes = 1
        #expect(throws: StoreError.self) { try folder.log.writeSnapshot(folder.desk.database.capture()) }
        folder.disk.faults.capacityBytes = nil
        #expect(folder.disk.contents(of: path) == older)
        #expect(
            try SnapshotTests.portrait(Folder(on: folder.disk).desk.database)
                == SnapshotTests.portrait(folder.desk.database))
    }

    @Test("verification counts what is there, and changes nothing")
    func verification() throws {
        let folder = try SnapshotTests.filled()
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try folder.save("later")
        let calls = folder.disk.calls
        let verification = try Verification(of: folder.disk)
        #expect(verification.isSound)
        #expect(verification.segments == 1 && verification.snapshots == 1 && verification.databases == 1)
        #expect(verification.records == folder.desk.database.recordCount)
        #expect(verification.entries == Int(folder.desk.database.sequence))
        #expect(folder.disk.calls == calls)
    }

    @Test("applying entries again changes nothing; a gap, or an entry that does not fit, is damage")
    func replay() throws {
        let source = Desk()
        var entries: [JournalEntry] = []
        let database = Database(id: Desk.privateID, epoch: 7)
        let desk = Desk(database, caller: source.caller)
        entries.append(try #require(desk.makeZone("notes")).entry)
        for index in 0..<5 { entries.append(try #require(desk.modify(saves: [.of("r\(index)")]).commit).entry) }
        entries.append(try #require(desk.modify(deletions: ["r1"]).commit).entry)
        let expected = try SnapshotTests.portrait(database)
        let replica = Database(id: Desk.privateID, epoch: 7)
        for entry in entries + entries {
            try replica.apply(entry)
            for earlier in entries where earlier.sequence <= replica.sequence { try replica.apply(earlier) }
        }
        #expect(try SnapshotTests.portrait(replica) == expected)
        #expect(throws: ReplayError.self) { try Database(id: Desk.privateID, epoch: 7).apply(entries[1]) }
        #expect(throws: ReplayError.self) { try Database(id: Desk.publicID, epoch: 7).apply(entries[0]) }
        for changes: [Change] in [
            [.recordDeletion(zone: 0, name: "none", type: "Note")], [.recordPut(zone: 12, record: SharedBytes([]))],
            [.recordPut(zone: 0, record: SharedBytes([0xFF]))], [.zoneCreation(zone: 5, name: "x")],
            [.zoneDeletion(zone: 0, name: "_defaultZone", reason: .deleted)],
        ] {
            #expect(throws: ReplayError.self, "\(changes)") {
                try Database(id: Desk.privateID, epoch: 7).apply(
                    JournalEntry(database: Desk.privateID, sequence: 1, committedMilliseconds: 0, changes: changes))
            }
        }
    }
}
