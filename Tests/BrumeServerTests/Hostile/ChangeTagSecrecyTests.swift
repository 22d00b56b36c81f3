import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Change tags tell nobody")
struct ChangeTagSecrecyTests {
    private func tags(_ peer: FramePeer, _ scope: DatabaseScope) throws -> [String: UInt64] {
        let page = try peer.query(
            QueryRequest(
                database: scope, zone: .defaultZone, query: Query(recordType: "Note", predicate: .constant(true))))
        return try Dictionary(
            uniqueKeysWithValues: page.matches.map { match in
                (match.record.system.name, try #require(UInt64(match.record.system.changeTag, radix: 36)))
            })
    }

    @Test("how many commits there were in the database, before or between, nor that two databases had equally many")
    func count() throws {
        let server = try SteppedServer()
        let (ada, bob) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        let names = (0..<40).map { "r\($0)" }
        for name in names {
            for peer in [ada, bob] { try peer.save([name]) }
            try ada.save([name], database: .public)
        }
        let all = [try tags(ada, .private), try tags(bob, .private), try tags(ada, .public)]
        for tags in all {
            let numbers = try names.map { try #require(tags[$0]) }
            #expect(Set(numbers).count == names.count)
            // Tags that counted commits would rise at each of the 39 steps, random ones at about half of them.
            let rises = zip(numbers, numbers.dropFirst()).count { $0 < $1 }
            #expect((1...38).contains(rises), "\(rises)")
            let near = zip(numbers, numbers.dropFirst()).count { $0 < $1 ? $1 - $0 < 1 << 32 : $0 - $1 < 1 << 32 }
            #expect(near == 0)
        }
        #expect(Set(all.flatMap(\.values)).count == 3 * names.count)
    }

    @Test("anything new after a restart: what clients hold is still the version that the server has")
    func restart() throws {
        let disk = SimulatedDisk()
        var known: [String: UInt64] = [:]
        do {
            let server = try SteppedServer(disk: disk)
            let peer = try server.connect(account: "a")
            for name in ["one", "two"] { try peer.save([name]) }
            known = try tags(peer, .private)
        }
        disk.crash(seed: 1, .nothing)
        let peer = try SteppedServer(disk: disk).connect(account: "a")
        #expect(try tags(peer, .private) == known && known.count == 2)
        try peer.save(["three"])
        #expect(try Set(tags(peer, .private).values).count == 3)
    }
}
