import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// What a device that listened to a database before its first commit is told when it comes again without a place.
@Suite("Listening to an empty database")
struct EmptyDatabaseTests {
    private static func isToldToLook(_ events: [NotificationEvent]) -> Bool {
        events.contains { $0.kind == .fetchFromToken(.private) }
    }

    /// Another device makes the account's first commits, and then a device comes without a place.
    private func isToldToLook(on server: SteppedServer) throws -> Bool {
        let other = try server.connect(account: "a", device: 2)
        try other.subscribe(Subscription(id: "all", kind: .database(recordType: "")), in: .private)
        try other.save(["r"])
        let device = try server.connect(account: "a", device: 1)
        return Self.isToldToLook(try device.events(device.openNotifications()))
    }

    @Test("behind a restart that left nothing of the database it is told to look, for the server has forgotten it")
    func restart() throws {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk)
        let device = try server.connect(account: "a", device: 1)
        _ = device.openNotifications()
        disk.crash(seed: 1, .nothing)
        #expect(try isToldToLook(on: SteppedServer(disk: disk)))
    }

    @Test("in the first run on a new folder nobody can have been forgotten, and a new device is told nothing")
    func firstRun() throws {
        #expect(try !isToldToLook(on: SteppedServer(disk: SimulatedDisk())))
    }
}
