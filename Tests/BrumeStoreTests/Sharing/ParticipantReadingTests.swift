import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What users read of a zone in which they take part, and what others learn of it (Documentation/CloudKit.md, Sharing).
@Suite("A user who takes part in a zone")
struct ParticipantReadingTests {
    private let shared = SharedDesk()
    private let guest = SharedDesk.guest
    private let other = SharedDesk.other
    private let stranger = SharedDesk.stranger

    private var database: Database { shared.database }

    private func matches(
        for desk: Desk, in zone: ZoneID? = Desk.zone, type: String = "Note", _ predicate: Predicate = .constant(true)
    ) throws -> [QueryMatch<SharedBytes>] {
        let run = try database.startQuery(
            Query(recordType: type, predicate: predicate), zone: zone, caller: desk.caller)
        while !run.step() {}
        return try #require(run.results).matches
    }

    @Test("reads all of it, by name, by its feed and by queries, and nothing else of its owner's")
    func reads() throws {
        shared.owner.makeZone("secret")
        try shared.owner.save("hidden", in: ZoneID(name: "secret"))
        try shared.owner.save("hidden", in: .defaultZone)
        try shared.admit(guest, permission: .readOnly)
        try shared.owner.save("a", ["n": .int64(1)])
        try shared.owner.save("b", parent: .set("a"))
        let desk = shared.desk(of: guest)
        for name in ["a", "b"] { #expect(desk.bytes(name) == shared.owner.bytes(name) && desk.bytes(name) != nil) }
        let found = try matches(for: desk)
        #expect(found.map { Record(stored: $0.record).system.name } == ["a", "b"])
        #expect(found.allSatisfy { $0.zone == ZoneID(name: "notes", owner: Desk.sharer) })
        #expect(try matches(for: shared.owner).allSatisfy { $0.zone == Desk.zone })
        #expect(try desk.changes(since: nil).live == [Names.zoneShare, "a", "b"])
        let missing = database.fetchRecords(
            FetchRecordsRequest(
                database: .shared,
                zones: [
                    .init(zone: ZoneID(name: "notes", owner: Desk.sharer), names: ["never", "a"]),
                    .init(zone: ZoneID(name: "secret", owner: Desk.sharer), names: ["hidden"]),
                ]), caller: desk.caller)
        #expect(missing.map { $0.map(Self.code) } == [[.unknownItem, nil], [.zoneNotFound]])
        #expect(desk.record("hidden", in: .defaultZone) == nil)
    }

    private static func code(_ outcome: RecordOutcome<SharedBytes>) -> ErrorCode? {
        if case .failure(let error) = outcome { error.code } else { nil }
    }

    @Test("is shown the share as participants are, and a user who takes no longer part nothing")
    func shares() throws {
        try shared.admit(guest)
        shared.invite(other)
        let desk = shared.desk(of: guest)
        let own = try #require(shared.owner.bytes(Names.zoneShare))
        let fetched = try #require(desk.bytes(Names.zoneShare))
        let page = try database.zoneChanges(
            zone: Desk.zone, since: nil, resultsLimit: 0, desiredKeys: nil, caller: desk.caller)
        let found = try matches(for: desk, type: Names.shareType)
        #expect(fetched != own && page.records.map(\.array) == [fetched] && found.map(\.record.array) == [fetched])
        #expect(try shared.details(for: guest).participants.map(\.user) == [Desk.sharer, guest])
        #expect(try shared.details().participants.map(\.user) == [Desk.sharer, guest, other])
        try shared.admit(other, role: .administrator)
        #expect(try shared.details(for: other) == shared.details())
        _ = desk.deleteZone("notes")
        #expect(desk.bytes(Names.zoneShare) == nil)
    }

    /// Everything that a user may ask of a zone, as bytes.
    private func answers(to desk: Desk, of zone: ZoneID) -> [[UInt8]] {
        var errors: [ServiceError?] = []
        let fetched = database.fetchRecords(
            FetchRecordsRequest(database: .shared, zones: [.init(zone: zone, names: ["a", Names.zoneShare])]),
            caller: desk.caller)
        errors += fetched[0].map { if case .failure(let error) = $0 { error } else { nil } }
        let start = ChangeToken(kind: .zone, epoch: 7, incarnation: 5, position: .start)
        errors += [nil, start].map { shared.refusal(of: $0, for: desk, in: zone) }
        do throws(ServiceError) {
            _ = try database.startQuery(
                Query(recordType: "Note", predicate: .constant(true)), zone: zone, caller: desk.caller)
            errors.append(nil)
        } catch {
            errors.append(error)
        }
        let modified = desk.modify(zone, saves: [.of("a"), .of(Names.zoneShare)], deletions: ["a", Names.zoneShare])
        errors += modified.result.saves.map(\.error) + modified.result.deletions
        #expect(modified.commit == nil && database.firstFetchToken(of: zone, for: desk.caller) == nil)
        return errors.map { error in
            StoreCoder.encodeOutcome(.records([ZoneModificationResult(deletions: [error])]))
        }
    }

    @Test("alone learns that it exists: others are answered as for a zone that never was, byte for byte")
    func silence() throws {
        for name in ["purged", "reset", "deleted", "left", "unshared"] { shared.owner.makeZone(name) }
        for name in ["left", "unshared"] { try shared.admit(stranger, to: ZoneID(name: name)) }
        try shared.admit(guest)
        try shared.owner.save("a")
        let reasons = [("purged", ZoneDeletionReason.purged), ("reset", .encryptedDataReset), ("deleted", .deleted)]
        for (name, reason) in reasons {
            _ = database.modifyZones(
                ModifyZonesRequest(database: .private, deletions: [ZoneID(name: name)]), caller: shared.owner.caller,
                nowMilliseconds: 1, deletionReason: reason)
        }
        let desk = shared.desk(of: stranger)
        _ = desk.deleteZone("left")
        _ = shared.owner.modify(ZoneID(name: "unshared"), deletions: [Names.zoneShare])
        let expected = answers(to: desk, of: ZoneID(name: "never", owner: Desk.sharer))
        #expect(expected.count == 9 && Set(expected).count == 1)
        #expect(
            expected[0]
                == StoreCoder.encodeOutcome(
                    .records([ZoneModificationResult(deletions: [Database.noPartInZone])])))
        for name in ["notes", "purged", "reset", "deleted", "left", "unshared", Names.defaultZone] {
            #expect(answers(to: desk, of: ZoneID(name: name, owner: Desk.sharer)) == expected, "\(name)")
        }
        let owner = shared.owner
        #expect(owner.modify(ZoneID(name: "purged"), saves: [.of("a")]).result.saveCodes == [.userDeletedZone])
        #expect(shared.desk(of: guest).record("a") != nil)
    }

