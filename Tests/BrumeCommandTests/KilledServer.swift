internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// `brume serve` as a process of its own that can be killed and started again where it was.
final class KilledServer {
    private let folder: TestFolder
    private let server: DemoServer

    init(folder: TestFolder) throws {
        self.folder = folder
        server = try DemoServer(
            dataFolder: folder.path + "/served", workFolder: folder.path, executable: CommandRun.executable)
    }

    var dataFolder: String { server.dataFolder }
    var address: String { server.address }
    var caPath: String { server.caPath }

    func start() throws -> Bool { try server.start() > 0 }
    func kill() { server.killHard() }
    func stop() -> Int32 { server.stop() ? 0 : 1 }
}
