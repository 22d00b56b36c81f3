internal import COpenSSL

/// Bytes in memory for OpenSSL's PEM functions.
final class MemoryBIO {
    let pointer: OpaquePointer

    init(_ bytes: [UInt8] = []) throws(TLSError) {
        guard let pointer = BIO_new(BIO_s_mem()) else { throw .takeQueue("OpenSSL made no BIO") }
        self.pointer = pointer
        guard bytes.isEmpty || BIO_write(pointer, bytes, Int32(bytes.count)) == bytes.count else {
            throw .takeQueue("OpenSSL has no memory")
        }
    }

    deinit { BIO_free(pointer) }

    func takeBytes() -> [UInt8] {
        let count = BIO_ctrl_pending(pointer)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = max(0, Int(BIO_read(pointer, buffer.baseAddress, Int32(count))))
        }
    }
}
