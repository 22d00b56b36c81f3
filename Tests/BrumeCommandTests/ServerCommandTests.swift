internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("The executable as a server", .serialized)
struct ServerCommandTests {
    @Test("an asset limit that no store takes is refused at the start")
    func assetLimit() throws {
        let folder = try TestFolder()
        let started = try CommandRun(["serve", "--data", folder.path + "/data", "--asset-limit", "100GiB"], in: folder)
        #expect(started.status == ExitCode.usage.rawValue && started.errors.contains("64GiB at most"))
    }

    @Test("dev is ready with accounts, stops in order, and leaves nothing behind")
    func dev() throws {
        let server = try ServerProcess.dev(folder: TestFolder(), arguments: ["--accounts", "alice,bob"])
        #expect(server.ready["accounts"]?["alice"]?["email"] == .string("alice@example.com"))
        #expect(server.ready["accounts"]?["bob"]?["user"]?.text?.hasPrefix("_") == true)
        let caPath = try #require(server.ready["ca"]?.text)
        #expect(FileManager.default.fileExists(atPath: caPath))
        // It holds tokens.
        #expect(try FileSystem.permissions(server.readyPath) == 0o600)
        #expect(try server.run("zones", account: "alice").status == 0)
        server.send(SIGTERM)
        #expect(server.wait() == 0)
        #expect(!FileManager.default.fileExists(atPath: caPath))
    }

    @Test("dev on a folder again has the records and users that it had, and fresh tokens")
    func devAgain() throws {
        let folder = try TestFolder()
        let data = ["--data", folder.path + "/data"]
        let first = try ServerProcess.dev(folder: folder, arguments: data)
        #expect(try first.run("records", "save", "default", "x", "--type", "T", "a=1").status == 0)
        first.closeInput()
        #expect(first.wait() == 0)
        let second = try ServerProcess.dev(folder: folder, arguments: data)
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
        #expect(try run("account", "show", "carl").errors.contains("did you mean carol?"))
        #expect(try run("account", "add", ".").status == ExitCode.usage.rawValue)
        for email in ["not an email", "@", "a@", "a b@c"] {
            #expect(try run("account", "add", "erin", "--email", email).status == ExitCode.usage.rawValue, "\(email)")
        }
        #expect(try run("snapshot").status == ExitCode.unreachable.rawValue)

        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        let token = try #require(try added.json()["token"]?.text)
        #expect(try server.run("zones", extra: ["BRUME_TOKEN": token]).status == 0)
        #expect(try run("account", "add", "carol").status == ExitCode.conflict.rawValue)
        let dave = try #require(try run("account", "add", "dave", "--json").json()["token"]?.text)
        #expect(try server.run("zones", "create", "Z", extra: ["BRUME_TOKEN": dave]).status == 0)
        #expect(try run("account", "list", "--json").output.count == 4)
        #expect(try run("account", "token", "dave", "--revoke", "--json").json()["revoked"] == .integer(1))
        let revoked = try server.run("zones", extra: ["BRUME_TOKEN": dave])
        #expect(revoked.status == ExitCode.notPermitted.rawValue)
        #expect(try run("account", "remove", "dave", "--yes").status == 0)
        #expect(try run("account", "remove", "dave").status == ExitCode.notFound.rawValue)
        let snapshot = try run("snapshot", "--json")
        #expect(snapshot.status == 0, "\(snapshot.errors)")
    }

