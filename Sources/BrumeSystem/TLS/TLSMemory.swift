internal import CBrume
internal import COpenSSL

/// The allocator of OpenSSL's memory.
package enum TLSMemory {
    /// Makes each thread keep a few buffers of TLS records, instead of a large allocation and its release for each
    /// record.
    ///
    /// Only for Brume's own programs, and before anything else: OpenSSL accepts an allocator only while it has
    /// allocated nothing. Otherwise nothing changes.
    package static func keepRecordBuffers() {
        _ = CRYPTO_set_mem_functions(brume_record_malloc, brume_record_realloc, brume_record_free)
    }
}
