import BrumeModel
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite struct PlacementTests {
    private func database(
        _ container: String, _ environment: Environment = .production, owner: String = ""
    ) -> DatabaseID {
        DatabaseID(
            container: container, environment: environment, scope: owner.isEmpty ? .public : .private, owner: owner)
    }

    @Test("a database has the same group in every version") func vectors() {
        #expect(Placement(of: database("iCloud.brume")).group == 933)
        #expect(Placement(of: database("iCloud.brume", .development)).group == 1258)
        let owner = "_5b0b51f4d24ff9d0c51236e787331eb8"
        #expect(Placement(of: database("iCloud.com.example.Notes", .development, owner: owner)).group == 2655)
        #expect(Placement(of: database("iCloud.\u{E9}t\u{E9}", owner: "_0")).group == 2114)
    }

    @Test("names that follow on each other are spread over all shards", arguments: [2, 3, 4, 8])
    func neighbours(shards: Int) {
        var few = [Int](repeating: 0, count: shards)
        var many = few
        for number in 0..<1_000 {
            let shard = Placement(of: database("iCloud.app\(number)")).shard(of: shards)
            if number < 10 { few[shard] += 1 }
            many[shard] += 1
        }
        #expect(few.max()! <= 6, "of app0 to app9 most have one shard: \(few)")
        #expect(few.filter { $0 > 0 }.count >= min(shards, 3))
        #expect(many.max()! * 100 <= 115 * 1_000 / shards, "one shard has too many containers: \(many)")
    }

    @Test("the users of one container are spread evenly", arguments: [2, 3, 4, 8]) func users(shards: Int) {
        var counts = [Int](repeating: 0, count: shards)
        for number in 0..<10_000 {
            let digits = String(number, radix: 16)
            let owner = "_" + String(repeating: "0", count: 32 - digits.count) + digits
            counts[Placement(of: database("iCloud.app", owner: owner)).shard(of: shards)] += 1
        }
        #expect(counts.max()! * 100 <= 107 * 10_000 / shards, "one shard has too many users: \(counts)")
    }

    @Test("an identity has the placements of its databases") func identity() {
        let identity = Identity(
            role: .account(name: "a"), container: "iCloud.brume", environment: .production, userRecordName: "_1",
            deviceID: [], clientVersion: "")
        #expect(identity.placement(of: identity.publicDatabase) == Placement(of: identity.publicDatabase))
        #expect(identity.placement(of: identity.privateDatabase!) == Placement(of: identity.privateDatabase!))
        #expect(identity.homePlacement == Placement(of: identity.privateDatabase!))
        let anonymous = Identity(
            role: .anonymous, container: "iCloud.brume", environment: .production, deviceID: [], clientVersion: "")
        #expect(anonymous.homePlacement.group == 933)
    }
}
