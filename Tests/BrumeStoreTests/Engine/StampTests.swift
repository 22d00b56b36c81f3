import BrumeModel
import BrumeRecord
import BrumeStore
import BrumeTestKit
import Testing

@Suite("The stamp of a record")
struct StampTests {
    private let desk = Desk()
    private let one = EncryptedSamples.stamp()
    private let other = EncryptedSamples.stamp(EncryptedSamples.header(isShared: true, keyNumber: 9))

    private func save(
        _ fields: [String: FieldValue?] = [:], parent: ParentChange = .unchanged, stamp: [UInt8] = []
    ) -> Commit? {
        var save = RecordSave<CheckedFields>.of("r", fields)
        (save.parent, save.stamp) = (parent, stamp)
        let outcome = desk.modify(policy: .changedKeys, saves: [save])
        #expect(outcome.result.saveCodes == [nil])
        if let record = outcome.result.saves[0].record { #expect(record.system.stamp == self.stamp) }
        return outcome.commit
    }

    private var stamp: [UInt8]? { desk.record("r")?.system.stamp }

    @Test("is set by a save, kept by those that send none, and replaced by one that sends another")
    func keeping() {
        _ = desk.modify(saves: [.of("p"), .of("q")])
        _ = save(["n": .int64(1)], parent: .set("p"), stamp: one)
        #expect(stamp == one)
        #expect(save(["n": .int64(2)]) != nil && stamp == one)
        #expect(save(["n": .int64(3)], parent: .set("p")) != nil && stamp == one)
        #expect(save(stamp: one) == nil, "a save that changes nothing makes no version")
        #expect(save(stamp: other) != nil && stamp == other)
        #expect(desk.record("r")?.fields == ["n": .int64(3)])
    }

    @Test("goes with its parent, unless the save brings another one") func parents() {
        _ = desk.modify(saves: [.of("p"), .of("q")])
        _ = save(parent: .set("p"), stamp: one)
        #expect(save(parent: .set("q")) != nil && stamp == [])
        #expect(save(parent: .set("p"), stamp: one) != nil && stamp == one)
        #expect(save(parent: .set("q"), stamp: other) != nil && stamp == other)
        #expect(save(parent: .removed) != nil && stamp == [])
        // A root is stamped without a parent, and has none to lose.
        #expect(save(stamp: one) != nil && stamp == one)
        #expect(save(parent: .removed) == nil && stamp == one)
    }

    @Test("comes back from the log, and from a snapshot's bytes") func replay() throws {
        _ = desk.modify(saves: [.of("p")])
        let commit = try #require(save(["n": .int64(1)], parent: .set("p"), stamp: one))
        guard case .recordPut(_, let bytes)? = commit.entry.changes.last else {
            Issue.record("\(commit.entry.changes)")
            return
        }
        #expect(Record(stored: bytes.array).system.stamp == one)
    }

    @Test("is refused in a public database, and of a share") func refused() {
        let publicDesk = Desk.ofPublicDatabase(user: "_ada")
        var save = RecordSave<CheckedFields>.of("r")
        save.stamp = one
        let zone = ZoneID.defaultZone
        #expect(publicDesk.modify(zone, saves: [save]).result.saveCodes == [.invalidArguments])
        var share = RecordSave<CheckedFields>(name: Names.zoneShare, type: Names.shareType, fields: CheckedFields())
        share.stamp = one
        #expect(Desk.ofSharer().modify(saves: [share]).result.saveCodes == [.invalidArguments])
    }

    @Test("goes with the fields of a user's record that is emptied") func emptied() {
        _ = desk.database.ensureUserRecord(named: Desk.owner, nowMilliseconds: 1)
        var save = RecordSave<CheckedFields>.of(Desk.owner, type: Names.userRecordType)
        save.stamp = one
        #expect(desk.modify(.defaultZone, policy: .changedKeys, saves: [save]).result.saveCodes == [nil])
        #expect(desk.record(Desk.owner, in: .defaultZone)?.system.stamp == one)
        var emptying = desk.database.beginEmptying()
        while desk.database.empty(&emptying, nowMilliseconds: 1) != nil {}
        #expect(desk.record(Desk.owner, in: .defaultZone)?.system.stamp == [])
    }
}
