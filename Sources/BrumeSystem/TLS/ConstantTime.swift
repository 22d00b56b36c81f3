internal import COpenSSL

/// Comparison of secrets.
package enum ConstantTime {
    /// Whether two strings of bytes are equal, in a time that depends on their lengths alone.
    package static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        guard left.count > 0 else { return true }
        return CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
    }

    package static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { left in right.withUnsafeBytes { isEqual(left, $0) } }
    }
}
