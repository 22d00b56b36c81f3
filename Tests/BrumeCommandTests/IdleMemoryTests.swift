internal import BrumeModel
internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import BrumeKit
@testable internal import brume

/// What many devices cost that are connected and silent.
@Suite("An idle connection", .timeLimit(.minutes(2)))
struct IdleMemoryTests {
    /// Devices that were welcomed and have said nothing since.
    private func devices(_ count: Int, of server: ServerProcess) async throws -> [ClientSession] {
        let environment = try server.environment()
        let address = try #require(environment["BRUME_SERVER"]).split(separator: ":")
        let endpoint = ServerEndpoint(
            host: String(address[0]), port: try #require(UInt16(address[1])), caPath: environment["BRUME_CA"])
        let transport = try LoopTransport.shared.get()
        var sessions: [ClientSession] = []
        for _ in 0..<count {
            let session = ClientSession(
                key: ClientSession.Key(
                    endpoint: endpoint, accountToken: environment["BRUME_TOKEN"], container: "iCloud.test",
                    environment: 1, deviceID: Array(UUID().uuidString.utf8.prefix(16))), transport: transport)
            _ = try await session.welcome()
            sessions.append(session)
        }
        return sessions
    }

    @Test("takes less than 24 KiB of the server: no buffer of a TLS record, which alone has 16")
    func memory() async throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        func residentBytes() throws -> Int {
            Int(try #require(ProcessFigures.read(pid: server.pid)).residentBytes)
        }
        // What the first ones bring about once is not what each of them takes.
        let first = try await devices(50, of: server)
        let before = try residentBytes()
        let others = try await devices(300, of: server)
        let each = (try residentBytes() - before) / others.count
        #expect(each < 24 * 1024, "\(each) bytes for each")
        #expect(each > 2 * 1024, "\(each) bytes for each are too few for a connection with TLS: the measure is broken")
        withExtendedLifetime(first) {}
    }
}
