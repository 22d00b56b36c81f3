/// A stored asset that nothing needs, and since when: what is kept of a database that leaves the memory, so that no
/// grace begins anew whenever it comes back. See ``BlobIndex/restore(_:)``.
///
/// Times are seconds of the process's monotonic clock.
package struct UnneededBlob: Equatable, Sendable {
    package let name: BlobName
    package let byteCount: UInt64
    /// When the last that needed it ceased to.
    package let since: UInt32
    /// Until when somebody was promised that they may name it.
    package let promisedUntil: UInt32
    /// Whether it could not be read.
    package let isDamaged: Bool

    /// From when on it may go.
    package func due(grace: UInt32) -> UInt32 {
        let (end, isNever) = since.addingReportingOverflow(grace)
        return max(isNever ? .max : end, promisedUntil)
    }
}
