internal import BrumeEncryption
internal import Foundation
internal import Testing

@testable internal import BrumeKit

/// Files of records, which the account's devices encrypt; and one of the public database, which nobody does.
extension CanaryAccount {
    /// A file with a canary in its midst, in a folder of the devices.
    private func file(_ canary: String) throws -> CKAsset {
        let folder = stateFolders + "/files"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let url = URL(fileURLWithPath: "\(folder)/\(UUID().uuidString)")
        let rest = Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        try (rest + Data(canary.utf8) + rest).write(to: url)
        return CKAsset(fileURL: url)
    }

    private func read(_ value: (any CKRecordValueProtocol)?) throws {
        let url = try #require((value as? CKAsset)?.fileURL)
        readFiles.append(try Data(contentsOf: url))
    }

    func files(_ here: CKDatabase, _ there: CKDatabase) async throws {
        let page = page("a record with files")
        page["photo"] = try file(secret("a file"))
        page["pages"] = [try file(secret("a file in a list")), try file(secret("another file in a list"))]
        try await here.save(page)
        takeFileKeys(of: page)
        let seen = try await there.record(for: page.recordID)
        for value in [seen["photo"]] + (seen["pages"] as? [CKAsset] ?? []) { try read(value) }
        seen["photo"] = try file(secret("a file in the place of another"))
        try await there.save(seen)
        takeFileKeys(of: seen)
        try read(try await here.record(for: page.recordID)["photo"])
        // The loser of a conflict is uploaded, and no record has it.
        page["photo"] = try file(secret("a file of a refused save"))
        try await fails { try await here.save(page) }
        let nowhere = record("nowhere-with-a-file", in: CKRecordZone(zoneName: "Nowhere"))
        nowhere["photo"] = try file(secret("a file for a zone that does not exist"))
        try await fails { try await here.save(nowhere) }
        let published = CKRecord(recordType: "Poster")
        published["photo"] = try file(openFile("a file of the public database"))
        try await CKContainer(core: here.core).publicCloudDatabase.save(published)
    }

    private func takeFileKeys(of record: CKRecord) {
        for secret in record.snapshot.contents.secrets.values {
            take(Canary("a file's key", bytes: secret.key.copyBytes()))
        }
    }
}
