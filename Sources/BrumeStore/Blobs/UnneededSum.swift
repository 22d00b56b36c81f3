/// What is kept of stored assets that nothing needs where there is no room for their names: together they may go when the
/// last of them may. See ``UnneededBlob``.
package struct UnneededSum: Equatable, Sendable {
    package let byteCount: UInt64
    /// When the last that needed the last of them ceased to.
    package let since: UInt32
    /// Until when somebody was promised that they may name one of them.
    package let promisedUntil: UInt32

    /// From when on all of them may go.
    package func due(grace: UInt32) -> UInt32 {
        let (end, isNever) = since.addingReportingOverflow(grace)
        return max(isNever ? .max : end, promisedUntil)
    }
}
