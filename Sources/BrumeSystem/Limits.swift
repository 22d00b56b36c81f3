/// The limits of this module, each with its reason. What a caller may choose is in ``ConnectionLimits``.
enum Limits {
    /// Events that one turn takes from the kernel. More wait for the next turn, so that tasks and timers get theirs.
    static let eventsPerTurn = 512
    /// Ciphertext that one read takes. One buffer per loop; four full TLS records.
    static let ciphertextReadBytes = 4 * tlsRecordBytesMax
    /// Ciphertext that one connection may read in one turn before the others have their turn.
    static let readBytesPerTurn = 4 * ciphertextReadBytes
    /// Plaintext that one connection may encrypt in one turn before the others have their turn.
    static let writeBytesPerTurn = 256 * 1024
    /// The most plaintext in a TLS record.
    static let tlsPlaintextRecordBytes = 16 * 1024
    /// The most that a TLS 1.3 record takes on the wire: header, plaintext, type byte, tag, and what padding may add.
    static let tlsRecordBytesMax = 5 + tlsPlaintextRecordBytes + 256
    /// The loop's buffer for decrypted bytes: they are handed on when less than a record fits.
    static let plaintextReadBytes = ciphertextReadBytes
    /// The loop's buffer for ciphertext on its way out: what `writeBytesPerTurn` becomes, and room for handshake
    /// records.
    static let ciphertextWriteBytes = (writeBytesPerTurn / tlsPlaintextRecordBytes + 4) * tlsRecordBytesMax
    /// Ciphertext that the kernel holds for a connection without having sent it (TCP_NOTSENT_LOWAT, tcp(7)). Nothing
    /// can overtake it: the kernel's own limit of some megabytes would keep a small answer waiting for seconds behind a
    /// file on a slow line.
    static let kernelUnsentBytes: Int32 = 128 * 1024
    /// Ciphertext that may wait for a peer that does not read. Only a peer that asks for answers to handshake messages
    /// and never reads them can reach it; its connection is closed.
    static let pendingCiphertextBytes = 2 * ciphertextWriteBytes
    /// Connections that one turn accepts before others have their turn: some ten microseconds each. Their handshakes
    /// come later, a few in each turn: ``ConnectionLimits/handshakeSliceNanoseconds``.
    static let acceptsPerTurn = 32
    /// How long a listener waits after it ran out of descriptors or memory.
    static let acceptBackoffMilliseconds: UInt64 = 200
    /// How long an opening connection is safe from being pushed out by a newer one when there are too many.
    static let handshakeGraceMilliseconds: UInt64 = 1_000
    /// How long `close` waits for the peer to close its side after our last byte. Closing at once could reset the
    /// connection and discard bytes that the peer has not read yet.
    static let lingerMilliseconds: UInt64 = 2_000
    /// Descriptors that a process asks the kernel for, if it grants that many: ten times the expected connections.
    static let descriptorsMax: UInt64 = 1_048_576
    /// The pending output of a connection up to which it is not counted: most is sent by the end of the turn, and
    /// counting it would cost more than the memory is worth.
    static let uncountedOutputBytes = 4 * 1024
    /// What a connection may have to send of what its peer waits for and be among the first that send at the end of a
    /// turn.
    static let promptOutputBytes = 16 * 1024
    /// What it sends then, with news before and behind that.
    static let promptSendBytes = 64 * 1024
    /// How long those with more may send in one turn, and how long news is sent. The rest goes in the next turns.
    static let flushNanoseconds: UInt64 = 4_000_000
    /// Sessions that a client context keeps for resumption, one per host.
    static let clientSessions = 64
    /// Addresses of one host name that are tried.
    static let addressesPerHost = 8

    /// Connections that the kernel holds at a Unix socket until they are accepted: those of an operator's commands.
    static let localBacklog: Int32 = 64

    /// Called once per loop: relations that the code relies on.
    static func check() {
        precondition(plaintextReadBytes >= 2 * tlsPlaintextRecordBytes, "a read must hold at least two records")
        precondition(ciphertextWriteBytes > writeBytesPerTurn, "encrypted output must fit its buffer")
        precondition(pendingCiphertextBytes >= ciphertextWriteBytes, "one turn's output must fit the queue")
    }
}
