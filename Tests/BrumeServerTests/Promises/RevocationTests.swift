import BrumeSystem
import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// A session that is between two loops while its token is revoked is found by nobody: it asks when it arrives.
@Suite("Revocation of a session on its way")
struct RevocationTests {
    private func withCore(_ body: (ServerCore, AccountStore) throws -> Void) throws {
        try TestFolder.with { folder in
            var configuration = ServerConfiguration(dataFolder: folder, certificatePath: "", keyPath: "")
            configuration.log = .none
            let disk = SimulatedDisk()
            let journal = JournalLogs(
                of: try Recovery(opening: disk, options: JournalWriter.Options(salt: 1), newEpoch: 1), on: disk,
                configuration: configuration, loops: try ServerLoops(shards: 1),
                failStop: { Issue.record("the server stopped: \($0)") })
            defer { journal.release() }
            let accounts = try AccountStore(folder: folder)
            try body(
                ServerCore(
                    configuration: configuration.service,
                    catalog: FolderCatalog(
                        secrets: ServerSecrets(folder: folder), accounts: accounts,
                        schemas: SchemaRegistry(disk: disk, log: .none)),
                    logs: journal, startedNanoseconds: 0,
                    failStop: { Issue.record("the server stopped: \($0)") }), accounts)
        }
    }

    private func hello(_ token: String) -> Hello {
        Hello(
            clientVersion: "test", deviceID: [UInt8](repeating: 1, count: 16), container: "iCloud.com.example",
            environment: .development, credentials: .account(token))
    }

    @Test("a revoked token stays revoked when the account gets a new one at once")
    func newToken() throws {
        try withCore { core, accounts in
            let (_, token) = try accounts.add(name: "ada", email: "", nowMilliseconds: 0)
            let identity = try core.authenticate(Claim(hello(token)))
            #expect(core.isStillValid(identity))
            _ = try accounts.change(.revokeTokens(name: "ada"))
            let second = try core.authenticate(Claim(hello(try accounts.createToken(name: "ada"))))
            #expect(!core.isStillValid(identity))
            #expect(core.isStillValid(second))
        }
    }

    @Test("a removed account's session does not live on in another account of the same name")
    func sameName() throws {
        try withCore { core, accounts in
            let (_, token) = try accounts.add(name: "ada", email: "", nowMilliseconds: 0)
            let identity = try core.authenticate(Claim(hello(token)))
            _ = try accounts.change(.remove(name: "ada"))
            _ = try accounts.add(name: "ada", email: "", nowMilliseconds: 0)
            #expect(!core.isStillValid(identity))
        }
    }
}
