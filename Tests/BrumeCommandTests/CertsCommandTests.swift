internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("The certs command")
struct CertsCommandTests {
    private let folder: TestFolder
    private var certificates: String { folder.path + "/certs" }

    init() throws {
        folder = try TestFolder()
    }

    private func certs(_ words: String...) throws -> CommandRun {
        try CommandRun(["certs", "--folder", certificates] + words, in: folder)
    }

    private func bytes(_ name: String) -> Data? { FileManager.default.contents(atPath: certificates + "/" + name) }

    @Test(
        "a renewal without the CA's key, or without the CA, changes nothing and says what is missing",
        arguments: [
            ["ca.key"], ["ca.pem"], ["ca.pem", "ca.key"],
        ])
    func missingAuthority(missing: [String]) throws {
        #expect(try certs().status == 0)
        let former = bytes("server.pem")
        for name in missing { try FileManager.default.removeItem(atPath: certificates + "/" + name) }
        let names = try FileSystem.list(certificates)
        let renewed = try certs("--renew")
        #expect(renewed.status == ExitCode.notFound.rawValue)
        for name in missing { #expect(renewed.errors.contains("certs/\(name)"), "\(renewed.errors)") }
        #expect(renewed.errors.contains("the clients of \(certificates)/server.pem"), "\(renewed.errors)")
        #expect(renewed.errors.contains("put it back"), "\(renewed.errors)")
        #expect(renewed.errors.contains("to all clients"), "\(renewed.errors)")
        #expect(try FileSystem.list(certificates) == names)
        #expect(bytes("server.pem") == former)
    }

    @Test("a renewed key can be read by whoever could read the one before")
    func modeOfKey() throws {
        #expect(try certs().status == 0)
        let key = certificates + "/server.key"
        #expect(try FileSystem.permissions(key) & 0o777 == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
        let former = bytes("server.key")
        #expect(try certs("--renew").status == 0)
        #expect(try FileSystem.permissions(key) & 0o777 == 0o640, "and by no more than a group")
        #expect(bytes("server.key") != former)
    }

    @Test("of a CA without its key and without a server's certificate, the file that is there is named")
    func onlyAuthority() throws {
        #expect(try certs().status == 0)
        for name in ["ca.key", "server.pem", "server.key"] {
            try FileManager.default.removeItem(atPath: certificates + "/" + name)
        }
        let run = try certs()
        #expect(run.status == ExitCode.notFound.rawValue)
        #expect(run.errors.contains("the clients of \(certificates)/ca.pem"), "\(run.errors)")
    }

    @Test("a certificate is said to be valid for 825 days at the most, and what replaces it is a command to copy")
    func expiry() throws {
        let made = try certs("--json")
        let text = try #require(try made.json()["expires"]?.text)
        let date = try Date(text, strategy: .iso8601)
        #expect((700...825).contains(date.timeIntervalSinceNow / 86_400), "\(text)")
        let again = try certs("--name", "sync.example.com")
        #expect(again.status == ExitCode.conflict.rawValue)
        #expect(
            again.errors.contains("brume certs --folder \(certificates) --name sync.example.com --renew"),
            "\(again.errors)")
        #expect(try certs("--renew").output.contains { $0.hasPrefix("valid until:") })
        try Data("no certificate".utf8).write(to: URL(fileURLWithPath: certificates + "/server.pem"))
        let unreadable = try certs("--renew")
        #expect(unreadable.errors.contains("brume certs --folder \(certificates) --name NAME"), "\(unreadable.errors)")
    }

    @Test("a renewal keeps the CA and the names of the old certificate, and adds those that are given")
    func renewal() throws {
        #expect(try certs("--name", "sync.example.com", "--name", "192.0.2.7").status == 0)
        let (authority, former) = (bytes("ca.pem"), bytes("server.pem"))
        let kept = try certs("--renew")
        #expect(kept.status == 0, "\(kept.errors)")
        let names = "sync.example.com, 192.0.2.7, localhost, 127.0.0.1, ::1"
        #expect(kept.output.last?.hasSuffix(names) == true, "\(kept.output)")
        #expect(bytes("ca.pem") == authority && bytes("server.pem") != former)
        let more = try certs("--renew", "--name", "2001:db8::1", "--name", "sync.example.com")
        #expect(more.output.last?.hasSuffix(names + ", 2001:db8::1") == true, "\(more.output)")
        let read = try CertificateAuthority.names(ofCertificate: certificates + "/server.pem")
        #expect(read.joined(separator: ", ") == names + ", 2001:db8::1")
    }

    @Test("what can't be done is said with a way out, before anything is made")
    func refusals() throws {
        let early = try certs("--renew")
        #expect(early.status == ExitCode.notFound.rawValue)
        #expect(early.errors.contains("without --renew"), "\(early.errors)")
        let name = try certs("--name", "a b")
        #expect(name.status == ExitCode.usage.rawValue)
        #expect(name.errors.contains("sync.example.com"), "\(name.errors)")
        #expect(try certs("--name", "").status == ExitCode.usage.rawValue)
        #expect(!FileManager.default.fileExists(atPath: certificates))
        let file = try folder.write("file", "")
        let under = try CommandRun(["certs", "--folder", file + "/certs"], in: folder)
        #expect(under.status == ExitCode.failed.rawValue)
        #expect(under.errors.contains("Not a directory") && under.errors.contains("may write to"), "\(under.errors)")
        #expect(!under.errors.contains("Domain"), "\(under.errors)")
    }
}
