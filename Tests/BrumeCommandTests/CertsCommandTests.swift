internal import BrumeSystem
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
        #expect(renewed.errors.contains("put it back"), "\(renewed.errors)")
        #expect(renewed.errors.contains("to all clients"), "\(renewed.errors)")
        #expect(try FileSystem.list(certificates) == names)
        #expect(bytes("server.pem") == former)
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
        #expect(!FileManager.default.fileExists(atPath: certificates))
        let file = try folder.write("file", "")
        let under = try CommandRun(["certs", "--folder", file + "/certs"], in: folder)
        #expect(under.status == ExitCode.failed.rawValue)
        #expect(under.errors.contains("Not a directory") && under.errors.contains("may write to"), "\(under.errors)")
        #expect(!under.errors.contains("Domain"), "\(under.errors)")
    }
}
