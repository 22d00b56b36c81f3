/// SHA-256 (FIPS 180-4) of an asset's content.
///
/// It tells which content is meant, and is no key to it: nobody gets a content, or a reference to it, by naming its
/// checksum.
package struct AssetChecksum: Hashable, Sendable {
    package static let byteCount = 32

    // An array would be an allocation for each asset of each record.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Nil unless there are 32 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == AssetChecksum.byteCount else { return nil }
        var rest = bytes[...]
        func next() -> UInt64 {
            defer { rest = rest.dropFirst(8) }
            return rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }
        words = (next(), next(), next(), next())
    }

    /// The same of bytes in place, without a call for each.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == AssetChecksum.byteCount else { return nil }
        func word(_ offset: Int) -> UInt64 {
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        words = (word(0), word(8), word(16), word(24))
    }

    package var bytes: [UInt8] {
        [words.0, words.1, words.2, words.3].flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
    }

    package static func == (left: AssetChecksum, right: AssetChecksum) -> Bool { left.words == right.words }

    package func hash(into hasher: inout Hasher) {
        // Whoever chooses a content does not choose its checksum, but may try many: all of it counts.
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}

extension AssetChecksum: CustomStringConvertible {
    package var description: String { bytes.hexadecimal }
}
