/// What is kept of stored assets that nothing needs where there is no room for their names: together they may go when
/// the last of them may. See ``UnneededBlob``.
package struct UnneededSum: Equatable, Sendable {
    package let byteCount: UInt64
    /// When the last that needed the last of them ceased to.
    package let since: UInt32
    /// Until when somebody was promised that they may name one of them.
    package let promisedUntil: UInt32

    init(byteCount: UInt64, since: UInt32, promisedUntil: UInt32) {
        (self.byteCount, self.since, self.promisedUntil) = (byteCount, since, promisedUntil)
    }

    /// One more.
    init(of blob: UnneededBlob, and others: UnneededSum?) {
        let (sum, overflow) = (others?.byteCount ?? 0).addingReportingOverflow(blob.byteCount)
        self.init(
            byteCount: overflow ? .max : sum, since: max(others?.since ?? 0, blob.since),
            promisedUntil: max(others?.promisedUntil ?? 0, blob.promisedUntil))
    }

    /// The sum of blobs; nil for none.
    package init?(of blobs: [UnneededBlob]) {
        guard let sum = blobs.reduce(UnneededSum?.none, { UnneededSum(of: $1, and: $0) }) else { return nil }
        self = sum
    }

    func without(_ count: UInt64) -> UnneededSum {
        UnneededSum(byteCount: byteCount - min(count, byteCount), since: since, promisedUntil: promisedUntil)
    }

    /// From when on all of them may go.
    package func due(grace: UInt32) -> UInt32 {
        let (end, isNever) = since.addingReportingOverflow(grace)
        return max(isNever ? .max : end, promisedUntil)
    }
}
