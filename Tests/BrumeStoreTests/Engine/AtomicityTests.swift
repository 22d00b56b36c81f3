import BrumeModel
@testable import BrumeStore
import Testing

@Suite("Batches of records")
struct AtomicityTests {
    let desk = Desk()

    @Test("an atomic batch with a failure writes nothing, and its innocent items say so")
    func atomicFailure() throws {
        let tag = try desk.save("old", ["n": .int64(1)])
        try desk.save("doomed")
        let before = desk.database.sequence
        let (result, commit) = desk.modify(
            saves: [.of("new"), .of("old"), .of("gone", tag: "7-1"), .of("old2", tag: "")],
            deletions: ["doomed", "none"])
        #expect(result.saveCodes == [.batchRequestFailed, .serverRecordChanged, .unknownItem, .batchRequestFailed])
        #expect(result.deletionCodes == [.batchRequestFailed, .batchRequestFailed])
        #expect(commit == nil)
        #expect(desk.database.sequence == before)
        #expect(desk.record("new") == nil && desk.record("doomed") != nil)
        #expect(desk.record("old")?.system.changeTag == tag)
    }

    @Test("a save that changes nothing fails with its atomic batch")
    func atomicNoChange() throws {
        let tag = try desk.save("a", ["n": .int64(1)])
        let result = desk.modify(saves: [.of("a", ["n": .int64(1)], tag: tag), .of("b", tag: "7-1")]).result
        #expect(result.saveCodes == [.batchRequestFailed, .unknownItem])
    }

    @Test("a batch that is not atomic, or in the default zone, goes item by item", arguments: [true, false])
    func itemByItem(inDefaultZone: Bool) throws {
        let zone = inDefaultZone ? ZoneID.defaultZone : Desk.zone
        let (result, commit) = desk.modify(
            zone, isAtomic: inDefaultZone, saves: [.of("a"), .of("b", tag: "7-1"), .of("c")], deletions: ["none"])
        #expect(result.saveCodes == [nil, .unknownItem, nil])
        #expect(result.deletionCodes == [nil])
        #expect(commit?.entry.changes.count == 2)
        #expect(desk.record("a", in: zone) != nil && desk.record("c", in: zone) != nil)
    }

    @Test("zones of one request stand or fall alone, and are one commit")
    func zonesAreIndependent() throws {
        desk.makeZone("other")
        let decision = desk.database.modifyRecords(
            ModifyRecordsRequest(
                database: .private,
                zones: [
                    ZoneModification(zone: Desk.zone, saves: [.of("a"), .of("b", tag: "7-1")]),
                    ZoneModification(zone: ZoneID(name: "other"), saves: [.of("a"), .of("b")]),
                    ZoneModification(zone: ZoneID(name: "missing"), saves: [.of("a")], deletions: ["b"]),
                    ZoneModification(zone: ZoneID(name: "other"), saves: [.of("c")]),
                    ZoneModification(zone: .defaultZone, saves: [.of("d")]),
                ]), caller: desk.caller, nowMilliseconds: 1)
        #expect(decision.answer[0].saveCodes == [.batchRequestFailed, .unknownItem])
        #expect(decision.answer[1].saveCodes == [nil, nil])
        #expect(decision.answer[2].saveCodes == [.zoneNotFound] && decision.answer[2].deletionCodes == [.zoneNotFound])
        #expect(decision.answer[3].saveCodes == [.invalidArguments])
        #expect(decision.answer[4].saveCodes == [nil])
        let commit = try #require(decision.commit)
        #expect(commit.zones.map(\.zone.name) == ["other", "_defaultZone"])
        #expect(commit.zones[0].recordTypes == ["Note"])
        #expect(commit.entry.sequence == desk.database.sequence)
    }

    @Test("another owner's zone is as unknown as a missing one")
    func owners() {
        for owner in ["", "__defaultOwner__", Desk.owner] {
            #expect(desk.database.incarnation(of: ZoneID(name: "notes", owner: owner)) != nil)
        }
        let stranger = ZoneID(name: "notes", owner: "_other")
        let missing = desk.modify(ZoneID(name: "missing"), saves: [.of("a")]).result
        #expect(desk.modify(stranger, saves: [.of("a")]).result == missing)
        #expect(missing.saveCodes == [.zoneNotFound])
    }

    @Test("a private database takes writes of its owner alone")
    func ownerOnly() {
        let stranger = Desk(desk.database, caller: Caller(user: "_other", isOwner: false))
        #expect(stranger.modify(saves: [.of("a")]).result.saveCodes == [.zoneNotFound])
        let nobody = Desk(desk.database, caller: Caller(user: "", isOwner: false))
        #expect(nobody.modify(saves: [.of("a")]).result.saveCodes == [.notAuthenticated])
    }

