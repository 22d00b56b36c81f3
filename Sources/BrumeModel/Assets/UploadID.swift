/// Which upload of its account this is: 16 random bytes, made by the client, by which it goes on after it broke.
package struct UploadID: Hashable, Sendable {
    package static let byteCount = 16

    package let bytes: [UInt8]

    /// Nil unless there are 16 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == UploadID.byteCount else { return nil }
        self.bytes = bytes
    }
}

extension UploadID: CustomStringConvertible {
    package var description: String { bytes.hexadecimal }
}