    @Test("names the zone in which a query looks: there is none of all of the owner's")
    func queryWithoutZone() throws {
        shared.owner.makeZone("secret")
        try shared.owner.save("hidden", in: ZoneID(name: "secret"))
        try shared.admit(guest)
        for user in [guest, stranger] {
            let error = #expect(throws: ServiceError.self) { try matches(for: shared.desk(of: user), in: nil) }
            #expect(error?.code == .invalidArguments)
        }
        #expect(try matches(for: shared.owner, in: nil).count == 1)
    }

    @Test("counts a share alike whatever it hides from them, so that no limit tells of it")
    func costOfShare() throws {
        try shared.admit(guest)
        try shared.admit(other, role: .administrator)
        let slot = try #require(database.zoneStates[1].sharing.shares[Names.zoneShare])
        func costs(_ user: String) -> [Int] {
            let shown = database.shown(slot, of: database.zoneStates[1].slots, nil, zone: 1, to: user)
            return [shown.cost, shown.readBytes]
        }
        let before = [guest, other, Desk.sharer].map(costs)
        for number in 0..<20 { shared.invite(RandomShare.user(20 + number)) }
        #expect(costs(guest) == before[0])
        for (user, before) in zip([other, Desk.sharer], before.dropFirst()) {
            #expect(zip(costs(user), before).allSatisfy { $0 > $1 })
        }
    }

