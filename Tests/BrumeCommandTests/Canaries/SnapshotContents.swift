@testable internal import BrumeStore

/// What is in a snapshot's blocks, which are compressed: the format stands in `SnapshotFormat`.
enum SnapshotContents {
    /// Nil for what is no snapshot.
    static func blocks(of file: [UInt8]) -> [[UInt8]]? {
        guard file.starts(with: Array("BRUMESNP".utf8)) else { return nil }
        func number(at offset: Int) -> Int {
            (0..<4).reduce(0) { $0 | Int(file[offset + $1]) << ($1 * 8) }
        }
        let decompressor = ZstandardDecompressor()
        var (blocks, offset) = ([[UInt8]](), 16)
        while offset + 20 <= file.count {
            let (stored, whole) = (number(at: offset), number(at: offset + 12))
            let payload = Array(file[offset + 20..<offset + 20 + stored])
            guard let content = stored == whole ? payload : decompressor.decompress(payload, contentBytes: whole)
            else { preconditionFailure("a snapshot's block does not decompress") }
            blocks.append(content)
            offset += 20 + stored
        }
        return blocks
    }
}
