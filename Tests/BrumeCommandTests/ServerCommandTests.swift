internal import BrumeSystem
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("The executable as a server", .serialized)
struct ServerCommandTests {
    @Test("dev is ready with accounts, stops in order, and leaves nothing behind")
    func dev() throws {
        let server = try DevServer(folder: TestFolder(), arguments: ["--accounts", "alice,bob"])
        #expect(server.ready["accounts"]?["alice"]?["email"] == .string("alice@example.com"))
        #expect(server.ready["accounts"]?["bob"]?["user"]?.text?.hasPrefix("_") == true)
        let caPath = try #require(server.ready["ca"]?.text)
        #expect(FileManager.default.fileExists(atPath: caPath))
        #expect(try server.run("zones", account: "alice").status == 0)
        server.process.send(SIGTERM)
        #expect(server.process.wait() == 0)
        #expect(!FileManager.default.fileExists(atPath: caPath))
    }

    @Test("dev on a folder again has the records and users that it had, and fresh tokens")
    func devAgain() throws {
        let folder = try TestFolder()
        let data = ["--data", folder.path + "/data"]
        let first = try DevServer(folder: folder, arguments: data)
        #expect(try first.run("records", "save", "default", "x", "--type", "T", "a=1").status == 0)
        first.process.closeInput()
        #expect(first.process.wait() == 0)
        let second = try DevServer(folder: folder, arguments: data)
        #expect(try second.token() != first.token())
        #expect(second.ready["accounts"]?["a"]?["user"] == first.ready["accounts"]?["a"]?["user"])
        #expect(try second.run("records", "get", "default", "x").status == 0)
        let old = try second.run("zones", extra: ["BRUME_TOKEN": first.token()])
        #expect(old.status == ExitCode.notPermitted.rawValue)
    }

    @Test("accounts are administered on a stopped server and on a running one")
    func accounts() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        func run(_ words: String...) throws -> CommandRun { try CommandRun(words + ["--data", data], in: folder) }
        let added = try run("account", "add", "carol", "--email", "c@example.com", "--json")
        #expect(added.status == 0, "\(added.errors)")
        #expect(try run("account", "add", "carol").status == ExitCode.conflict.rawValue)
        #expect(try run("account", "add", "not allowed").status == ExitCode.usage.rawValue)
        #expect(try run("account", "remove", "nobody").status == ExitCode.notFound.rawValue)
        #expect(try run("snapshot").status == ExitCode.unreachable.rawValue)