    @Test("finds a share by the last change that they are shown, an administrator by its last")
    func queryForShare() throws {
        try shared.admit(guest)
        try shared.admit(other, role: .administrator)
        let tags = [guest, other].map { shared.desk(of: $0).record(Names.zoneShare)?.system }
        shared.share { $0.puts = [.init(id: "later", invitee: .oneTime, permission: .readOnly)] }
        let now = [guest, other].map { shared.desk(of: $0).record(Names.zoneShare)?.system }
        #expect(now[0] == tags[0] && now[1] != tags[1])
        for (user, system) in zip([guest, other], now) {
            let date = Double(try #require(system).modifiedMilliseconds) / 1000 - 978_307_200
            let predicates: [Predicate] = [
                .comparison(.modificationDate, .equal, .date(date)),
                .comparison(
                    .lastModifiedUserRecordID, .equal,
                    .reference(Reference(recordName: try #require(system).modifier, deletesSelf: false))),
            ]
            for predicate in predicates {
                let found = try matches(for: shared.desk(of: user), type: Names.shareType, predicate)
                #expect(found.count == 1, "\(user) \(predicate)")
            }
        }
    }

    // MARK: Tokens

    @Test("follows the zone by tokens of their own, which are nobody else's")
    func tokens() throws {
        try shared.admit(guest, other)
        try shared.owner.save("a")
        let desks = [shared.owner, shared.desk(of: guest), shared.desk(of: other)]
        let tokens = try desks.map { try $0.changes(since: nil).token }
        #expect(Set(tokens.map(\.incarnation)).count == 3)
        #expect(tokens[1].incarnation == database.start(of: guest, inZoneNamed: "notes")?.rawValue)
        for (mine, desk) in desks.enumerated() {
            for (whose, token) in tokens.enumerated() {
                let refusal = shared.refusal(of: token, for: desk)
                #expect((refusal == nil) == (mine == whose))
                if let refusal {
                    #expect(refusal.code == .changeTokenExpired && refusal.detail == .zoneMadeAgain)
                }
            }
        }
        try shared.owner.save("b")
        _ = shared.owner.modify(deletions: ["a"])
        let page = try desks[1].changes(since: tokens[1])
        #expect(page.live == ["b"] && page.deleted == ["a"] && page.token.incarnation == tokens[1].incarnation)
        let first = try desks[1].changes(since: nil, limit: 1)
        #expect(first.moreComing && first.live == [Names.zoneShare])
        #expect(try desks[1].changes(since: first.token).live == ["b"])
        let kind = ChangeToken(kind: .database, epoch: 7, incarnation: 0, position: .start)
        #expect(shared.refusal(of: kind, for: desks[1])?.code == .invalidArguments)
        #expect(shared.refusal(of: nil, for: desks[1], in: .defaultZone)?.code == .zoneNotFound)
    }

    @Test("who leaves and comes again begins anew, and whose part changes otherwise goes on")
    func startingOver() throws {
        try shared.admit(guest, other, permission: .readOnly)
        try shared.owner.save("a")
        let desk = shared.desk(of: guest)
        let (token, first) = (
            try desk.changes(since: nil).token, try #require(database.firstFetchToken(of: Desk.zone, for: desk.caller))
        )
        shared.share { $0.puts = [.init(id: "for \(guest)", invitee: nil, permission: .readWrite)] }
        shared.share { $0.removals = ["for \(other)"] }
        #expect(try desk.changes(since: token).live == [Names.zoneShare])

        _ = desk.deleteZone("notes")
        shared.invite(guest)
        #expect(shared.refusal(of: token, for: desk)?.code == .zoneNotFound)
        try shared.accept(guest)
        for token in [token, first] {
            let refusal = try #require(shared.refusal(of: token, for: desk))
            #expect(refusal.code == .changeTokenExpired && refusal.detail == .zoneMadeAgain)
        }
        #expect(try desk.changes(since: nil).live == ["a", Names.zoneShare])
    }

    @Test("may begin a first fetch before they save, and is told of all deletions from then on")
    func firstFetch() throws {
        try shared.owner.save("old")
        try shared.admit(guest)
        let desk = shared.desk(of: guest)
        let token = try #require(database.firstFetchToken(of: Desk.zone, for: desk.caller))
        #expect(token != database.firstFetchToken(of: Desk.zone))
        #expect(shared.refusal(of: token, for: shared.owner)?.detail == .zoneMadeAgain)
        try desk.save("new")
        _ = shared.owner.modify(deletions: ["new", "old"])
        let page = try desk.changes(since: token)
        #expect(page.live == [Names.zoneShare] && Set(page.deleted) == ["new", "old"])
        for user in [stranger, ""] {
            let caller = shared.desk(of: user).caller
            #expect(database.firstFetchToken(of: Desk.zone, for: caller) == nil)
            #expect(database.firstFetchToken(of: .defaultZone, for: caller) == nil)
        }
    }

    @Test("takes part in the database that a journal or a snapshot holds, with the same tokens")
    func restart() throws {
        var journal: [JournalEntry] = []
        journal.append(
            try #require(
                shared.share { edit in
                    edit.puts = [guest, other].map { .init(id: $0, invitee: .user($0), permission: .readOnly) }
                }.commit
            ).entry)
        journal.append(try #require(shared.accept(guest).commit).entry)
        journal.append(try #require(shared.accept(other).commit).entry)
        let desk = shared.desk(of: guest)
        let token = try desk.changes(since: nil).token
        journal.append(try #require(shared.owner.modify(saves: [.of("a")]).commit).entry)
        journal.append(try #require(shared.desk(of: other).deleteZone("notes").commit).entry)
        for copy in try shared.copies(replaying: journal) {
            #expect(copy.audit().kept == copy.audit().recounted)
            #expect(copy.starts(inZoneNamed: "notes") == shared.database.starts(inZoneNamed: "notes"))
            #expect(copy.zoneStates[1].sharing.members == shared.database.zoneStates[1].sharing.members)
            let again = Desk(copy, caller: desk.caller)
            #expect(try again.changes(since: token).live == ["a", Names.zoneShare])
            #expect(again.modify(saves: [.of("b")]).result.saveCodes == [.permissionFailure])
            let left = Desk(copy, caller: shared.desk(of: other).caller)
            #expect(left.modify(saves: [.of("b")]).result.saveCodes == [.zoneNotFound])
        }
    }

    // MARK: Client tokens

    @Test("gets back the client token of their own device")
    func clientTokens() throws {
        try shared.admit(guest)
        let (phone, laptop) = (ClientTokenTests.phone, ClientTokenTests.laptop)
        let owner = Desk(
            database, caller: Caller(user: Desk.sharer, isOwner: true, device: phone))
        let desk = shared.desk(of: guest, device: laptop)
        func token(_ desk: Desk) throws -> [UInt8] {
            try database.zoneChanges(
                zone: Desk.zone, since: nil, resultsLimit: 1, desiredKeys: nil, caller: desk.caller
            ).clientToken
        }
        #expect(owner.modify(saves: [.of("a")], clientToken: [1]).result.saveCodes == [nil])
        #expect(desk.modify(saves: [.of("b")], clientToken: [2]).commit?.entry.clientToken?.token.bytes == [2])
        #expect(try token(owner) == [1] && token(desk) == [2])
        #expect(try token(shared.desk(of: guest)) == [])
        // Nothing was done.
        #expect(desk.modify(saves: [.of("a")], clientToken: [3]).commit == nil)
        #expect(try token(desk) == [2])
        shared.expectSound()
    }

    @Test("takes no room for client tokens from the owner's devices")
    func clientTokensOfMany() throws {
        try shared.admit(guest)
        let owner = Desk(
            database, caller: Caller(user: Desk.sharer, isOwner: true, device: ClientTokenTests.phone))
        #expect(owner.modify(saves: [.of("a")], clientToken: [1]).result.saveCodes == [nil])
        let kept = (0..<Limits.clientTokensPerZone).count { number in
            let desk = shared.desk(of: guest, device: [UInt8](repeating: UInt8(100 + number), count: 16))
            return desk.modify(deletions: ["x"], clientToken: [2]).commit != nil
        }
        #expect(kept == Limits.clientTokensPerZone / 2 - 1)
        let page = try database.zoneChanges(
            zone: Desk.zone, since: nil, resultsLimit: 1, desiredKeys: nil, caller: owner.caller)
        #expect(page.clientToken == [1])
    }
}
