internal import BrumeModel
internal import BrumeSystem

/// The SHA-256 of an asset's content, from files and from bytes that arrive.
struct AssetHash: Sendable {
    private let stream = SHA256Stream()

    func update(_ bytes: UnsafeRawBufferPointer) { stream.update(bytes) }

    /// Adds the first `byteCount` bytes of a file, in pieces.
    ///
    /// - Parameter isCancelled: Asked before each piece.
    /// - Returns: How many bytes were added: fewer where the file ends earlier.
    func update(
        first byteCount: Int, of file: File, isCancelled: () -> Bool
    ) throws(AssetError) -> Int {
        // The empty file is read as well, so that a cancelled caller hears of it.
        let pieceByteCount = max(1, min(byteCount, AssetCacheLimits.pieceByteCount))
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceByteCount, alignment: 16)
        defer { piece.deallocate() }
        var offset = 0
        repeat {
            if isCancelled() { throw .cancelled }
            let wanted = min(pieceByteCount, byteCount - offset)
            let count: Int
            do throws(SystemError) {
                count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: piece[..<wanted]), at: offset)
            } catch {
                throw AssetError(error)
            }
            stream.update(UnsafeRawBufferPointer(rebasing: piece[..<count]))
            offset += count
            if count < wanted { break }
        } while offset < byteCount
        return offset
    }

    /// The checksum of all that was added. Nothing is added afterwards.
    func finish() -> AssetChecksum {
        guard let checksum = AssetChecksum(stream.finish()) else {
            preconditionFailure("SHA-256 and an asset's checksum have the same length")
        }
        return checksum
    }
}
