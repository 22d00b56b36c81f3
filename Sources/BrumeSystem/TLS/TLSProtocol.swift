internal import COpenSSL

/// The settings that both sides of every connection share: TLS 1.3, ALPN `brume/1`, AES-128-GCM first.
enum TLSProtocol {
    /// The protocol's name in ALPN.
    static let name: StaticString = "brume/1"

    /// The name as ALPN's list has it: a length byte before each name.
    static let alpnList: [UInt8] = name.withUTF8Buffer { [UInt8($0.count)] + Array($0) }

    /// AES-128-GCM costs the least with AES instructions; ChaCha20 is for clients without them.
    private static let cipherSuites = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"

    /// Makes a context with what holds for servers and clients.
    static func makeContext(isServer: Bool) throws(TLSError) -> OpaquePointer {
        ERR_clear_error()
        guard let context = SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method()) else {
            throw .takeQueue("OpenSSL made no context")
        }
        guard brume_ssl_ctx_only_tls13(context) == 1, SSL_CTX_set_ciphersuites(context, cipherSuites) == 1 else {
            SSL_CTX_free(context)
            throw .takeQueue("OpenSSL lacks TLS 1.3 or its cipher suites")
        }
        // Empty buffers are freed: most connections are idle most of the time.
        brume_ssl_ctx_set_mode(context, Int(SSL_MODE_RELEASE_BUFFERS))
        _ = SSL_CTX_set_max_early_data(context, 0)
        return context
    }

    static func isOurs(_ name: UnsafeRawBufferPointer) -> Bool {
        TLSProtocol.name.withUTF8Buffer { $0.elementsEqual(name) }
    }
}