    @Test("the public database is written by accounts, and each record by its creator")
    func publicDatabase() throws {
        let alice = Desk.ofPublicDatabase(user: "_alice")
        let bob = Desk(alice.database, caller: Caller(user: "_bob", isOwner: false))
        let nobody = Desk(alice.database, caller: Caller(user: "", isOwner: false))
        let tag = try alice.save("a", ["n": .int64(1)], in: .defaultZone)
        #expect(nobody.modify(.defaultZone, saves: [.of("b")]).result.saveCodes == [.notAuthenticated])
        #expect(
            bob.modify(.defaultZone, saves: [.of("a", ["n": .int64(2)], tag: tag)]).result.saveCodes == [
                .permissionFailure
            ])
        #expect(bob.modify(.defaultZone, deletions: ["a"]).result.deletionCodes == [.permissionFailure])
        #expect(bob.record("a", in: .defaultZone)?.fields == ["n": .int64(1)])
        #expect(alice.modify(Desk.zone, saves: [.of("c")]).result.saveCodes == [.zoneNotFound])
        #expect(alice.modify(.defaultZone, deletions: ["a"]).result.deletionCodes == [nil])
        _ = alice.database.ensureUserRecord(named: "_alice", nowMilliseconds: 1)
        let user = try #require(bob.record("_alice", in: .defaultZone)).system.changeTag
        #expect(
            bob.modify(.defaultZone, saves: [.of("_alice", type: "Users", tag: user)]).result.saveCodes
                == [.permissionFailure])
        try alice.save("_alice", ["x": .int64(1)], type: "Users", tag: user, in: .defaultZone)
    }

    @Test("in the public database nobody's record keeps another's from going")
    func publicParents() throws {
        let alice = Desk.ofPublicDatabase(user: "_alice")
        let bob = Desk(alice.database, caller: Caller(user: "_bob", isOwner: false))
        try alice.save("a", in: .defaultZone)
        try bob.save("b", parent: .set("a"), in: .defaultZone)
        #expect(alice.modify(.defaultZone, deletions: ["a"]).result.deletionCodes == [nil])
    }

    @Test("an outcome is remembered for its operation, the oldest are forgotten")
    func operations() {
        let outcome = OperationOutcome.records([ZoneModificationResult(deletions: [nil])])
        for index in 0..<300 {
            _ = desk.database.remember(
                operation: [UInt8(index & 0xFF), UInt8(index >> 8)], outcome, digest: nil, user: "")
        }
        #expect(desk.database.rememberedOperation([43, 0], digest: nil) == nil)
        #expect(
            desk.database.rememberedOperation([44, 0], digest: nil)
                == .outcome(outcome, encoded: StoreCoder.encodeOutcome(outcome)))
        #expect(
            desk.database.rememberedOperation([43, 1], digest: nil)
                == .outcome(outcome, encoded: StoreCoder.encodeOutcome(outcome)))
        desk.database.remember(
            operation: [9], encoded: [UInt8](repeating: 0, count: Limits.rememberedOperationBytes + 1))
        #expect(desk.database.rememberedOperation([9], digest: nil) == .unreadable)
        #expect(desk.database.rememberedOperation([43, 1], digest: nil) == nil)
        desk.database.remember(operation: [10], encoded: [])
        #expect(desk.database.rememberedOperation([10], digest: nil) == nil, "nothing is known of what it did")
    }

    @Test("a fetch answers by item, and defers what does not fit into its page")
    func fetching() throws {
        let large = FieldValue.bytes([UInt8](repeating: 1, count: 600_000))
        for name in ["a", "b", "c"] { try desk.save(name, ["x": large]) }
        let outcomes = desk.database.fetchRecords(
            FetchRecordsRequest(
                database: .private,
                zones: [
                    .init(zone: Desk.zone, names: ["a", "none", "b", "c"]),
                    .init(zone: ZoneID(name: "no"), names: ["a"]),
                ]))
        #expect(outcomes[0].map(kind) == ["record", "11", "deferred", "deferred"])
        #expect(outcomes[1].map(kind) == ["26"])
        let system = desk.database.fetchRecords(
            FetchRecordsRequest(
                database: .private, zones: [.init(zone: Desk.zone, names: ["a", "b", "c"])], desiredKeys: []))
        #expect(system[0].map(kind) == ["record", "record", "record"])
    }

    private func kind(_ outcome: RecordOutcome<SharedBytes>) -> String {
        switch outcome {
        case .record: "record"
        case .deferred: "deferred"
        case .failure(let error): "\(error.code.rawValue)"
        }
    }
}
