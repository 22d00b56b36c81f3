internal import COpenSSL
internal import Glibc

/// One side of a TLS connection as a transform of bytes in memory.
///
/// Ciphertext comes from and goes to the ``TransferBuffers`` of the session's loop; the session knows no socket. "Needs
/// more data" is a result, not an error. Owned by one loop's thread at a time; `move(to:)` gives it to another.
final class TLSSession {
    enum HandshakeResult {
        case done
        case needsInput
        case failed(TLSError)
    }

    enum ReadResult {
        /// So many bytes of plaintext, at most one record's.
        case bytes(Int)
        case needsInput
        /// The peer said that it sends no more.
        case closedByPeer
        case failed(TLSError)
    }

    private var ssl: OpaquePointer?
    private var bio: OpaquePointer?
    /// The store of a client's sessions, and the key of this connection's server in it.
    private let client: (context: TLSClientContext, key: String)?
    private var buffers: TransferBuffers
    /// Whether a server has yet to send the ticket with which the client can resume the session.
    private var owesTicket = false

    /// Makes the server's side of a connection.
    init(server: TLSServerContext, buffers: TransferBuffers) throws(TLSError) {
        client = nil
        self.buffers = buffers
        try open(server.context)
        SSL_set_accept_state(ssl)
        owesTicket = true
    }

    /// A client's side.
    /// - Parameters:
    ///   - host: The name or IP address that the server's certificate must carry.
    ///   - port: Distinguishes servers of one host in the store of sessions.
    init(client: TLSClientContext, host: String, port: UInt16, buffers: TransferBuffers) throws(TLSError) {
        self.client = (client, "\(host):\(port)")
        self.buffers = buffers
        try open(client.context)
        SSL_set_connect_state(ssl)
        try expect(host)
        SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        if let session = client.takeSession(host: "\(host):\(port)") {
            SSL_set_session(ssl, session)
            SSL_SESSION_free(session)
        }
    }

    deinit { close() }

    private func open(_ context: OpaquePointer) throws(TLSError) {
        ERR_clear_error()
        guard let ssl = SSL_new(context) else { throw .takeQueue("OpenSSL made no session") }
        self.ssl = ssl
        guard let bio = TransferBIO.make(buffers.state) else { throw .takeQueue("OpenSSL made no BIO") }
        // One BIO for both directions: OpenSSL takes over one reference for both.
        SSL_set_bio(ssl, bio, bio)
        self.bio = bio
    }

    private func expect(_ host: String) throws(TLSError) {
        let parameters = SSL_get0_param(ssl)
        // Literal addresses are matched against IP entries and are not sent as a server name (RFC 6066 section 3).
        if X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 { return }
        ERR_clear_error()
        X509_VERIFY_PARAM_set_hostflags(
            parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        guard X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1, brume_ssl_set_server_name(ssl, host) == 1 else {
            throw .takeQueue("\(host) cannot be a server's name")
        }
    }

    /// Frees OpenSSL's state. May be called again.
    func close() {
        guard let ssl else { return }
        SSL_free(ssl)
        self.ssl = nil
        bio = nil
    }

    /// Moves the session to another loop's buffers. None of its bytes may be left in the old ones.
    func move(to buffers: TransferBuffers) {
        self.buffers = buffers
        if let bio { BIO_set_data(bio, buffers.state) }
    }

    /// Whether this handshake was shortened by an earlier session's ticket.
    var isResumed: Bool { ssl.map { SSL_session_reused($0) == 1 } ?? false }

    /// Goes on with the handshake as far as the input reaches.
    func handshake() -> HandshakeResult {
        guard let ssl else { return .failed(TLSError("the session is closed")) }
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        if result == 1 {
            return agreedOnProtocol(ssl) ? .done : .failed(TLSError("the peer does not speak brume/1 (ALPN)"))
        }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .needsInput
        default: return .failed(handshakeError(ssl))
        }
    }

    private func agreedOnProtocol(_ ssl: OpaquePointer) -> Bool {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        return TLSProtocol.isOurs(UnsafeRawBufferPointer(start: name, count: Int(count)))
    }

    private func handshakeError(_ ssl: OpaquePointer) -> TLSError {
        let verification = SSL_get_verify_result(ssl)
        guard verification != X509_V_OK, let text = X509_verify_cert_error_string(verification) else {
            return .takeQueue("TLS handshake failed")
        }
        ERR_clear_error()
        return TLSError("the peer's certificate is refused: \(String(cString: text))")
    }

    /// Decrypts up to one record into `target`, which must hold 16 KiB so that nothing stays in OpenSSL.
    func read(into target: UnsafeMutableRawBufferPointer) -> ReadResult {
        guard let ssl else { return .closedByPeer }
        forgetErrors()
        let result = SSL_read(ssl, target.baseAddress, Int32(clamping: target.count))
        if result > 0 { return .bytes(Int(result)) }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .needsInput
        case SSL_ERROR_ZERO_RETURN: return .closedByPeer
        default: return .failed(.takeQueue("the peer broke TLS"))
        }
    }

    /// Clears OpenSSL's error queue, before calls that every message makes: checking for errors first costs a tenth of
    /// clearing the queue.
    private func forgetErrors() {
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    /// Whether OpenSSL holds bytes of the peer that are still to be read.
    var holdsInput: Bool { ssl.map { SSL_has_pending($0) == 1 } ?? false }

    /// Encrypts all of `bytes` into the loop's output, in full records.
    /// - Parameter bytes: At most `Limits.writeBytesPerTurn`, which is what the output holds.
    func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
        guard let ssl else { throw TLSError("the session is closed") }
        precondition(bytes.count > 0 && bytes.count <= Limits.writeBytesPerTurn, "a run is larger than the output")
        forgetErrors()
        let isFirst = owesTicket
        if isFirst {
            // OpenSSL writes it before the bytes, so that both leave in one send: at the end of the handshake the
            // ticket would cost a send of its own, and the peer a read. Without a ticket the next handshake is a full
            // one.
            owesTicket = false
            SSL_new_session_ticket(ssl)
        }
        let result = SSL_write(ssl, bytes.baseAddress, Int32(bytes.count))
        guard result == bytes.count else { throw .takeQueue("cannot encrypt") }
        if isFirst { releaseReadBuffer(ssl) }
    }

    /// Frees the input buffer that OpenSSL allocated for the ticket and keeps until its next read: an idle connection
    /// would hold 18 KiB for nothing. There is no input now, so a read finds none and frees it.
    private func releaseReadBuffer(_ ssl: OpaquePointer) {
        guard buffers.remainingInput.isEmpty, SSL_has_pending(ssl) == 0 else { return }
        var byte: UInt8 = 0
        let result = SSL_read(ssl, &byte, 1)
        precondition(result <= 0, "there is input where there was none")
        forgetErrors()
    }

    /// Puts a close_notify into the loop's output.
    func shutDown() {
        guard let ssl else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
    }

    /// Called by OpenSSL when the server sent a ticket.
    /// - Returns: Whether the reference to `session` was taken over.
    func keepForResumption(_ session: OpaquePointer) -> Bool {
        guard let client, SSL_SESSION_is_resumable(session) == 1 else { return false }
        client.context.keep(session, host: client.key)
        return true
    }
}
