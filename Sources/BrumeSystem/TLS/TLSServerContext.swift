internal import COpenSSL
internal import Glibc

/// A server's certificate, key and rules for TLS; shared by all connections of any loop.
///
/// TLS 1.3 only. A client that does not offer ALPN `brume/1` is refused with an alert. Session tickets are on and
/// stateless, so that resumption costs the server no memory; early data is off, because it can be replayed.
///
/// `@unchecked Sendable`: immutable after init, and OpenSSL counts references to a context atomically.
package final class TLSServerContext: @unchecked Sendable {
    let context: OpaquePointer

    /// - Parameters:
    ///   - certificatePath: PEM file: the server's certificate, then the intermediate ones if there are any.
    ///   - keyPath: PEM file: the private key of the first certificate, without a passphrase.
    package init(certificatePath: String, keyPath: String) throws(TLSError) {
        context = try TLSProtocol.makeContext(isServer: true)
        ERR_clear_error()
        guard SSL_CTX_use_certificate_chain_file(context, certificatePath) == 1 else {
            let error = TLSError.takeQueue("cannot use the certificate \(certificatePath)")
            throw error
        }
        guard SSL_CTX_use_PrivateKey_file(context, keyPath, SSL_FILETYPE_PEM) == 1 else {
            throw .takeQueue("cannot use the key \(keyPath)")
        }
        guard SSL_CTX_check_private_key(context) == 1 else {
            throw .takeQueue("the key \(keyPath) does not belong to the certificate \(certificatePath)")
        }
        brume_ssl_ctx_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
        // No tickets at the end of the handshake: the session sends one with its first bytes.
        SSL_CTX_set_num_tickets(context, 0)
        brume_ssl_ctx_prefer_server_order(context)

        SSL_CTX_set_client_hello_cb(
            context,
            { ssl, alert, _ in
                // Without the extension OpenSSL would accept the connection and never call the ALPN callback.
                var bytes: UnsafePointer<UInt8>?
                var count = 0
                let alpn = UInt32(TLSEXT_TYPE_application_layer_protocol_negotiation)
                if SSL_client_hello_get0_ext(ssl, alpn, &bytes, &count) == 1 { return SSL_CLIENT_HELLO_SUCCESS }
                alert?.pointee = SSL_AD_NO_APPLICATION_PROTOCOL
                return SSL_CLIENT_HELLO_ERROR
            }, nil)
        SSL_CTX_set_alpn_select_cb(
            context,
            { _, selected, selectedCount, offered, offeredCount, _ in
                guard let offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                let list = UnsafeRawBufferPointer(start: offered, count: Int(offeredCount))
                var offset = 0
                while offset < list.count {
                    let end = offset + 1 + Int(list[offset])
                    guard end <= list.count else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                    if TLSProtocol.isOurs(UnsafeRawBufferPointer(rebasing: list[offset + 1..<end])) {
                        selected?.pointee = offered + offset + 1
                        selectedCount?.pointee = UInt8(end - offset - 1)
                        return SSL_TLSEXT_ERR_OK
                    }
                    offset = end
                }
                return SSL_TLSEXT_ERR_ALERT_FATAL
            }, nil)
    }

    deinit {
        SSL_CTX_free(context)
    }
}
