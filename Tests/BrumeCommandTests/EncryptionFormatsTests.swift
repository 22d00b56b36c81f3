import BrumeTestKit
import Foundation
import Testing

@testable import BrumeEncryption

/// The second implementation of the formats of encryption, which was written from their page alone. That this one reads
/// its vectors, BrumeEncryptionTests hold.
@Suite("Encryption in Python", .timeLimit(.minutes(2)))
struct EncryptionFormatsTests {
    @Test("the vectors are those that it makes, and it reads all of them")
    func vectors() async throws {
        let folder = try TestFolder()
        let made = try await run(folder, ["-B", "-m", "encryption_vectors"])
        let kept = PythonClientTests.package + "/Tests/Fixtures/encryption-1.json"
        let isSame = try made == String(contentsOfFile: kept, encoding: .utf8)
        #expect(
            isSame, "make them again: cd Tests/Python && python3 -m encryption_vectors > ../Fixtures/encryption-1.json")
        let checked = try await run(folder, ["-B", "-m", "encryption_vectors", "--check", kept])
        #expect(checked.contains("all as they should be"), "\(checked)")
    }

    @Test("what this one makes of random keys is read there, and what it refuses is refused")
    func interoperation() async throws {
        let folder = try TestFolder()
        let vectors = try MadeVectors().all()
        let lines = try vectors.map {
            String(decoding: try JSONSerialization.data(withJSONObject: $0, options: .sortedKeys), as: UTF8.self)
        }
        let file = folder.file("made.jsonl")
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let checked = try await run(folder, ["-B", "encryption_interop.py", file])
        let refusals = vectors.count { $0["refusal"] != nil }
        #expect(checked.contains("\(vectors.count) vectors, \(refusals) refusals: all as they should be"), "\(checked)")
    }

    private func run(_ folder: TestFolder, _ arguments: [String]) async throws -> String {
        let output = folder.file(UUID().uuidString)
        let scripts = PythonClientTests.package + "/Tests/Python"
        let command = "cd '\(scripts)' && exec \(PythonClientTests.python) \"$@\""
        let status = try await PythonClientTests.run("/bin/sh", ["-c", command, "sh"] + arguments, output: output)
        let text = PythonClientTests.text(output)
        #expect(status == 0, "\(text.prefix(2_000))")
        return text
    }
}