        let server = try DevServer(folder: folder, arguments: ["--data", data])
        let token = try #require(try added.json()["token"]?.text)
        #expect(try server.run("zones", extra: ["BRUME_TOKEN": token]).status == 0)
        #expect(try run("account", "add", "carol").status == ExitCode.conflict.rawValue)
        let dave = try #require(try run("account", "add", "dave", "--json").json()["token"]?.text)
        #expect(try server.run("zones", "create", "Z", extra: ["BRUME_TOKEN": dave]).status == 0)
        #expect(try run("account", "list", "--json").output.count == 4)
        #expect(try run("account", "token", "dave", "--revoke", "--json").json()["revoked"] == .integer(1))
        let revoked = try server.run("zones", extra: ["BRUME_TOKEN": dave])
        #expect(revoked.status == ExitCode.notPermitted.rawValue)
        #expect(try run("account", "remove", "dave").status == 0)
        #expect(try run("account", "remove", "dave").status == ExitCode.notFound.rawValue)
        let snapshot = try run("snapshot", "--json")
        #expect(snapshot.status == 0, "\(snapshot.errors)")
    }

    @Test("serve says how to make a certificate, uses the one that certs made, and keeps others out of its folder")
    func serve() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        let certificates = folder.path + "/certs"
        // Named, because the folder that the tests run in may have certificates of its own.
        let missing = try CommandRun(
            [
                "serve", "--data", data, "--listen", "127.0.0.1:0", "--certificate", certificates + "/server.pem",
                "--key",
                certificates + "/server.key",
            ], in: folder)
        #expect(missing.status == ExitCode.notFound.rawValue)
        #expect(missing.errors.contains("brume certs"))
        #expect(try CommandRun(["certs", "--folder", certificates], in: folder).status == 0)
        #expect(try CommandRun(["certs", "--folder", certificates], in: folder).status == ExitCode.conflict.rawValue)
        #expect(try CommandRun(["certs", "--folder", certificates, "--renew"], in: folder).status == 0)
        let arguments = [
            "serve", "--data", data, "--listen", "127.0.0.1:0", "--certificate", certificates + "/server.pem", "--key",
            certificates + "/server.key", "--ca", certificates + "/ca.pem", "--with-parent",
        ]
        let server = try KilledServer(folder: folder)
        #expect(try server.start())
        let second = try CommandRun(
            arguments.map { $0 == data ? server.dataFolder : $0 }, in: folder)
        #expect(second.status == ExitCode.conflict.rawValue, "\(second.errors)")
        let inUse = try CommandRun(["verify", server.dataFolder], in: folder)
        #expect(inUse.status == ExitCode.conflict.rawValue)
        #expect(server.stop() == 0)
        let sound = try CommandRun(["verify", server.dataFolder, "--json"], in: folder)
        #expect(sound.status == 0, "\(sound.errors)")
        #expect(try sound.json()["sound"] == .bool(true))
    }

    @Test("verify names damage in the journal by file and offset, and no server starts on it")
    func damagedJournal() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        let server = try DevServer(folder: folder, arguments: ["--data", data])
        for name in ["first-of-all", "second", "third"] {
            #expect(try server.run("records", "save", "default", name, "--type", "T", "a=1").status == 0)
        }
        // Not in order, so that the journal keeps what it has.
        server.process.send(SIGKILL)
        _ = server.process.wait()
        let path = try #require(try Self.flipByte(of: "first-of-all", in: data))
        let damaged = try CommandRun(["verify", data, "--json"], in: folder)
        #expect(damaged.status == ExitCode.damaged.rawValue)
        let problem = try damaged.json()["problems"]?.array?.first
        #expect(problem?["file"]?.text.map { path.hasSuffix($0) } == true)
        let refused = try CommandRun(["dev", "--data", data, "--with-parent"], in: folder)
        #expect(refused.status == ExitCode.damaged.rawValue, "\(refused.errors)")
        #expect(refused.errors.contains((path as NSString).lastPathComponent))
    }

    @Test("verify names a damaged snapshot")
    func damagedSnapshot() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        let server = try DevServer(folder: folder, arguments: ["--data", data])
        #expect(try server.run("records", "save", "default", "in-a-snapshot", "--type", "T", "a=1").status == 0)
        server.process.send(SIGTERM)
        #expect(server.process.wait() == 0)
        let path = try #require(try Self.flipByte(of: "in-a-snapshot", in: data))
        let damaged = try CommandRun(["verify", data], in: folder)
        #expect(damaged.status == ExitCode.damaged.rawValue)
        #expect(damaged.output.contains { $0.contains((path as NSString).lastPathComponent) })
        #expect(try CommandRun(["verify", folder.path + "/nowhere"], in: folder).status == ExitCode.notFound.rawValue)
    }

    /// Changes one byte of `text` in the file of the folder that holds it, and gives that file's path. What spare files of the
    /// journal were before is of no account.
    private static func flipByte(of text: String, in folder: String) throws -> String? {
        for name in FileManager.default.enumerator(atPath: folder)?.compactMap({ $0 as? String }) ?? []
        where !name.hasSuffix(".spare") {
            let url = URL(fileURLWithPath: folder + "/" + name)
            guard var bytes = try? Data(contentsOf: url), let range = bytes.range(of: Data(text.utf8)) else { continue }
            bytes[range.lowerBound] ^= 0x10
            try bytes.write(to: url)
            return url.path
        }
        return nil
    }

    @Test("the demo ends with the same records on both devices")
    func demo() throws {
        let folder = try TestFolder()
        let run = try CommandRun(["demo", "--json"], in: folder)
        guard FileManager.default.fileExists(atPath: Languages.path) else {
            #expect(run.status == ExitCode.notFound.rawValue)
            #expect(run.errors.contains("apt-get install iso-codes"))
            return
        }
        #expect(run.status == 0, "\(run.errors)")
        #expect(try run.json()["same"] == .bool(true))
    }
}
