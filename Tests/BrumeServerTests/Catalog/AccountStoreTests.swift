import BrumeLock
import BrumeModel
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite struct AccountStoreTests {
    @Test("a token opens its account, also after the store was opened again") func persistence() throws {
        try TestFolder.with { folder in
            let store = try AccountStore(folder: folder)
            let (account, token) = try store.add(name: "ada", email: "ada@example.com", nowMilliseconds: 5)
            #expect(token.hasPrefix("brume_") && token.utf8.count == 49)
            let again = try AccountStore(folder: folder)
            let holder = again.directory.holder(ofToken: token)
            #expect(holder?.name == "ada" && holder?.id == account.id)
            #expect(again.directory.list() == [account])
        }
    }

    @Test("the file holds no token") func hashedTokens() throws {
        try TestFolder.with { folder in
            let store = try AccountStore(folder: folder)
            let (_, token) = try store.add(name: "ada", email: "", nowMilliseconds: 5)
            let file = try FileSystem.read(folder + "/accounts", limit: 1 << 20)
            #expect(!String(decoding: file, as: UTF8.self).contains(token.dropFirst(6)))
            #expect(try FileSystem.permissions(folder + "/accounts") & 0o777 == 0o600)
        }
    }

    @Test("revoked tokens open nothing, a new one does") func revocation() throws {
        try TestFolder.with { folder in
            let store = try AccountStore(folder: folder)
            let (_, first) = try store.add(name: "ada", email: "", nowMilliseconds: 5)
            let second = try store.createToken(name: "ada")
            #expect(try store.change(.revokeTokens(name: "ada")).revokedTokens.count == 2)
            #expect(store.directory.holder(ofToken: first) == nil)
            #expect(store.directory.holder(ofToken: second) == nil)
            let third = try store.createToken(name: "ada")
            #expect(store.directory.holder(ofToken: third)?.name == "ada")
            _ = try store.change(.remove(name: "ada"))
            #expect(store.directory.holder(ofToken: third) == nil)
        }
    }

    @Test("a name that is taken, unknown or not allowed is refused with a sentence") func names() throws {
        try TestFolder.with { folder in
            let store = try AccountStore(folder: folder)
            _ = try store.add(name: "ada", email: "", nowMilliseconds: 5)
            let taken = #expect(throws: AccountError.self) { try store.add(name: "ada", email: "", nowMilliseconds: 5) }
            #expect(taken?.code == .exists && taken?.message.contains("ada") == true)
            let unknown = #expect(throws: AccountError.self) { try store.createToken(name: "bob") }
            #expect(unknown?.code == .unknown && unknown?.message.contains("bob") == true)
            for name in ["", "a b", "ä", "../x", String(repeating: "a", count: 65), "a\0"] {
                #expect(throws: AccountError.self) { try store.add(name: name, email: "", nowMilliseconds: 5) }
            }
            #expect(throws: AccountError.self) { try store.add(name: "eve", email: "a\nb", nowMilliseconds: 5) }
            #expect(store.directory.list().map(\.name) == ["ada"])
        }
    }

    @Test("whichever call to the disk fails, nothing changed, or the process ends since a sync failed")
    func failingCalls() throws {
        var ends = 0
        for call in 0... {
            let disk = SimulatedDisk()
            let reasons = Lock<[String]>([])
            let store = try AccountStore(
                disk: disk, failStop: { reason in reasons.withLock { $0 += [reason] } })
            let (_, token) = try store.add(name: "ada", email: "", nowMilliseconds: 5)
            disk.faults.failingCall = disk.calls + call
            do throws(AccountError) {
                _ = try store.change(.revokeTokens(name: "ada"))
                // Past the last call of a change.
                #expect(ends == 2, "of the file and of its folder")
                return
            } catch {
                disk.endProcess()
                let stopped = reasons.withLock { $0 }
                let again = try AccountStore(disk: disk)
                if stopped.isEmpty {
                    #expect(error.message.contains("nothing changed"), "call \(call)")
                    #expect(again.directory.holder(ofToken: token) != nil, "call \(call)")
                } else {
                    ends += 1
                    #expect(stopped.first?.contains("can't be synced") == true && error.message == stopped.first)
                }
                #expect(
                    store.directory.holder(ofToken: token) != nil,
                    "nothing takes effect that is not known to be on the disk")
            }
        }
    }

    @Test("a revocation that a start finds stays, also where the process before failed to sync the file's name")
    func nameIsSynced() throws {
        let disk = SimulatedDisk()
        var store = try AccountStore(disk: disk)
        let (_, token) = try store.add(name: "ada", email: "", nowMilliseconds: 5)
        let calls = disk.calls
        _ = try store.change(.setQuota(bytes: 5, name: "ada"))
        // The last call of a change is the sync of the folder.
        disk.faults.failingCall = disk.calls + (disk.calls - calls) - 1
        #expect(throws: AccountError.self) { try store.change(.revokeTokens(name: "ada")) }
        disk.endProcess()
        store = try AccountStore(disk: disk)
        try #require(store.directory.holder(ofToken: token) == nil, "the name was not there: nothing was proven")
        disk.crash(seed: 1, .nothing)
        #expect(try AccountStore(disk: disk).directory.holder(ofToken: token) == nil)
    }

    @Test("each damaged byte of the account file stops the start and names the file") func damage() throws {
        try TestFolder.with { folder in
            _ = try AccountStore(folder: folder).add(name: "ada", email: "a@b", nowMilliseconds: 5)
            let path = folder + "/accounts"
            let file = try FileSystem.read(path, limit: 1 << 20)
            for index in file.indices {
                var damaged = file
                damaged[index] ^= 0x40
                try FileSystem.atomicReplace(path, damaged)
                do throws(ServerError) {
                    _ = try AccountStore(folder: folder)
                    Issue.record("byte \(index) went unnoticed")
                } catch {
                    #expect(error.code == .damaged && error.message.contains(path))
                }
            }
        }
    }
}
