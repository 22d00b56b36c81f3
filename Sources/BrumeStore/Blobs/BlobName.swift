package import BrumeModel

/// One stored copy of an asset's content: which content, and which copy of it.
///
/// A name is never used twice. So whoever removes the file of one name can't hit what another upload of the same
/// content has put there meanwhile.
package struct BlobName: Hashable, Sendable {
    package let checksum: AssetChecksum
    /// Random, for each copy.
    package let generation: UInt64

    package init(checksum: AssetChecksum, generation: UInt64) {
        self.checksum = checksum
        self.generation = generation
    }

    /// The number of the folder that holds its file: one of 256, so that no folder holds all of a database's.
    var bucket: UInt8 { checksum.bytes[0] }

    /// `CHECKSUM.GENERATION`, both in hexadecimal digits.
    var fileName: String { "\(checksum).\(generationBytes.hexadecimal)" }

    /// Nil for a name that no blob's file has.
    init?(fileName: String) {
        let parts = fileName.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let checksum = [UInt8](hexadecimal: parts[0]).flatMap({ AssetChecksum($0) }),
            let generation = [UInt8](hexadecimal: parts[1]), generation.count == 8
        else { return nil }
        self.init(checksum.bytes + generation)
    }

    /// Nil unless there are 40 bytes: see ``bytes``.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == AssetChecksum.byteCount + 8,
            let checksum = AssetChecksum(bytes.prefix(AssetChecksum.byteCount))
        else { return nil }
        self.init(checksum: checksum, generation: bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// The checksum's bytes, and those of the generation, the most significant one first.
    package var bytes: [UInt8] { checksum.bytes + generationBytes }

    private var generationBytes: [UInt8] { withUnsafeBytes(of: generation.bigEndian) { Array($0) } }
}