    @Test("an account is removed with its private data where that is asked for, and what it saved in public stays")
    func removalWithData() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        func run(_ words: String...) throws -> CommandRun { try CommandRun(words + ["--data", data], in: folder) }
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data, "--accounts", "a,b"])
        for (account, container) in [("a", "iCloud.one"), ("a", "iCloud.two"), ("b", "iCloud.one")] {
            let extra = ["BRUME_CONTAINER": container]
            #expect(try server.run("zones", "create", "Notes", account: account, extra: extra).status == 0)
            for zone in ["Notes", "default"] {
                let saved = try server.run(
                    "records", "save", zone, "x", "--type", "T", "text=hello", account: account, extra: extra)
                #expect(saved.status == 0, "\(saved.errors)")
            }
        }
        #expect(
            try server.run(
                "records", "save", "default", "open", "--public", "--type", "T", "text=hello",
                extra: ["BRUME_CONTAINER": "iCloud.one"]
            ).status == 0)
        // What is on the disk alone counts as well.
        #expect(try run("snapshot").status == 0)
        #expect(try run("account", "remove", "nobody", "--with-data").status == ExitCode.notFound.rawValue)
        let unsure = try run("account", "remove", "a", "--with-data")
        #expect(unsure.status == ExitCode.usage.rawValue && unsure.errors.contains("--yes"), "\(unsure.errors)")
        let former = try server.environment()
        let removed = try run("account", "remove", "a", "--with-data", "--yes", "--json")
        #expect(removed.status == 0, "\(removed.errors)")
        #expect(try removed.json()["databases"] == .integer(2))
        #expect(try removed.json()["records"] == .integer(4))
        #expect(try run("account", "list").output.count == 1)
        let signedOut = try CommandRun(["zones"], environment: former, in: folder)
        #expect(signedOut.status == ExitCode.notPermitted.rawValue)
        let one = ["BRUME_CONTAINER": "iCloud.one"]
        #expect(try server.run("records", "get", "Notes", "x", account: "b", extra: one).status == 0)
        #expect(try server.run("records", "get", "default", "open", "--public", account: "b", extra: one).status == 0)

        let unasked = try run("account", "remove", "b")
        #expect(unasked.status == ExitCode.usage.rawValue && unasked.errors.contains("--yes"), "\(unasked.errors)")
        // The price is said before.
        #expect(unasked.errors.contains("nobody can read or delete it any more"), "\(unasked.errors)")
        #expect(unasked.errors.contains("--with-data deletes it, and ends its shares"), "\(unasked.errors)")
        let kept = try run("account", "remove", "b", "--yes")
        #expect(kept.status == 0 && kept.output.first?.contains("stays on disk") == true, "\(kept.output)")
        #expect(try run("account", "add", "new").status == 0)
        let unused = try run("account", "remove", "new", "--yes")
        #expect(unused.output == ["removed new, which had no private data"], "\(unused.output) \(unused.errors)")
        server.closeInput()
        #expect(server.wait() == 0)
        #expect(try run("account", "add", "c").status == 0)
        let stopped = try run("account", "remove", "c", "--with-data", "--yes")
        #expect(stopped.status == ExitCode.unreachable.rawValue, "\(stopped.errors)")
        #expect(!stopped.errors.contains("--with-data"), "\(stopped.errors)")
        #expect(try run("account", "list").output.count == 1)
    }

    @Test("the containers are listed with what their public databases hold, in memory and on the disk")
    func containers() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        func list() throws -> [String: JSONValue] {
            let run = try CommandRun(["containers", "list", "--json", "--data", data], in: folder)
            #expect(run.status == 0, "\(run.errors)")
            return Dictionary(
                uniqueKeysWithValues: try run.output.map(JSONParser.value(of:)).map {
                    ($0["container"]?.text ?? "", $0)
                })
        }
        func publicBytes(_ container: JSONValue?) -> Int64 {
            if case .integer(let bytes)? = container?["development"]?["publicBytes"] { bytes } else { -1 }
        }
        let first = try ServerProcess.dev(folder: folder, arguments: ["--data", data, "--public-quota", "1MiB"])
        for container in ["iCloud.one", "iCloud.two"] {
            let saved = try first.run(
                "records", "save", "default", "x", "--public", "--type", "T",
                "text=" + String(repeating: "x", count: 2_000), extra: ["BRUME_CONTAINER": container])
            #expect(saved.status == 0, "\(saved.errors)")
        }
        let loaded = try list()
        #expect(loaded.keys.sorted() == ["iCloud.one", "iCloud.two"])
        #expect(loaded["iCloud.one"]?["development"]?["recordTypes"] == .integer(1))
        #expect(loaded["iCloud.one"]?["production"]?["recordTypes"] == .integer(0))
        let exported = try CommandRun(
            ["schema", "export", "--json", "--container", "iCloud.one", "--data", data], in: folder)
        #expect(try exported.json()["recordTypes"] == .integer(1))
        #expect(loaded["iCloud.one"]?["publicLimit"] == .integer(1_048_576))
        #expect((2_000...3_000).contains(publicBytes(loaded["iCloud.two"])), "\(loaded)")
        first.closeInput()
        #expect(first.wait() == 0)
        let second = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        let onDisk = try list()
        #expect(publicBytes(onDisk["iCloud.two"]) == publicBytes(loaded["iCloud.two"]))
        second.closeInput()
        #expect(second.wait() == 0)
        let stopped = try CommandRun(["containers", "list", "--data", data], in: folder)
        #expect(stopped.status == ExitCode.unreachable.rawValue, "\(stopped.errors)")
    }

    @Test("accounts are found by an address and a number, which the operator changes beside a server and without one")
    func handles() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        func run(_ words: String...) throws -> CommandRun { try CommandRun(words + ["--data", data], in: folder) }
        for words in [["--phone", "030 1"], ["--email", "a"], ["--email", ""]] {
            let refused = try CommandRun(["account", "add", "ada"] + words + ["--data", data], in: folder)
            #expect(refused.status == ExitCode.usage.rawValue, "\(words)")
        }
        #expect(!FileSystem.exists(data))
        let added = try run("account", "add", "ada", "--email", "ada@x.com", "--phone", "+49 30 1", "--json").json()
        #expect(added["phone"] == .string("+49301"))
        #expect(try run("account", "add", "bob", "--email", "ADA@x.com").status == ExitCode.conflict.rawValue)
        #expect(try run("account", "add", "bob").status == 0)
        #expect(try run("account", "handles", "bob").output == ["bob: no e-mail address, no phone number"])

        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        // Showing them changes nothing, whatever a script has in its variables.
        let shown = try CommandRun(
            ["account", "handles", "ada", "--data", data],
            environment: ["BRUME_EMAIL": "eve@x.com", "BRUME_NO_PHONE": "1"], in: folder)
        #expect(shown.output == ["ada: ada@x.com, +49301"], "\(shown.errors)")
        let taken = try run("account", "handles", "bob", "--phone", "+49-30-1")
        #expect(
            taken.status == ExitCode.conflict.rawValue && taken.errors.contains("is that of ada"), "\(taken.errors)")
        let both = try run("account", "handles", "ada", "--phone", "+1234", "--no-phone")
        #expect(both.status == ExitCode.usage.rawValue && both.errors.contains("not both"))
        #expect(try run("account", "handles", "nobody", "--no-phone").status == ExitCode.notFound.rawValue)
        #expect(try run("account", "handles", "ada", "--no-phone").output == ["ada: ada@x.com"])
        let moved = try run("account", "handles", "bob", "--phone", "+49-30-1", "--email", "bob@x.com", "--json").json()
        #expect(moved["email"] == .string("bob@x.com") && moved["phone"] == .string("+49301"))
        server.closeInput()
        #expect(server.wait() == 0)
        #expect(try run("account", "handles", "bob").output == ["bob: bob@x.com, +49301"])
        #expect(try run("account", "show", "bob").output.contains("phone:   +49301"))
        #expect(try run("account", "list").output.contains { $0.hasPrefix("bob  bob@x.com, +49301  1 token") })
    }

    @Test("an account is made with a quota of its own, and shown with it, beside a server and without one")
    func show() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        func run(_ words: String...) throws -> CommandRun { try CommandRun(words + ["--data", data], in: folder) }
        #expect(try run("account", "add", "carol", "--quota", "5GB").status == ExitCode.usage.rawValue)
        #expect(!FileSystem.exists(data))
        #expect(try run("account", "add", "carol", "--quota", "1GiB", "--email", "c@example.com").status == 0)
        // A server's quota in a variable is none of the account's own.
        #expect(
            try CommandRun(
                ["account", "add", "dave", "--data", data], environment: ["BRUME_QUOTA": "7MiB"], in: folder
            ).status == 0)
        let stopped = try run("account", "show", "carol", "--json").json()
        #expect(stopped["quota"]?["limit"] == .integer(1 << 30) && stopped["quota"]?["used"] == .null)
        #expect(stopped["email"] == .string("c@example.com") && stopped["tokens"] == .integer(1))
        #expect(try run("account", "show", "dave", "--json").json()["quota"]?["default"] == .bool(true))
        #expect(try run("account", "show", "nobody").status == ExitCode.notFound.rawValue)
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        let running = try run("account", "show", "carol")
        let quota = "1GiB (1,073,741,824 bytes) for all private databases; 0 bytes used"
        #expect(running.output.last == "quota:   \(quota)", "\(running.output)")
        #expect(try run("account", "show", "nobody").status == ExitCode.notFound.rawValue)
        server.closeInput()
        #expect(server.wait() == 0)
    }

    @Test("a quota stops an account's saves and nobody else's, and the operator shows and changes it")
    func quota() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        func quota(_ words: String...) throws -> CommandRun {
            try CommandRun(["account", "quota"] + words + ["--json", "--data", data], in: folder)
        }
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data, "--quota", "4KiB"])
        func save(_ name: String, account: String = "a") throws -> CommandRun {
            try server.run(
                "records", "save", "default", name, "--type", "T", "text=" + String(repeating: "x", count: 2_500),
                account: account)
        }
        #expect(try save("one").status == 0)
        let refused = try save("two")
        #expect(
            refused.status != 0 && refused.errors.contains("of the account's quota of 4096 are left"),
            "\(refused.errors)")
        let shown = try quota("a").json()
        #expect(shown["limit"] == .integer(4_096) && shown["default"] == .bool(true))
        guard case .integer(let used)? = shown["used"], case .integer(let other)? = try quota("b").json()["used"] else {
            Issue.record("what is used is not told: \(shown)")
            return
        }
        #expect((2_500...4_096).contains(used) && other < 1_000, "\(used), \(other)")
        #expect(try save("one", account: "b").status == 0)

        #expect(try quota("a", "1MiB").json()["limit"] == .integer(1_048_576))
        #expect(try save("two").status == 0)
        #expect(try quota("a", "--default").json()["default"] == .bool(true))
        #expect(try save("three").status != 0)
        #expect(try server.run("records", "delete", "default", "one").status == 0)
        #expect(try quota("a", "0").json()["limit"] == .integer(0))
        #expect(try save("three").status == 0)
        #expect(try quota("nobody").status == ExitCode.notFound.rawValue)
        #expect(try quota("a", "much").status == ExitCode.usage.rawValue)
        server.closeInput()
        #expect(server.wait() == 0)

        // The account keeps its own; what is used the folder alone does not tell.
        let stopped = try quota("a").json()
        #expect(stopped["limit"] == .integer(0) && stopped["used"] == .null, "\(stopped)")
        #expect(try quota("a", "8KiB").json()["limit"] == .integer(8_192))
        let again = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        #expect(try quota("a").json()["limit"] == .integer(8_192))
        #expect(
            try again.run(
                "records", "save", "default", "four", "--type", "T", "t=" + String(repeating: "x", count: 9_000)
            )
            .status != 0)
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
        let server = try ServerProcess(folder: folder)
        try server.start()
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

    @Test("each file of a stopped server's folder that is missing is named by verify, and no server starts without it")
    func missingFiles() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        #expect(try server.run("records", "save", "default", "a", "--type", "T", "a=1").status == 0)
        server.send(SIGTERM)
        #expect(server.wait() == 0)
        let all = try #require(FileManager.default.enumerator(atPath: data)).compactMap { $0 as? String }
        let files = all.filter { path in
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: data + "/" + path, isDirectory: &isFolder)
            // What is made anew, or means nothing.
            return !isFolder.boolValue && !["lock", "admin.token"].contains(path) && !path.hasSuffix(".spare")
                && !path.hasPrefix("dev-certificates/")
        }
        #expect(files.count >= 8, "\(files)")
        for path in files {
            let aside = folder.path + "/aside"
            try FileManager.default.moveItem(atPath: data + "/" + path, toPath: aside)
            let verified = try CommandRun(["verify", data, "--json"], in: folder)
            #expect(verified.status == ExitCode.damaged.rawValue, "\(path)")
            let named = try verified.json()["problems"]?.array?.contains { $0["file"]?.text == path }
            #expect(named == true, "\(path): \(verified.output)")
            let refused = try CommandRun(["dev", "--data", data, "--with-parent"], in: folder)
            #expect(refused.status == ExitCode.damaged.rawValue, "\(path): \(refused.errors)")
            #expect(refused.errors.contains(path), "\(path): \(refused.errors)")
            #expect(!FileManager.default.fileExists(atPath: data + "/" + path), "\(path) is made anew")
            try FileManager.default.moveItem(atPath: aside, toPath: data + "/" + path)
        }
        #expect(try CommandRun(["verify", data], in: folder).status == 0)

        // Damaged accounts are nobody's to give up: the folder stays as it is, so that no device fetches anew for it.
        let accounts = URL(fileURLWithPath: data + "/accounts")
        let sound = try Data(contentsOf: accounts)
        let meta = try Data(contentsOf: URL(fileURLWithPath: data + "/brume.meta"))
        var damaged = sound
        damaged[damaged.count - 1] ^= 1
        try damaged.write(to: accounts)
        let useless = try CommandRun(["verify", data, "--accept-loss"], in: folder)
        #expect(useless.status == ExitCode.damaged.rawValue)
        #expect(useless.output.contains { $0.contains("accounts at 16") }, "\(useless.output)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: data + "/brume.meta")) == meta)
        try sound.write(to: accounts)

        // Without a backup, the operator goes on without the snapshots: it is said which.
        let lost = files.filter { $0.hasPrefix("snapshots/") }
        for path in lost { try FileManager.default.removeItem(atPath: data + "/" + path) }
        let accepted = try CommandRun(["verify", data, "--accept-loss", "--json"], in: folder)
        #expect(accepted.status == 0, "\(accepted.output) \(accepted.errors)")
        #expect(try accepted.json()["lost"]?.array?.compactMap { $0["file"]?.text }.sorted() == lost.sorted())
        let again = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        #expect(try again.run("records", "get", "default", "a").status == ExitCode.notFound.rawValue)
    }

    @Test("verify names damage in the journal by file and offset, and no server starts on it")
    func damagedJournal() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        for name in ["first-of-all", "second", "third"] {
            #expect(try server.run("records", "save", "default", name, "--type", "T", "a=1").status == 0)
        }
        // Not in order, so that the journal keeps what it has.
        server.send(SIGKILL)
        _ = server.wait()
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
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        #expect(try server.run("records", "save", "default", "in-a-snapshot", "--type", "T", "a=1").status == 0)
        server.send(SIGTERM)
        #expect(server.wait() == 0)
        let path = try #require(try Self.flipByte(of: "in-a-snapshot", in: data))
        let damaged = try CommandRun(["verify", data], in: folder)
        #expect(damaged.status == ExitCode.damaged.rawValue)
        #expect(damaged.output.contains { $0.contains((path as NSString).lastPathComponent) })
        #expect(try CommandRun(["verify", folder.path + "/nowhere"], in: folder).status == ExitCode.notFound.rawValue)
    }

    /// Changes one byte of `text` in the file of the folder that holds it, and gives that file's path. What spare files
    /// of the journal were before is of no account.
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
