internal import BrumeModel
internal import BrumeSystem

/// The SHA-256 of files, which names them in an export's folder.
enum FileChecksum {
    private static let pieceBytes = 1024 * 1024

    /// The checksum of a file.
    static func of(_ path: String) throws(SystemError) -> AssetChecksum { try reading(path) { _, _ in }.checksum }

    /// Copies a file to a new one that only its owner may read.
    ///
    /// - Returns: The checksum of what was copied, and how many bytes it is.
    static func copying(
        _ path: String, to target: String
    ) throws(SystemError) -> (checksum: AssetChecksum, byteCount: Int) {
        let file = try File(path: target, mode: .createExclusively)
        defer { file.close() }
        let result = try reading(path) { bytes, offset throws(SystemError) in try file.write(bytes, at: offset) }
        try file.sync()
        return result
    }

    private static func reading(
        _ path: String, _ body: (UnsafeRawBufferPointer, _ offset: Int) throws(SystemError) -> Void
    ) throws(SystemError) -> (checksum: AssetChecksum, byteCount: Int) {
        let file = try File(path: path, mode: .readRegular)
        defer { file.close() }
        let stream = SHA256Stream()
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
        defer { piece.deallocate() }
        var offset = 0
        while true {
            let count = try file.read(into: piece, at: offset)
            let bytes = UnsafeRawBufferPointer(rebasing: piece[..<count])
            stream.update(bytes)
            try body(bytes, offset)
            offset += count
            if count < pieceBytes { break }
        }
        guard let checksum = AssetChecksum(stream.finish()) else {
            preconditionFailure("SHA-256 and an asset's checksum have the same length")
        }
        return (checksum, offset)
    }
}
