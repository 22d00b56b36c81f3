/// A file that a record names and the server keeps: `CKAsset` as a value.
///
/// It names one stored copy of a content, and is no key to it: who may have the content is decided by who may read the
/// record.
package struct Asset: Hashable, Sendable {
    package let checksum: AssetChecksum
    /// Bytes of the content.
    package let byteCount: UInt64
    /// Which copy of the content it is: the server's affair.
    package let generation: UInt64
    /// What the end of its upload gave: it lets a save name the asset. Empty in all that the server tells, and for an
    /// asset that the server's version of the record names already.
    package var receipt: [UInt8]

    package init(checksum: AssetChecksum, byteCount: UInt64, generation: UInt64, receipt: [UInt8] = []) {
        self.checksum = checksum
        self.byteCount = byteCount
        self.generation = generation
        self.receipt = receipt
    }
}
