/// 128 bits that distinguish an operation's request from a different one under the same id.
///
/// The digest is kept beside the operation's answer, on disk too, so the way it is computed may not change.
package struct OperationDigest: Hashable, Sendable {
    package static let byteCount = 16

    private let front: UInt64
    private let back: UInt64

    package init(front: UInt64, back: UInt64) {
        self.front = front
        self.back = back
    }

    /// Returns nil when there are not exactly 16 bytes.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.byteCount else { return nil }
        front = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        back = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// Gives its bytes, which are valid for the call.
    package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        withUnsafeBytes(of: (front.littleEndian, back.littleEndian), body)
    }
}
