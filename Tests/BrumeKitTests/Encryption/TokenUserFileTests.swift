import BrumeEncryption
import BrumeSystem
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

@Suite("The file that says whose a token is")
struct TokenUserFileTests {
    private static let ada = "_" + String(repeating: "a", count: 32)
    private static let mallory = "_" + String(repeating: "b", count: 32)

    private let state: TestFolder
    private let place = KeyPlace(
        server: "example.com:7440",
        scope: IdentityScope(account: Self.ada, container: "iCloud.test", environment: "development"))

    init() throws { state = try TestFolder() }

    private func file(_ token: String = "token") throws -> TokenUserFile {
        try FileSystem.makeDirectory(state.file("keys"))
        return TokenUserFile(stateFolder: state.path, place: place, token: token, disk: RealKeyDisk())
    }

    private func kept(_ attempt: KeyFolder.Attempt<String>) -> String? {
        guard case .done(let user) = attempt else { return nil }
        return user
    }

    @Test("keeps the first user who was named, of each token")
    func first() throws {
        #expect(try file().load() == nil)
        #expect(try kept(file().keep(Self.ada)) == Self.ada)
        #expect(try kept(file().keep(Self.mallory)) == Self.ada)
        #expect(try file().load() == Self.ada)
        #expect(try file("other").load() == nil)
    }

    @Test("is written by one of many that begin at the same time, and the others wait and agree")
    func race() async throws {
        let file = try file()
        let users = await withTaskGroup(of: Result<String, any Error>.self) { group in
            for number in "0123456789abcdef" {
                group.addTask {
                    Result {
                        while true {
                            if case .done(let user) = try file.keep("_" + String(repeating: number, count: 32)) {
                                return user
                            }
                            usleep(100)
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let names = try Set(users.map { try $0.get() })
        #expect(names.count == 1)
        #expect(try file.load() == names.first)
    }

    @Test("waits for who has the lock, and is written once that one has ended")
    func locked() throws {
        let file = try file()
        try FileSystem.makeDirectory(state.file("keys/users"))
        let lock = try DirectoryLock(directory: state.file("keys/users"))
        #expect(try kept(file.keep(Self.ada)) == nil && file.load() == nil)
        lock.release()
        #expect(try kept(file.keep(Self.ada)) == Self.ada)
    }

    @Test("that is damaged is an error that says what to do, and is not written over")
    func damaged() throws {
        _ = try file().keep(Self.ada)
        let users = state.file("keys/users")
        let name = try #require(try FileSystem.list(users).first { $0 != "lock" })
        var bytes = try FileSystem.read(users + "/" + name, limit: 1024)
        bytes[bytes.count - 1] ^= 1
        try FileSystem.atomicReplace(users + "/" + name, bytes)
        let problem = try #require(throws: KeyFolderProblem.self) { try file().load() }
        #expect(problem.message.contains("is damaged; remove it"))
        #expect(throws: problem) { try file().keep(Self.ada) }
        #expect(try FileSystem.read(users + "/" + name, limit: 1024) == bytes)
    }
}
