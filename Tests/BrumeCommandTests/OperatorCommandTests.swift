internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// A server as the README starts one, `brume serve`, and its operator.
@Suite("The operator's commands", .serialized)
struct OperatorCommandTests {
    /// `brume serve`, which is not told its CA.
    ///
    /// - Parameter hidesAuthority: Leaves nothing from which it could know its CA.
    private func serve(_ options: String..., hidesAuthority: Bool = false) throws -> ServerProcess {
        let server = try ServerProcess(folder: TestFolder(), saysAuthority: false)
        if hidesAuthority { try server.hideAuthority() }
        try server.start(options: options)
        return server
    }

    @Test("all that takes --data works with a server that was told no CA, and with variables of a client around")
    func withoutCA() throws {
        let served = try serve(hidesAuthority: true)
        // Those of an app that talks to some other server.
        let client = ["BRUME_SERVER": "127.0.0.1:1", "BRUME_CA": "/nowhere", "BRUME_TOKEN": "brume_other"]
        func succeed(_ words: String...) throws -> CommandRun {
            let run = try CommandRun(words + ["--data", served.dataFolder], environment: client, in: served.folder)
            #expect(run.status == 0, "\(words): \(run.errors)")
            return run
        }
        #expect(served.log.contains("a new one is made"), "\(served.log)")
        #expect(try succeed("account", "list").output == ["there is none yet: brume account add NAME makes one"])
        let token = try #require(try succeed("account", "add", "alice", "--json").json()["token"]?.text)
        #expect(try succeed("account", "list", "--json").output.count == 1)
        _ = try succeed("account", "token", "alice", "--json")
        _ = try succeed("stats", "--json")
        _ = try succeed("snapshot")
        let schema = try served.folder.write("schema.ckdb", "DEFINE SCHEMA\n    RECORD TYPE Note (text STRING);\n")
        _ = try succeed("schema", "import", "--file", schema)
        #expect(try succeed("containers", "--json").json()["container"] == .string("iCloud.brume"))
        _ = try succeed("schema", "export")
        #expect(try CommandRun(["schema", "diff", "--data", served.dataFolder], in: served.folder).output.count > 0)
        _ = try succeed("schema", "members")
        _ = try succeed("backup", served.folder.path + "/monday.brume")
        _ = try succeed("backup", served.folder.path + "/monday")
        _ = try succeed("account", "remove", "alice", "--yes")
        let health = try served.command("health", "--data", served.dataFolder)
        #expect(health.status == 0, "\(health.errors)")
        #expect(!token.isEmpty)
    }

    @Test("a load on the server's machine finds the CA beside the certificate, or takes it from --ca")
    func load() throws {
        let arguments = ["load", "--accounts", "2", "--connections", "2", "--seconds", "0.2", "--json"]
        let served = try serve()
        let found = try CommandRun(arguments + ["--data", served.dataFolder], in: served.folder)
        #expect(found.status == 0, "\(found.errors)")
        let hidden = try serve(hidesAuthority: true)
        let named = try CommandRun(arguments + ["--data", hidden.dataFolder, "--ca", hidden.caPath], in: hidden.folder)
        #expect(named.status == 0, "\(named.errors)")
        let unnamed = try CommandRun(arguments + ["--data", hidden.dataFolder], in: hidden.folder)
        #expect(unnamed.status == ExitCode.unreachable.rawValue)
        #expect(unnamed.errors.contains("--ca"))
    }

