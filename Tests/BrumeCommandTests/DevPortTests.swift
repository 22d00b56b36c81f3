internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("The port of brume dev", .timeLimit(.minutes(2)))
struct DevPortTests {
    @Test("is the one of the data folder's last start, and another one where somebody has that")
    func lastPort() throws {
        let folder = try TestFolder()
        let arguments = ["--data", folder.file("data")]
        let first = try ServerProcess.dev(folder: folder, arguments: arguments)
        #expect(first.stop() == 0)
        let second = try ServerProcess.dev(folder: folder, arguments: arguments)
        #expect(second.address == first.address)
        #expect(second.stop() == 0)
        let port = try #require(first.port)
        let other = try Listener.socket(host: "127.0.0.1", port: port, backlog: 1)
        defer { close(other.fd) }
        let third = try ServerProcess.dev(folder: folder, arguments: arguments)
        #expect(third.address != first.address)
        #expect(third.stop() == 0)
    }

    @Test("is any that is free where the file names none", arguments: ["", "0", "many", "65536"])
    func damagedFile(text: String) throws {
        let folder = try TestFolder()
        try text.write(toFile: folder.file("port"), atomically: true, encoding: .utf8)
        #expect(DevPortFile(folder: folder.path).freePort == nil)
    }
}
