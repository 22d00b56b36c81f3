internal import COpenSSL

/// The hash SHA-256.
package enum SHA256 {
    package static let digestBytes = 32

    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { digest($0) }
    }

    package static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: digestBytes) { buffer, initialized in
            let result = COpenSSL.SHA256(
                bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, buffer.baseAddress)
            precondition(result != nil, "OpenSSL cannot compute SHA-256")
            initialized = digestBytes
        }
    }
}
