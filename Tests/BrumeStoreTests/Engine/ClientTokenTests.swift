import BrumeTestKit
import BrumeModel
import BrumeStore
import Testing

@Suite("A device's client token")
struct ClientTokenTests {
    static let phone = [UInt8](repeating: 1, count: 16)
    static let laptop = [UInt8](repeating: 2, count: 16)

    private static func desk(of device: [UInt8], _ database: Database) -> Desk {
        Desk(database, caller: Caller(user: Desk.owner, isOwner: true, device: device))
    }

    private let desk = Desk()
    private var phone: Desk { Self.desk(of: Self.phone, desk.database) }
    private var laptop: Desk { Self.desk(of: Self.laptop, desk.database) }

    private func token(of device: [UInt8], in zone: ZoneID = Desk.zone) throws -> [UInt8] {
        try desk.database.zoneChanges(
            zone: zone, since: nil, resultsLimit: 1, desiredKeys: nil,
            caller: Caller(user: Desk.owner, isOwner: true, device: device)
        )
        .clientToken
    }

    @Test("comes back to that device alone, the latest one")
    func latest() throws {
        #expect(try token(of: Self.phone) == [])
        _ = phone.modify(saves: [.of("a")], clientToken: [1])
        _ = laptop.modify(saves: [.of("b")], clientToken: [2])
        #expect(try token(of: Self.phone) == [1])
        #expect(try token(of: Self.laptop) == [2])
        _ = phone.modify(deletions: ["b"], clientToken: [3])
        #expect(try token(of: Self.phone) == [3])
        #expect(try token(of: Self.laptop) == [2])
        #expect(try token(of: []) == [])
        // None, and that of a request without one, leave it.
        _ = phone.modify(saves: [.of("c")])
        #expect(try token(of: Self.phone) == [3])
    }

    @Test("stays what it was when nothing of the request was done")
    func failures() throws {
        _ = phone.modify(saves: [.of("a")], clientToken: [1])
        let whole = phone.modify(saves: [.of("a"), .of("b")], clientToken: [2])
        #expect(whole.commit == nil)
        #expect(try token(of: Self.phone) == [1])
        let none = phone.modify(isAtomic: false, saves: [.of("a")], clientToken: [2])
        #expect(none.commit == nil)
        #expect(try token(of: Self.phone) == [1])
        let part = phone.modify(isAtomic: false, saves: [.of("a"), .of("b")], clientToken: [2])
        #expect(part.result.saveCodes == [.serverRecordChanged, nil])
        #expect(try token(of: Self.phone) == [2])
    }

    @Test("counts towards the quota; one that finds no room is not kept, and the one before stays")
    func quota() throws {
        func save(_ name: String, _ token: [UInt8], quota: Int) {
            let request = ModifyRecordsRequest<CheckedFields>(
                database: .private, savePolicy: .allKeys, isAtomic: true,
                zones: [ZoneModification(zone: Desk.zone, saves: [.of(name)], deletions: [])], clientToken: token)
            let decision = desk.database.modifyRecords(
                request, caller: phone.caller, nowMilliseconds: 1,
                quota: quota > 0 ? StorageQuota(limitBytes: quota) : nil)
            #expect(decision.answer[0].saveCodes == [nil])
        }
        save("a", [1, 2, 3], quota: 0)
        let used = desk.database.storedBytes
        #expect(used > 19)
        // The record is there already, and changes to its own size.
        save("a", [4, 5, 6, 7], quota: used)
        #expect(try token(of: Self.phone) == [1, 2, 3])
        #expect(desk.database.storedBytes == used)
        save("a", [4, 5, 6], quota: used)
        #expect(try token(of: Self.phone) == [4, 5, 6])
        save("a", [4, 5, 6, 7], quota: used + 1)
        #expect(try token(of: Self.phone) == [4, 5, 6, 7])
        #expect(desk.database.storedBytes == used + 1)
        let audit = desk.database.audit()
        #expect(audit.kept == audit.recounted)
        _ = desk.deleteZone(Desk.zone.name)
        #expect(desk.database.storedBytes == 0)
    }

