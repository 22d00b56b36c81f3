internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("A look at what a server needs", .timeLimit(.minutes(1)))
struct DoctorTests {
    private let folder: TestFolder
    private var data: String { folder.path + "/data" }
    private var certificates: String { folder.path + "/certs" }
    private var backups: String { folder.path + "/backups" }

    init() throws {
        folder = try TestFolder()
        try #require(try CommandRun(["certs", "--folder", certificates], in: folder).status == 0)
    }

    /// The findings by what they are about, and the exit code.
    private func look(_ more: String...) throws -> (findings: [String: Finding], status: Int32) {
        let words = [
            "doctor", "--json", "--data", data, "--backups", backups,
            "--certificate", certificates + "/server.pem", "--key", certificates + "/server.key",
        ]
        let listen = more.contains("--listen") ? [] : ["--listen", "127.0.0.1:0"]
        let run = try CommandRun(words + listen + more, in: folder)
        var findings: [String: Finding] = [:]
        for line in run.output {
            let object = try JSONParser.value(of: line)
            func text(_ name: String) throws -> String { try #require(object[name]?.text) }
            let severity = try #require(Finding.Severity(rawValue: try text("severity")))
            findings[try text("subject")] = Finding(
                try text("subject"), severity, try text("sentence"), remedy: try text("remedy"))
        }
        return (findings, run.status)
    }

    @Test("finds a new machine fit, but for its backups")
    func fine() throws {
        let (findings, status) = try look()
        #expect(status == 0)
        for subject in ["options", "certificate", "certificate names", "disk writes"] {
            #expect(findings[subject]?.severity == .fine, "\(subject): \(findings[subject]?.sentence ?? "missing")")
        }
        #expect(findings["data folder"]?.severity == .note && findings["port"]?.severity == .note)
        #expect(findings["backups"]?.severity == .warning)
        #expect(Set(findings.keys).isSuperset(of: ["disk", "descriptors", "memory", "clock"]))
        #expect(!FileManager.default.fileExists(atPath: data), "it makes nothing")
    }

    @Test("says of options that brume serve would refuse what is wrong with them, and of nothing else")
    func options() throws {
        let (findings, status) = try look("--loops", "0")
        #expect(status == 1 && findings["options"]?.severity == .failure)
        #expect(findings["options"]?.sentence.contains("--loops takes a whole number") == true)
        #expect(findings["certificate"] == nil)
    }

    @Test("finds a certificate that does not belong to its key, and a key that everybody can read")
    func certificate() throws {
        let others = folder.path + "/others"
        try #require(try CommandRun(["certs", "--folder", others], in: folder).status == 0)
        let files = FileManager.default
        try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: certificates + "/server.key")
        #expect(try look().findings["certificate key"]?.severity == .warning)
        try files.removeItem(atPath: certificates + "/server.key")
        try files.copyItem(atPath: others + "/server.key", toPath: certificates + "/server.key")
        let (findings, status) = try look()
        #expect(status == 1 && findings["certificate"]?.severity == .failure)
        #expect(findings["disk"] != nil, "the rest is looked at all the same")
    }

    @Test("warns of a certificate that expires soon, as a server does in its log at each start and reload")
    func expiry() async throws {
        let short = try CommandRun(
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout", certificates + "/server.key", "-out", certificates + "/server.pem",
            ], executable: "/usr/bin/openssl", in: folder)
        try #require(short.status == 0, "\(short.errors)")
        let (findings, status) = try look()
        #expect(status == 0 && findings["certificate"]?.severity == .warning)
        #expect(findings["certificate"]?.sentence.hasSuffix("is valid for 2 days more") == true)
        let server = try ServerProcess(folder: folder)
        for name in ["server.pem", "server.key"] {
            let bytes = try FileSystem.read("\(certificates)/\(name)", limit: 65_536)
            try FileSystem.atomicReplace(folder.file("certificates") + "/\(name)", bytes)
        }
        try server.start()
        #expect(server.log.contains("is valid for 2 days more"), "\(server.log)")
        server.send(SIGTERM)
    }

    @Test("warns of a certificate for this machine alone where others are to come")
    func names() throws {
        let (findings, status) = try look("--listen", "0.0.0.0:0")
        #expect(status == 0 && findings["certificate names"]?.severity == .warning)
        #expect(findings["certificate names"]?.remedy.contains("brume certs --renew --name") == true)
    }

    @Test("finds a data folder that others can enter, and one that is something else's")
    func folders() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: data, withIntermediateDirectories: true)
        try Data("x".utf8).write(to: URL(fileURLWithPath: data + "/letter.txt"))
        #expect(try look().findings["data folder"]?.severity == .failure)
        try files.removeItem(atPath: data)
        try #require(try CommandRun(["account", "add", "ada", "--data", data], in: folder).status == 0)
        #expect(try look().findings["data folder"]?.severity == .fine)
        try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: data)
        #expect(try look().findings["audit log"]?.sentence == "entries 1 to 2 are as they were written")
        let log = data + "/audit/" + (try #require(try files.contentsOfDirectory(atPath: data + "/audit").first))
        let text = try String(contentsOfFile: log, encoding: .utf8)
        try text.replacingOccurrences(of: "ada", with: "bob").write(toFile: log, atomically: true, encoding: .utf8)
        let (findings, status) = try look()
        #expect(status == 1 && findings["audit log"]?.severity == .failure, "\(findings)")
        try text.write(toFile: log, atomically: true, encoding: .utf8)
        let open = try look().findings["data folder"]
        #expect(open?.severity == .warning && open?.remedy == "chmod go= \(data)")
    }

    @Test("finds a port that something else has")
    func port() throws {
        let server = try ServerProcess(folder: folder, dataFolder: folder.file("others"))
        try server.start()
        let (findings, status) = try look("--listen", server.address)
        #expect(status == 1 && findings["port"]?.severity == .failure, "\(findings["port"]?.sentence ?? "")")
        server.send(SIGTERM)
    }

    @Test("knows how old the newest backup is, and that one lacks files")
    func age() throws {
        func make(_ name: String) throws {
            try FileManager.default.createDirectory(atPath: "\(backups)/\(name)", withIntermediateDirectories: true)
        }
        try make("brume-20200101T000000Z")
        #expect(try look().findings["backups"]?.severity == .warning)
        let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
        let name = "brume-" + Date().formatted(style)
        try make(name)
        try make(name + ".unverified")
        #expect(try look().findings["backups"]?.severity == .fine)
        try make(name + "-lacking")
        #expect(try look().status == 1)
    }
}
