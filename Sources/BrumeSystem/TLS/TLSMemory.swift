internal import CBrume
internal import COpenSSL

/// Where OpenSSL's memory comes from.
package enum TLSMemory {
    /// Has each thread keep a few buffers of TLS records, in place of a large allocation and its end for each record.
    ///
    /// For programs that are Brume's own, before anything else: OpenSSL takes it only while it has no memory. Where it
    /// has some already all stays as it is.
    package static func keepRecordBuffers() {
        _ = CRYPTO_set_mem_functions(brume_record_malloc, brume_record_realloc, brume_record_free)
    }
}
