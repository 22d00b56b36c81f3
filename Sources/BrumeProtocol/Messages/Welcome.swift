internal import BrumeModel
internal import BrumeRecord

/// The server's answer to a ``Hello``.
package struct Welcome: Equatable, Sendable {
    package var protocolVersion: UInt32
    package var serverVersion: String
    /// The caller's user record name in this container and environment; empty without an account.
    package var userRecordName: String
    /// Changes when the data folder was restored from a backup.
    package var serverEpoch: UInt32
    package var limits: ConnectionLimits

    package init(
        protocolVersion: UInt32 = 1, serverVersion: String, userRecordName: String, serverEpoch: UInt32,
        limits: ConnectionLimits = ConnectionLimits()
    ) {
        self.protocolVersion = protocolVersion
        self.serverVersion = serverVersion
        self.userRecordName = userRecordName
        self.serverEpoch = serverEpoch
        self.limits = limits
    }
}

/// The limits in force on a connection. A request above one fails with `limitExceeded`, a client's frame above
/// `frameBytes` ends the connection.
package struct ConnectionLimits: Equatable, Sendable {
    package var frameBytes: Int
    package var concurrentCalls: Int
    package var itemsPerRequest: Int
    package var requestBytes: Int
    package var recordBytes: Int
    /// Messages that a peer may send on a stream before it is granted more.
    package var streamCredit: Int
    /// Bytes that a peer may send on a stream before it is granted more.
    package var streamCreditBytes: Int
    /// A connection that is silent for longer is pinged.
    package var idleMilliseconds: Int

    package init(
        frameBytes: Int = Limits.frameBytes, concurrentCalls: Int = 100, itemsPerRequest: Int = Limits.itemsPerRequest,
        requestBytes: Int = Limits.requestBytes, recordBytes: Int = Limits.recordBytes, streamCredit: Int = 64,
        streamCreditBytes: Int = 256 * 1024, idleMilliseconds: Int = 60_000
    ) {
        self.frameBytes = frameBytes
        self.concurrentCalls = concurrentCalls
        self.itemsPerRequest = itemsPerRequest
        self.requestBytes = requestBytes
        self.recordBytes = recordBytes
        self.streamCredit = streamCredit
        self.streamCreditBytes = streamCreditBytes
        self.idleMilliseconds = idleMilliseconds
    }
}
