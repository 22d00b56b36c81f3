internal import BrumeKit
internal import BrumeModel
internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("SIGHUP", .serialized, .timeLimit(.minutes(4)))
struct ReloadSignalTests {
    @Test("has serve read certificate, key and log level again: connections stay, and a bad file changes nothing")
    func reload() async throws {
        let folder = try TestFolder()
        let server = try ServerProcess(folder: folder)
        let configuration = try folder.write("brume.conf", "log-level = error\n")
        try server.start(options: ["--config", configuration])
        let pid = server.pid
        let token = try server.addAccount("ada")
        let session = try ClientSession.unshared(server.configuration(token: token))
        try await session.makeFaultZone()
        try await session.insert("before")
        #expect(!server.log.contains("serving"))

        let certificate = folder.path + "/certificates/server.pem"
        try Data("no certificate".utf8).write(to: URL(fileURLWithPath: certificate), options: .atomic)
        server.send(SIGHUP)
        try await server.waitForLog("the former one stays in use")
        try await session.insert("under the former one")
        try await ClientSession.unshared(server.configuration(token: token)).insert("new, under the former one")

        try server.renewCertificate()
        _ = try folder.write("brume.conf", "log-level = info\n")
        server.send(SIGHUP)
        try await server.waitForLog("new connections get the certificate as it is now")
        try await session.insert("after")
        try await ClientSession.unshared(server.configuration(token: token)).insert("new, under the new one")

        _ = try folder.write("brume.conf", "log-level = loud\n")
        server.send(SIGHUP)
        try await server.waitForLog("the configuration can't be read again")
        #expect(server.pid == pid && !server.log.contains("draining"))
        #expect(try await session.changes().names.count == 5)
        server.send(SIGTERM)
        #expect(try await server.end() == 0)
        #expect(server.log.contains("draining") && server.log.contains("stopped"))
    }

    @Test("ends dev in order, as the end of the terminal that it runs in")
    func dev() throws {
        let server = try ServerProcess.dev(folder: TestFolder(), arguments: [])
        server.send(SIGHUP)
        #expect(server.wait() == 0)
    }
}
