import BrumeTesting
import CloudKit
import Foundation

/// Files for assets, in a folder that goes with the test.
final class AssetFiles: Sendable {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("brume-kit-files-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// An asset with content that no other one has.
    func asset(_ byteCount: Int) throws -> CKAsset { try asset(Data(Self.content(byteCount))) }

    func asset(_ content: Data) throws -> CKAsset {
        let url = folder.appendingPathComponent("\(UUID())")
        try content.write(to: url)
        return CKAsset(fileURL: url)
    }

    /// A record of the zone ``notes`` with an asset in the field `photo`.
    func note(_ name: String, _ byteCount: Int) throws -> CKRecord {
        let record = BrumeTestingTests.note(name)
        record["photo"] = try asset(byteCount)
        return record
    }

    private static func content(_ byteCount: Int) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount + 8)
        while bytes.count < byteCount { withUnsafeBytes(of: random.next() as UInt64) { bytes += $0 } }
        return Array(bytes.prefix(byteCount))
    }
}

extension CKRecord {
    /// The bytes of the file in a field; nil without one.
    func content(_ key: String = "photo") -> Data? {
        guard let url = (self[key] as? CKAsset)?.fileURL else { return nil }
        return try? Data(contentsOf: url)
    }
}
