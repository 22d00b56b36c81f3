internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// The door of Brume's own protocol: the sessions of all loops.
///
/// `@unchecked Sendable`: immutable, except for what each loop's table has.
final class BrumeDoor: Door, @unchecked Sendable {
    let server: ServerCore
    let configuration: ServerConfiguration
    /// What listeners allow a connection.
    let socketLimits: BrumeSystem.ConnectionLimits
    /// The connections of all listeners.
    let admission: ConnectionAdmission
    /// The sessions of each loop.
    let tables: [SessionTable]

    /// Opens the door to an assembled server.
    init(to server: ServerCore, _ configuration: ServerConfiguration) {
        self.server = server
        self.configuration = configuration
        var limits = configuration.socketLimits
        server.shares.bounds.apply(to: &limits)
        socketLimits = limits
        admission = ConnectionAdmission(limits: limits)
        tables = server.shards.map { SessionTable(of: $0, server: server) }
    }

    /// Lets a connection in that came on a loop. On that loop.
    func accept(_ connection: any PeerConnection, onLoop index: Int, isOperators: Bool = false) -> Session {
        let session = Session(tables[index], of: self, isOperators: isOperators)
        session.accepted(connection)
        return session
    }

    func table(of shard: Shard) -> SessionTable { tables[shard.index] }

    /// What a client is told when it is let in.
    func welcome(for identity: Identity) -> Welcome {
        let limits = configuration.connectionLimits
        let frameBytes = Self.frameBytes(of: identity)
        return Welcome(
            protocolVersion: 1, serverVersion: ServerCore.version, userRecordName: identity.userRecordName,
            serverEpoch: server.logs.epoch,
            limits: BrumeProtocol.ConnectionLimits(
                frameBytes: frameBytes, concurrentCalls: limits.concurrentCalls,
                itemsPerRequest: Limits.itemsPerRequest, requestBytes: min(frameBytes, Limits.requestBytes),
                recordBytes: Limits.recordBytes, streamCredit: limits.streamCredit,
                streamCreditBytes: limits.streamCreditBytes,
                idleMilliseconds: Int(clamping: limits.idleMilliseconds)))
    }

    /// The largest payload of a frame that a client may send.
    static func frameBytes(of identity: Identity) -> Int {
        identity.role == .anonymous ? ServerLimits.anonymousFrameBytes : Limits.frameBytes
    }

    // MARK: For the service

    func start() {
        for table in tables { table.sweepLater() }
    }

    func addFigures(ofLoop index: Int, to figures: inout ServerFigures) { tables[index].addFigures(to: &figures) }

    func addFigures(to figures: inout ServerFigures) {
        let counts = admission.counts
        figures.connections.beyondLimit += counts.full
        figures.connections.beyondAddress += counts.address
        figures.connections.late += counts.opening
    }

    func unansweredCallCount(onLoop index: Int) -> Int { tables[index].unaryCallCount }

    func heldByteCount(onLoop index: Int) -> Int { tables[index].heldByteCount }

    func drain() {
        for table in tables { table.shard.loop.execute { table.drain() } }
    }

    func close() {
        for table in tables { table.shard.loop.execute { table.close() } }
    }

    func release() {
        for table in tables { table.abandon() }
    }
}
