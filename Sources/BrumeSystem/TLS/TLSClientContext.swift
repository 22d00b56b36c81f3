internal import BrumeLock
internal import COpenSSL

/// The certificates that a client trusts, and the sessions it can resume; shared by all connections of any loop.
///
/// TLS 1.3 only, ALPN `brume/1` required, the server's certificate verified against the trusted ones and against the
/// host name or IP address that was asked for (in its subject alternative names, never in its common name).
///
/// `@unchecked Sendable`: OpenSSL's context is immutable after init and counted atomically; sessions are behind a lock.
package final class TLSClientContext: @unchecked Sendable {
    let context: OpaquePointer

    /// The last session of each host that can be resumed, the latest at the end. Each is used once, as TLS 1.3 advises,
    /// so that connections cannot be linked by their tickets.
    private let sessions = Lock<[(host: String, session: Session)]>([])

    /// A session that is owned here until it is taken.
    private struct Session: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// - Parameter caPath: PEM file with the certificates to trust; `nil` trusts what the system trusts.
    package init(caPath: String?) throws(TLSError) {
        context = try TLSProtocol.makeContext(isServer: false)
        ERR_clear_error()
        if let caPath {
            guard SSL_CTX_load_verify_file(context, caPath) == 1 else {
                throw .takeQueue("cannot use the CA certificate \(caPath)")
            }
        } else {
            guard SSL_CTX_set_default_verify_paths(context) == 1 else {
                throw .takeQueue("the system has no CA certificates")
            }
        }
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        let alpn = TLSProtocol.alpnList
        guard SSL_CTX_set_alpn_protos(context, alpn, UInt32(alpn.count)) == 0 else {
            throw .takeQueue("OpenSSL did not take the ALPN list")
        }
        brume_ssl_ctx_set_session_cache_mode(
            context, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
        SSL_CTX_sess_set_new_cb(context) { ssl, session in
            // The session refers to its owner while it lives; returning 1 takes over the reference to `session`.
            guard let ssl, let session, let owner = SSL_get_ex_data(ssl, 0) else { return 0 }
            return Unmanaged<TLSSession>.fromOpaque(owner).takeUnretainedValue().keepForResumption(session) ? 1 : 0
        }
    }

    deinit {
        for entry in sessions.withLock({ $0 }) { SSL_SESSION_free(entry.session.pointer) }
        SSL_CTX_free(context)
    }

    /// Keeps a session, in place of the host's earlier one. Takes over the caller's reference.
    func keep(_ pointer: OpaquePointer, host: String) {
        let session = Session(pointer: pointer)
        let dropped: Session? = sessions.withLock { sessions in
            var dropped: Session?
            if let index = sessions.firstIndex(where: { $0.host == host }) {
                dropped = sessions.remove(at: index).session
            } else if sessions.count == Limits.clientSessions {
                dropped = sessions.removeFirst().session
            }
            sessions.append((host, session))
            return dropped
        }
        if let dropped { SSL_SESSION_free(dropped.pointer) }
    }

    /// Takes the host's session out. The caller owns the reference.
    func takeSession(host: String) -> OpaquePointer? {
        sessions.withLock { sessions -> Session? in
            guard let index = sessions.firstIndex(where: { $0.host == host }) else { return nil }
            return sessions.remove(at: index).session
        }?.pointer
    }
}