    @Test("another machine's operator needs the option, the CA and the token")
    func remote() throws {
        let closed = try serve()
        let token = closed.dataFolder + "/admin.token"
        let refused = try closed.command(
            "account", "list", "--server", closed.address, "--ca", closed.caPath, "--operator-token-file", token)
        #expect(refused.status == ExitCode.notPermitted.rawValue)
        #expect(refused.errors.contains("--admin-on-port"))

        let served = try serve("--admin-on-port")
        let access = [
            "--server", served.address, "--ca", served.caPath, "--operator-token-file",
            served.dataFolder + "/admin.token",
        ]
        func run(_ words: String...) throws -> CommandRun {
            try CommandRun(words + access, in: served.folder)
        }
        let added = try run("account", "add", "alice", "--json")
        #expect(added.status == 0, "\(added.errors)")
        #expect(try run("account", "list").output.first?.hasPrefix("alice") == true)
        #expect(try run("stats", "--json").status == 0)
        #expect(
            try run("containers", "list").output == [
                "there is none yet: the first save, or brume schema import, makes one"
            ])
        #expect(try run("snapshot").status == 0)
        let account = try #require(try added.json()["token"]?.text)
        let wrong = try served.command(
            "account", "list", "--server", served.address, "--ca", served.caPath, "--operator-token-file",
            try served.folder.write("wrong", account + "\n"))
        #expect(wrong.status == ExitCode.notPermitted.rawValue)
        let withoutCA = try served.command(
            "account", "list", "--server", served.address, "--operator-token-file", served.dataFolder + "/admin.token")
        let other = try served.folder.write("other.token", "brume_x\n")
        let unknown = try served.command(
            "stats", "--server", served.address, "--ca", served.caPath, "--operator-token-file", other)
        #expect(unknown.status == ExitCode.notPermitted.rawValue)
        // The reader is the operator.
        #expect(unknown.errors.contains("copy admin.token"), "\(unknown.errors)")
        #expect(withoutCA.status == ExitCode.unreachable.rawValue)
        #expect(withoutCA.errors.contains("--ca (BRUME_OPERATOR_CA)"), "\(withoutCA.errors)")
        let without = try served.command("account", "list", "--server", served.address, "--ca", served.caPath)
        #expect(without.status == ExitCode.usage.rawValue)
        #expect(without.errors.contains("--operator-token-file"))
    }

    @Test("a container that the server doesn't have is not found, whatever the command")
    func unknownContainer() throws {
        let served = try serve("--container", "iCloud.one")
        let token = try #require(
            try served.command("account", "add", "alice", "--data", served.dataFolder, "--json").json()["token"]?.text)
        let client = [
            "BRUME_SERVER": served.address, "BRUME_CA": served.caPath, "BRUME_TOKEN": token,
            "BRUME_CONTAINER": "iCloud.nope", "BRUME_STATE": served.folder.path + "/state",
        ]
        for words in [
            ["zones", "list"], ["health"], ["load", "--seconds", "0.1"], ["records", "get", "default", "x"],
        ] {
            let run = try CommandRun(words, environment: client, in: served.folder)
            #expect(run.status == ExitCode.notFound.rawValue, "\(words): \(run.errors)")
        }
    }

    @Test("a killed server's socket is nobody's: commands use the folder, and the next server makes its own")
    func killed() throws {
        let served = try serve()
        served.kill()
        #expect(FileManager.default.fileExists(atPath: served.dataFolder + "/operator/socket"))
        let list = try served.command("account", "add", "alice", "--data", served.dataFolder)
        #expect(list.status == 0, "\(list.errors)")
        #expect(try served.command("stats", "--data", served.dataFolder).status == ExitCode.unreachable.rawValue)
        let next = try ServerProcess.dev(folder: served.folder, arguments: ["--data", served.dataFolder])
        #expect(try served.command("account", "list", "--data", served.dataFolder, "--json").output.count == 3)
        next.send(SIGTERM)
        #expect(next.wait() == 0)
        #expect(!FileManager.default.fileExists(atPath: served.dataFolder + "/operator/socket"))
    }

    @Test("a data folder that is not there is said to be missing, and made for the first account alone")
    func wrongFolder() throws {
        let folder = try TestFolder()
        let data = folder.path + "/typo"
        for words in [
            ["account", "list"], ["account", "remove", "alice"], ["account", "token", "alice"], ["stats"], ["snapshot"],
            ["schema", "export"], ["backup", folder.path + "/b.brume"], ["health"],
        ] {
            let run = try CommandRun(words + ["--data", data], in: folder)
            #expect(run.status == ExitCode.notFound.rawValue, "\(words): \(run.errors)")
            #expect(run.errors.contains("typo"), "\(words): \(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: data), "\(words)")
        }
        let added = try CommandRun(["account", "add", "alice", "--data", data, "--json"], in: folder)
        #expect(added.status == 0)
        #expect(added.errors.contains("a new one is made"))
    }

    @Test("a folder of something else is no data folder: nothing is written into it, and the way out is said")
    func foreignContent() throws {
        let folder = try TestFolder()
        let (other, empty) = (folder.path + "/other", folder.path + "/empty")
        for path in [other, empty] { try FileSystem.makeDirectory(path) }
        _ = try folder.write("other/passwd", "root")
        for (data, reason) in [(other, "it has no brume.meta"), (empty, "it is empty")] {
            let names = try FileSystem.list(data)
            for words in [
                ["account", "list"], ["account", "remove", "alice"], ["account", "token", "alice"],
                ["account", "quota", "alice"], ["stats"], ["snapshot"], ["health"], ["schema", "export"],
                ["schema", "diff"], ["schema", "deploy", "--yes"], ["schema", "members"],
                ["schema", "role", "Editor", "alice"], ["backup", folder.path + "/b.brume"],
            ] {
                let run = try CommandRun(words + ["--data", data], in: folder)
                #expect(run.status == ExitCode.notFound.rawValue, "\(words): \(run.errors)")
                #expect(run.errors.contains("no data folder: \(reason)"), "\(words): \(run.errors)")
                #expect(run.errors.contains("--data"), "\(words): \(run.errors)")
            }
            for words in [["verify", data], ["verify", "--accept-loss", data], ["restore", data]] {
                let run = try CommandRun(
                    words + (words[0] == "restore" ? ["--data", folder.path + "/new"] : []), in: folder)
                #expect(run.status == ExitCode.notFound.rawValue, "\(words): \(run.errors)")
                #expect(run.errors.contains("no backup"), "\(words): \(run.errors)")
            }
            #expect(try FileSystem.list(data) == names)
        }
        let certificates = folder.path + "/certs"
        #expect(try CommandRun(["certs", "--folder", certificates], in: folder).status == 0)
        let schema = try folder.write("schema.ckdb", "DEFINE SCHEMA\n    RECORD TYPE Note (text STRING);\n")
        for words in [
            ["account", "add", "alice"], ["dev"], ["schema", "import", "--file", schema],
            ["serve", "--certificate", certificates + "/server.pem", "--key", certificates + "/server.key"],
        ] {
            let run = try CommandRun(words + ["--data", other], in: folder)
            #expect([ExitCode.conflict.rawValue, ExitCode.notFound.rawValue].contains(run.status), "\(run.errors)")
            #expect(run.errors.contains("no data folder"), "\(words): \(run.errors)")
            #expect(try FileSystem.list(other) == ["passwd"], "\(words)")
        }
        // A new disk's folder, and certificates that were made before.
        try FileSystem.makeDirectory(empty + "/lost+found")
        try FileSystem.atomicReplace(empty + "/server.pem", [])
        try FileSystem.makeDirectory(empty + "/certs")
        #expect(try CommandRun(["account", "add", "alice", "--data", empty], in: folder).status == 0)
        #expect(try CommandRun(["account", "list", "--data", empty], in: folder).output.count == 1)
    }

    @Test("an account's name is checked before a folder is made for it")
    func nameFirst() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        for words in [["account", "add", "not allowed"], ["account", "add", ""], ["dev", "--accounts", "alice,b/c"]] {
            let run = try CommandRun(words + ["--data", data], in: folder)
            #expect(run.status == ExitCode.usage.rawValue, "\(words): \(run.errors)")
            #expect(run.errors.contains("such as alice"), "\(words): \(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: data), "\(words)")
        }
    }

    @Test("health needs no account and sends no token, and says whether the server answers at all")
    func health() throws {
        let served = try serve()
        let client = ["BRUME_SERVER": served.address, "BRUME_CA": served.caPath]
        let wrong = try served.command("health", "--json", environment: client.merging(["BRUME_TOKEN": "wrong"]) { $1 })
        #expect(wrong.status == 0, "\(wrong.errors)")
        #expect(try wrong.json()["serving"] == .bool(true))
        let option = try served.command("health", "--token-file", served.caPath, environment: client)
        #expect(option.status == ExitCode.usage.rawValue && option.errors.contains("has no option"))
        let nobody = try served.command(
            "health", "--connect-timeout", "1", environment: ["BRUME_SERVER": "127.0.0.1:1"])
        #expect(nobody.status == ExitCode.unreachable.rawValue, "\(nobody.errors)")

        let limited = try serve("--container", "iCloud.mine")
        let other = ["BRUME_SERVER": limited.address, "BRUME_CA": limited.caPath]
        let refused = try limited.command("health", environment: other)
        #expect(refused.status == ExitCode.notFound.rawValue)
        #expect(refused.errors.contains("the server answers") && refused.errors.contains("--container"))
        #expect(try limited.command("health", "--container", "iCloud.mine", environment: other).status == 0)
        #expect(try limited.command("health", "--data", limited.dataFolder).status == 0)
    }

    @Test("root does not write into a stopped server's folder that is another user's", .enabled(if: geteuid() == 0))
    func foreignFolder() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        #expect(chown(data, 65534, 65534) == 0)
        for words in [["account", "add", "alice"], ["schema", "export"]] {
            let run = try CommandRun(words + ["--data", data], in: folder)
            #expect(run.status == ExitCode.notPermitted.rawValue, "\(run.errors)")
            #expect(run.errors.contains("sudo -u nobody"), "\(run.errors)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: data).isEmpty)
    }

    @Test("a server that can't start says what to do, and never twice")
    func refusals() throws {
        let served = try self.serve()
        let certificates = served.folder.path + "/certificates"
        func serve(_ words: String...) throws -> CommandRun {
            try CommandRun(
                ["serve", "--certificate", certificates + "/server.pem", "--key", certificates + "/server.key"] + words,
                in: served.folder)
        }
        let port = try serve("--data", served.folder.path + "/other", "--listen", served.address)
        #expect(port.status == ExitCode.failed.rawValue)
        #expect(port.errors.contains("choose another port"), "\(port.errors)")
        let folder = try serve("--data", served.dataFolder, "--listen", "127.0.0.1:0")
        #expect(folder.status == ExitCode.conflict.rawValue)
        #expect(folder.errors.contains("stop that one") && !folder.errors.contains("flock"), "\(folder.errors)")
        let parent = try serve("--data", served.folder.path + "/a/b/c", "--listen", "127.0.0.1:0")
        #expect(parent.status == ExitCode.failed.rawValue)
        #expect(parent.errors.contains("make the folder"), "\(parent.errors)")
        let empty = served.folder.path + "/empty"
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        let backup = try served.command("backup", served.folder.path + "/b.brume", "--data", empty)
        #expect(backup.status == ExitCode.notFound.rawValue)
        #expect(backup.errors.contains("no data folder"), "\(backup.errors)")
    }

    // MARK: Secrets

    @Test("a token comes from a variable, a file or the standard input, and not from the command line")
    func tokens() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let token = try server.token()
        var environment = try server.environment()
        environment["BRUME_TOKEN"] = nil
        func run(_ words: String..., token: String? = nil) throws -> CommandRun {
            try CommandRun(
                words, environment: environment.merging(token.map { ["BRUME_TOKEN": $0] } ?? [:]) { $1 },
                in: server.folder)
        }
        let inTheOpen = try run("zones", "--token", token)
        #expect(inTheOpen.status == ExitCode.usage.rawValue)
        #expect(inTheOpen.errors.contains("BRUME_TOKEN") && inTheOpen.errors.contains("--token-file"))
        #expect(!inTheOpen.errors.contains(token))
        #expect(try run("zones", "--token=" + token).status == ExitCode.usage.rawValue)

        let file = try server.folder.write("token", token + "\n")
        #expect(try run("zones", token: token).status == 0)
        #expect(try run("zones", "--token-file", file).status == 0)
        // The file counts before the variable.
        #expect(try run("zones", "--token-file", file, token: "brume_wrong").status == 0)
        let process = try ChildProcess(
            executable: "/bin/sh",
            arguments: ["-c", "exec \(CommandRun.executable) zones --token-file - <\(file) >/dev/null"],
            environment: CommandRun.clean(environment))
        #expect(process.wait() == 0)

        #expect(try run("zones", "--token-file", file + "-missing").status == ExitCode.notFound.rawValue)
        let empty = try run("zones", "--token-file", try server.folder.write("empty", "\n"))
        #expect(empty.status == ExitCode.failed.rawValue)
        #expect(empty.errors.contains("holds no token"))
        let nothing = try run("load", "--seconds", "0.1")
        #expect(nothing.errors.contains("BRUME_TOKEN"), "\(nothing.errors)")
    }
}
