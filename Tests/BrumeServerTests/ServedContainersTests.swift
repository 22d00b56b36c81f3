import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Containers that nobody has named")
struct ServedContainersTests {
    private func open(
        _ containers: inout ServedContainers, _ name: String, _ account: UInt8, onDisk: Bool = false,
        has: (String) -> Bool = { _ in false }
    ) -> ServedContainers.Opening {
        containers.open(name, account: [account], isOnDisk: { onDisk }, hasData: has)
    }

    @Test("one that holds data is open to every account, however many hold data")
    func holdingData() {
        let names = Set((0..<5_000).map { "c\($0)" })
        var containers = ServedContainers(holdingData: names, accountLimit: 2)
        for name in names { #expect(open(&containers, name, 1) == .known) }
        #expect(open(&containers, "new", 1) == .refused, "it has its share")
        #expect(open(&containers, "found", 1, onDisk: true) == .known)
        #expect(open(&containers, "new", 2) == .new, "others have theirs")
    }

    @Test("new ones count while they are open, and for good when they are written to")
    func new() {
        var containers = ServedContainers(accountLimit: 2)
        #expect(["a", "b", "c", "a"].map { open(&containers, $0, 1) } == [.new, .new, .refused, .new])
        containers.close("a", account: [1])
        #expect(open(&containers, "c", 1) == .refused, "a session is left in it")
        containers.close("a", account: [1])
        #expect(open(&containers, "c", 1) == .new)
        containers.fill("c", account: [1])
        containers.close("c", account: [1])
        #expect(open(&containers, "d", 1) == .refused && open(&containers, "c", 1) == .known)
        #expect(open(&containers, "c", 2) == .known)
        containers.close("b", account: [1])
        containers.close("b", account: [1])
        #expect(open(&containers, "d", 1) == .new)
    }

    @Test("what an account had at the start counts")
    func earlier() {
        var containers = ServedContainers(holdingData: ["a", "b", "c"], accountLimit: 2)
        var asked = 0
        #expect(
            open(&containers, "new", 1) {
                asked += 1
                return $0 != "c"
            } == .refused)
        #expect(open(&containers, "new", 1) { _ in true } == .refused && asked <= 3, "it is asked once")
        #expect(open(&containers, "new", 2) { $0 == "c" } == .new)
    }

    @Test(
        "accounts that have used up their share keep nobody from a container with data, after a restart too",
        arguments: [false, true])
    func restart(isSnapshotted: Bool) throws {
        let disk = SimulatedDisk()
        func start() throws -> SteppedServer { try SteppedServer(disk: disk) { $0.containersPerAccount = 2 } }
        var server = try start()
        let long = "iCloud." + String(repeating: "long", count: 50)
        try server.connect(account: "a", container: "iCloud.one").save(["r"])
        try server.connect(account: "a", container: "iCloud.two", environment: .production).makeZone("Z")
        try server.connect(account: "b", container: long, environment: .production).makeZone("Z")
        for _ in 0..<2 {
            #expect(try server.refusal(account: "a", container: "iCloud.three").code == ErrorCode.badContainer.rawValue)
            #expect(try server.refusal(account: "a", container: "iCloud.three").message.contains("--container"))
            for account in ["a", "b"] {
                for container in ["iCloud.one", "iCloud.two", long] {
                    try server.connect(account: account, container: container).disconnect()
                }
            }
            if isSnapshotted { server.snapshot() }
            disk.crash(seed: 1, .nothing)
            server = try start()
        }
    }

    @Test("one that was opened and left without a write leaves no trace")
    func traceless() throws {
        let server = try SteppedServer { $0.containersPerAccount = 1 }
        for number in 0..<20 {
            let peer = try server.connect(account: "a", container: "iCloud.empty\(number)")
            let stream = peer.openNotifications()
            for database in [DatabaseScope.public, .private] {
                _ = try peer.call(.zonesList, MessageCoder().encodeListZonesRequest(database))
            }
            #expect(peer.outcome(stream) != nil)
            peer.disconnect()
            server.settle()
        }
        #expect(server.loadedIDs == [])
        let peer = try server.connect(account: "a", container: "iCloud.full")
        try peer.save(["r"])
        #expect(try server.refusal(account: "a", container: "iCloud.another").code == ErrorCode.badContainer.rawValue)
    }

    @Test("the user's record of a new container is there for who asks, and when something is saved")
    func userRecord() throws {
        let server = try SteppedServer()
        let user = StepwiseServer.userRecordName(
            accountID: [UInt8](repeating: 1, count: 16), key: [UInt8](repeating: 0x42, count: 32),
            container: "iCloud.new", environment: .development)
        func isThere(_ peer: FramePeer, _ database: DatabaseScope) throws -> Bool {
            let request = FetchRecordsRequest(database: database, zones: [.init(zone: .defaultZone, names: [user])])
            let answer = try peer.call(.recordsFetch, MessageCoder().encodeFetchRecordsRequest(request))
            let outcomes = try answer.withUnsafeBytes { try MessageCoder().decodeFetchRecordsResponse($0) }
            if case .record = outcomes[0][0] { return true }
            return false
        }
        let first = try server.connect(account: "a", container: "iCloud.new")
        #expect(server.loadedIDs.count == 1, "the public database is not there before somebody uses it")
        #expect(try isThere(first, .public))
        #expect(try isThere(first, .private))
        let other = try server.connect(account: "b", device: 3, container: "iCloud.new")
        #expect(try isThere(other, .public))
    }
}
