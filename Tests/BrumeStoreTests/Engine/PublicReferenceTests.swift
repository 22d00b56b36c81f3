import BrumeModel
import BrumeStore
import Testing

@Suite("References in the public database")
struct PublicReferenceTests {
    let alice = Desk.ofPublicDatabase(user: "_alice")
    let room = Limits.cascadesPerRequest

    private func desk(of user: String) -> Desk {
        Desk(alice.database, caller: Caller(user: user, isOwner: false))
    }

    /// Records of a user that go with a target.
    @discardableResult
    private func refer(_ user: String, to target: String, count: Int, prefix: String = "") throws -> [String] {
        let names = (0..<count).map { "\(prefix)r\(user)-\($0)" }
        for start in stride(from: 0, to: count, by: 400) {
            let saves = names[start..<min(count, start + 400)].map {
                RecordSave<CheckedFields>.of($0, ["to": Reference.cascading(to: target)])
            }
            let codes = desk(of: user).modify(.defaultZone, saves: saves).result.saveCodes
            try #require(codes.allSatisfy { $0 == nil })
        }
        return names
    }

    @Test("strangers' references leave each user the whole limit on those to a record")
    func limitForEachUser() throws {
        let limit = Limits.cascadeReferencesPerTarget
        try alice.save("post", in: .defaultZone)
        for stranger in 0..<3 { try refer("_s\(stranger)", to: "post", count: limit) }
        try refer("_alice", to: "post", count: limit)
        for user in ["_alice", "_s0"] {
            let more = desk(of: user).modify(
                .defaultZone, saves: [.of("more" + user, ["to": Reference.cascading(to: "post")])])
            #expect(more.result.saveCodes == [.limitExceeded], "\(user)")
        }
        // Who deletes one may make another one.
        let swap = alice.modify(
            .defaultZone, saves: [.of("more", ["to": Reference.cascading(to: "post")])], deletions: ["r_alice-3"])
        #expect(swap.result.deletionCodes == [nil] && swap.result.saveCodes == [nil])
    }

    @Test(
        "a creator's deletion takes their own records first, then strangers' as far as there is room, and never fails")
    func strangersDoNotStop() throws {
        try alice.save("post", in: .defaultZone)
        var strangers: [String] = []
        for stranger in 0..<(room / 700 + 3) { strangers += try refer("_s\(stranger)", to: "post", count: 700) }
        try #require(strangers.count > room)
        let own = try refer("_alice", to: "post", count: 600)
        let (result, commit) = alice.modify(.defaultZone, deletions: ["post"])
        #expect(result.deletionCodes == [nil])
        #expect(commit?.entry.changes.count == 1 + room)
        #expect(own.allSatisfy { alice.record($0, in: .defaultZone) == nil })
        let left = strangers.filter { alice.record($0, in: .defaultZone) != nil }
        #expect(left.count == strangers.count + own.count - room)
        // What stays refers to nothing, goes with a new record of the name, and can be changed and deleted by its own
        // user.
        let one = try #require(left.last)
        let user = String(one.dropFirst().prefix { $0 != "-" })
        #expect(desk(of: user).modify(.defaultZone, deletions: [one]).result.deletionCodes == [nil])
        try alice.save("post", in: .defaultZone)
        #expect(alice.modify(.defaultZone, deletions: ["post"]).result.deletionCodes == [nil])
        let rest = left.dropLast().filter { alice.record($0, in: .defaultZone) != nil }
        #expect(rest.count == max(0, left.count - 1 - room))
        let audit = alice.database.audit()
        #expect(audit.kept == audit.recounted)
    }

    @Test("what goes with a user's own records has to find room, and what goes with strangers' does not")
    func ownRecordsNeedRoom() throws {
        // A tree of the user's own, two levels deep, that is larger than the room.
        try alice.save("root", in: .defaultZone)
        let middle = try refer("_alice", to: "root", count: room / 700 + 2)
        for (index, name) in middle.enumerated() { try refer("_alice", to: name, count: 700, prefix: "\(index)") }
        let refused = alice.modify(.defaultZone, deletions: ["root"])
        #expect(refused.result.deletionCodes == [.limitExceeded] && refused.commit == nil)
        #expect(alice.modify(.defaultZone, deletions: [middle[0]]).result.deletionCodes == [nil])
        // The same tree on a stranger's record stops nobody.
        let bob = desk(of: "_bob")
        try bob.save("branch", ["to": Reference.cascading(to: "target")], in: .defaultZone)
        try alice.save("target", in: .defaultZone)
        for (index, name) in middle.dropFirst().enumerated() {
            let result = alice.modify(
                .defaultZone, policy: .changedKeys, saves: [.of(name, ["to": Reference.cascading(to: "branch")])])
            #expect(result.result.saveCodes == [nil], "\(index)")
        }
        #expect(alice.modify(.defaultZone, deletions: ["target"]).result.deletionCodes == [nil])
        #expect(alice.record("target", in: .defaultZone) == nil && alice.record("branch", in: .defaultZone) == nil)
    }

    @Test("a stranger's child keeps nobody from deleting its parent, and nobody is told of it")
    func children() throws {
        try alice.save("mother", in: .defaultZone)
        try desk(of: "_bob").save("child", parent: .set("mother"), in: .defaultZone)
        #expect(alice.modify(.defaultZone, deletions: ["mother"]).result.deletionCodes == [nil])
        #expect(alice.record("child", in: .defaultZone)?.system.parent == "mother")
    }
}
