import BrumeModel
import BrumeServer
import BrumeService
import BrumeSystem
import BrumeTestKit
import Foundation
import Testing

@Suite("A server that is let go")
struct LettingGoTests {
    private final class Weak {
        weak var loop: EventLoop?

        init(_ loop: EventLoop) { self.loop = loop }
    }

    /// A server with sessions, streams, a query and a save that waits for the disk, and its loops.
    private static func busy() throws -> [Weak] {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk) { $0.shortLoadBytes = 0 }
        let peer = try server.connect(account: "a")
        try peer.save((0..<500).map { "r\($0)" }, database: .public)
        _ = peer.openNotifications()
        _ = try server.connect(account: "b", device: 2).openNotifications()
        server.snapshot()
        _ = peer.startQuery(
            QueryRequest(
                database: .public, zone: nil, query: Query(recordType: "Note", predicate: .constant(true))))
        peer.startSave("late")
        server.turn()
        return server.loops.map { Weak($0) }
    }

    @Test("leaves no loop, and so no descriptor, whatever it was in the midst of")
    func loops() throws {
        let loops = try Self.busy()
        #expect(loops.allSatisfy { $0.loop == nil })
    }

    private static var descriptorCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? .max
    }

    /// In a process of its own: other tests open and close descriptors at any time.
    @Test("leaves no descriptor where it could not start")
    func failedStart() async {
        await #expect(processExitsWith: .success) {
            func fail() throws {
                let folder = try TemporaryFolder(prefix: "brume-unstarted-")
                defer { folder.remove() }
                let server = try Server(
                    ServerConfiguration(
                        dataFolder: folder.path, certificatePath: folder.path + "/none", keyPath: folder.path + "/none")
                )
                do throws(ServerError) {
                    try server.start()
                    exit(2)
                } catch {
                    if error.code != .certificate { exit(3) }
                }
            }
            try fail()
            let before = LettingGoTests.descriptorCount
            for _ in 0..<20 { try fail() }
            if LettingGoTests.descriptorCount > before { exit(1) }
        }
    }

    /// Databases that are waited for on the loader's thread, which never comes to them.
    @Test("leaves no loop where calls and streams wait for a database")
    func loads() throws {
        func waiting() throws -> [Weak] {
            let disk = SimulatedDisk()
            do {
                let first = try SteppedServer(disk: disk)
                try first.connect(account: "a").save(["r"], database: .public)
                first.snapshot()
            }
            disk.endProcess()
            let server = try SteppedServer(disk: disk) { $0.shortLoadBytes = 0 }
            server.isLoaderHeld = true
            let peer = try server.connect(account: "a")
            _ = peer.openNotifications()
            peer.startSave("late")
            server.settle()
            return server.loops.map { Weak($0) }
        }
        #expect(try waiting().allSatisfy { $0.loop == nil })
    }

    /// A server whose records are being looked at for a type that nobody knows, since a query asks for it.
    private static func learning(_ log: ScriptedLogStorage? = nil) throws -> SteppedServer {
        let server = try SteppedServer(log: log)
        let peer = try server.connect(account: "a")
        try peer.save((0..<5 * ServiceLimits.lessonPlacesPerTurn).map { "r\($0)" })
        let stream = peer.startQuery(
            QueryRequest(
                database: .private, zone: .defaultZone,
                query: Query(recordType: "Unknown", predicate: .constant(true))))
        server.turn()
        #expect(!peer.isAnswered(stream), "the scan is under way")
        return server
    }

    @Test("leaves no loop where a query waits for what the records teach about an unknown type")
    func lessons() throws {
        func loops() throws -> [Weak] { try Self.learning().loops.map { Weak($0) } }
        #expect(try loops().allSatisfy { $0.loop == nil })
    }

    @Test("leaves no loop where the database of such a query was lost and its clients have not been told")
    func lessonsOfLostDatabase() throws {
        func loops() throws -> [Weak] {
            let server = try Self.learning(ScriptedLogStorage())
            try #require(server.log).loseAll()
            // The log tells the loop in this turn, and the loop its clients in the next.
            server.turn()
            return server.loops.map { Weak($0) }
        }
        #expect(try loops().allSatisfy { $0.loop == nil })
    }
}
