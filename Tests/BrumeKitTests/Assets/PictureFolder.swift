import BrumeKit
import BrumeTestKit
import Foundation
import Testing

/// A folder of files that tests save as assets.
struct PictureFolder {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Bytes that differ from one kind to the next.
    static func content(_ byteCount: Int, _ kind: UInt8 = 0) -> Data {
        Data((0..<byteCount).map { UInt8(truncatingIfNeeded: $0 / 7) &+ kind })
    }

    /// Writes a file.
    func file(_ name: String, _ content: Data) throws -> CKAsset {
        let url = URL(fileURLWithPath: folder.path + "/" + name)
        try content.write(to: url)
        return CKAsset(fileURL: url)
    }

    func file(_ name: String, _ text: String) throws -> CKAsset { try file(name, Data(text.utf8)) }

    /// What a field's asset holds.
    static func read(_ value: (any CKRecordValueProtocol)?) throws -> Data {
        try Data(contentsOf: #require((value as? CKAsset)?.fileURL))
    }
}