    @Test("is kept with a request that changes nothing else, and the same one is no change")
    func changesNothingElse() throws {
        let missing = phone.modify(deletions: ["missing"], clientToken: [1])
        let commit = try #require(missing.commit)
        #expect(commit.entry.changes.isEmpty && commit.zones.isEmpty)
        #expect(commit.entry.clientToken?.token == ClientToken(device: Self.phone, bytes: [1]))
        #expect(try token(of: Self.phone) == [1])
        #expect(phone.modify(deletions: ["missing"], clientToken: [1]).commit == nil)
        // Nobody fetches because of it.
        let zones = try desk.database.databaseChanges(
            since: desk.database.databaseChanges(since: nil, resultsLimit: 0).token, resultsLimit: 0)
        #expect(zones.changed.isEmpty)
    }

    @Test("is kept where there is a feed to give it back with, and goes with the zone")
    func zones() throws {
        let commit = phone.modify(.defaultZone, saves: [.of("a")], clientToken: [1]).commit
        #expect(commit?.entry.clientToken == nil)
        let open = Desk.ofPublicDatabase(user: Desk.owner)
        let publicCommit = Self.desk(of: Self.phone, open.database)
            .modify(.defaultZone, saves: [.of("a")], clientToken: [1]).commit
        #expect(publicCommit != nil && publicCommit?.entry.clientToken == nil)
        let other = ZoneID(name: "other")
        desk.makeZone("other")
        _ = phone.modify(saves: [.of("a")], clientToken: [1])
        #expect(try token(of: Self.phone, in: other) == [])
        _ = desk.deleteZone("notes")
        desk.makeZone("notes")
        #expect(try token(of: Self.phone) == [])
    }

    @Test("is forgotten when as many others as a zone keeps have changed theirs since")
    func bound() throws {
        func device(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 16) }
        let most = Limits.clientTokensPerZone
        for number in 1...most {
            _ = Self.desk(of: device(number), desk.database).modify(deletions: ["x"], clientToken: [UInt8(number)])
        }
        _ = Self.desk(of: device(1), desk.database).modify(deletions: ["x"], clientToken: [99])
        _ = Self.desk(of: device(most + 1), desk.database).modify(deletions: ["x"], clientToken: [98])
        #expect(try token(of: device(1)) == [99])
        #expect(try token(of: device(2)) == [], "its token changed longest ago")
        #expect(try token(of: device(3)) == [3])
        #expect(try token(of: device(most + 1)) == [98])
        let audit = desk.database.audit()
        #expect(audit.kept == audit.recounted)
    }

    @Test("outlives the server, in the journal and in a snapshot")
    func restart() throws {
        let folder = try Folder()
        try folder.makeZone()
        func phone(_ folder: Folder) -> Desk { Self.desk(of: Self.phone, folder.desk.database) }
        func token(_ folder: Folder) throws -> [UInt8] {
            try folder.desk.database.zoneChanges(
                zone: Desk.zone, since: nil, resultsLimit: 0, desiredKeys: nil,
                caller: Caller(user: Desk.owner, isOwner: true, device: Self.phone)
            ).clientToken
        }
        let most = [UInt8](repeating: 7, count: Limits.clientTokenBytes)
        try folder.keep(try #require(phone(folder).modify(saves: [.of("a")], clientToken: most).commit))
        #expect(try token(Folder(on: folder.disk.copy())) == most)
        try folder.log.writeSnapshot(folder.desk.database.capture())
        try folder.log.trim()
        let again = try Folder(on: folder.disk)
        #expect(again.log.report.entries == 0)
        #expect(try token(again) == most)
        try again.keep(try #require(phone(again).modify(deletions: ["missing"], clientToken: [8]).commit))
        let third = try Folder(on: again.disk)
        #expect(try token(third) == [8])
        let audit = third.desk.database.audit()
        #expect(audit.kept == audit.recounted)
    }

    @Test("that the server would not have kept is damage", arguments: [0, Limits.clientTokenBytes + 1])
    func damage(byteCount: Int) throws {
        let token = ClientToken(device: Self.phone, bytes: [UInt8](repeating: 1, count: byteCount))
        let incarnation = try #require(desk.database.incarnation(of: Desk.zone))
        func entry(_ put: ClientTokenPut) -> JournalEntry {
            JournalEntry(
                database: Desk.privateID, sequence: desk.database.sequence + 1, committedMilliseconds: 1, changes: [],
                clientToken: put)
        }
        #expect(throws: ReplayError.self) {
            try desk.database.apply(entry(ClientTokenPut(token: token, zones: [incarnation])))
        }
        let good = ClientToken(device: Self.phone, bytes: [1])
        for zone in [0, incarnation + 1] {
            #expect(throws: ReplayError.self) {
                try Desk().database.apply(entry(ClientTokenPut(token: good, zones: [zone])))
            }
        }
    }
}
