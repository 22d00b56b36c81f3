/// What stays known of an account's statements whose place a first one took: hashes, of 32 bytes each
/// (Documentation/EncryptionFormats.md, section 8).
package struct ReplacedStatements: Hashable, Sendable {
    package static let hashBytes = 32

    /// Of the first of them, which never comes back: a device that knows no more than it would follow whoever had the
    /// keys of then.
    package let firstHash: [UInt8]
    /// Of the last of them, by which the one in their place named them.
    package let lastHash: [UInt8]

    /// Nil for what are no hashes.
    package init?(firstHash: [UInt8], lastHash: [UInt8]) {
        guard firstHash.count == Self.hashBytes, lastHash.count == Self.hashBytes else { return nil }
        self.firstHash = firstHash
        self.lastHash = lastHash
    }
}
