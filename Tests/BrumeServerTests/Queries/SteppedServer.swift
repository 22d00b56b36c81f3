import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer

/// A server whose turns a test makes one by one, with a clock that stands still unless the test turns it.
///
/// `@unchecked Sendable`: a test has one thread.
final class SteppedServer: @unchecked Sendable {
    static let container = "iCloud.test"
    private static let key = [UInt8](repeating: 0x42, count: 32)

    private let server: StepwiseServer
    private let loopCount: Int
    /// The log, where it is not the journal. What is submitted becomes durable as soon as it settles, unless it is held.
    let log: ScriptedCommitLogs?
    var isDurabilityHeld = false
    private(set) var nowNanoseconds: UInt64 = 1_000_000_000
    /// Turns of the first loop.
    private(set) var turns = 0
    /// Whether the loader stands still: what it is to load is waited for.
    var isLoaderHeld = false

    init(
        disk: SimulatedDisk = SimulatedDisk(), log storage: ScriptedLogStorage? = nil,
        adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = ServerConfiguration(dataFolder: "", certificatePath: "", keyPath: "")
        configuration.loopCount = 1
        configuration.log = .none
        adjust(&configuration)
        loopCount = configuration.loopCount
        let accounts = ["a", "b", "c", "d"].enumerated().map { index, name in
            StoredAccount(
                name: name, email: "", createdMilliseconds: 0, id: [UInt8](repeating: UInt8(index + 1), count: 16),
                tokenHashes: [SHA256.digest(Array(Self.token(name).utf8))])
        }
        let loops = try ServerLoops(shards: configuration.loopCount)
        log = storage.map { ScriptedCommitLogs(loops, storage: $0) }
        if let log {
            server = try StepwiseServer(
                logs: log, disk: disk, configuration: configuration, key: Self.key, accounts: accounts, loops: loops,
                nowNanoseconds: nowNanoseconds, wallClockMilliseconds: 1_700_000_000_000)
            return
        }
        server = try StepwiseServer(
            disk: disk, configuration: configuration, key: Self.key, accounts: accounts, salt: 1, newEpoch: 1,
            loops: loops, nowNanoseconds: nowNanoseconds, wallClockMilliseconds: 1_700_000_000_000)
    }

    var loops: [EventLoop] { server.loops }

    static func token(_ account: String) -> String { "brume_" + String(repeating: account, count: 43) }

    /// One turn of the loop, and no sync.
    func turn(after nanoseconds: UInt64 = 0) {
        nowNanoseconds += nanoseconds
        turns += 1
        step()
    }

    /// Whether the next turn has something to do.
    var hasTasks: Bool { server.loops.contains(where: \.hasTasks) }

    /// The journal's thread writes and syncs what it has.
    func stepJournal() {
        if let log {
            if !isDurabilityHeld { log.makeDurable() }
        } else {
            server.stepJournal { _ in }
        }
    }

    /// Turns and syncs until nothing is left to do.
    func settle() {
        repeat {
            // What was appended goes to the journal when a turn ends.
            turn()
            while runningLoops.contains(where: \.hasTasks) { turn() }
            stepJournal()
        } while server.hasJournalWork || runningLoops.contains(where: \.hasTasks)
    }

    /// Writes snapshots of all that changed.
    func snapshot() {
        server.beginSnapshot()
        settle()
    }

    private var runningLoops: ArraySlice<EventLoop> { isLoaderHeld ? server.loops.dropLast() : server.loops[...] }

    /// Begins to stop, as ``Server/drain()`` does.
    func drain() { server.drain() }

    /// Makes all tokens of an account invalid, and leaves its sessions, as if their loops had not come to them.
    func revokeTokens(keepingSessionsOf name: String) {
        server.revokeTokens(ofAccount: name, testOnly_keepsSessions: true) {}
        settle()
    }

    // MARK: Schemas

    /// Whether the operator's command has ended.
    final class Command: @unchecked Sendable {
        var isCalled = false
        var error: ServiceError?
    }

    /// Begins to change the container's schemas, as the operator's commands do.
    func beginChangingSchemas(
        _ change: @escaping @Sendable (inout ContainerSchemas) throws(ServiceError) -> Void
    ) -> Command {
        let command = Command()
        server.changeSchemas(of: Self.container, change) { error in
            (command.isCalled, command.error) = (true, error)
        }
        return command
    }

    func changeSchemas(_ change: @escaping @Sendable (inout ContainerSchemas) throws(ServiceError) -> Void) throws {
        let command = beginChangingSchemas(change)
        settle()
        try #require(command.isCalled)
        if let error = command.error { throw error }
    }

    /// What came of the removal of an account with its data.
    final class Removal: @unchecked Sendable {
        var summary: ResetSummary?
        var error: ServiceError?
    }

    /// Begins to remove an account with its data, as the operator's command does.
    func beginRemoving(account: String) -> Removal {
        let removal = Removal()
        server.core.adminLoop.execute { [core = server.core] in
            do throws(ServerError) {
                try core.removeWithData(account) { outcome in
                    switch outcome {
                    case .success(.accountRemoved(let summary)): removal.summary = summary
                    case .success: Issue.record("the removal has another answer")
                    case .failure(let error): removal.error = error
                    }
                }
            } catch {
                removal.error = ServiceError(.unknownItem, error.message)
            }
        }
        return removal
    }

    /// The accounts' names, with how many tokens each has.
    var tokenCounts: [String: Int] {
        Dictionary(uniqueKeysWithValues: server.core.accounts.list().map { ($0.name, $0.tokenHashes.count) })
    }

    /// The records of a private database in memory, without the user's own, by the number of its account.
    func recordCount(ofAccount number: UInt8, container: String = SteppedServer.container) -> Int? {
        let user = StepwiseServer.userRecordName(
            accountID: [UInt8](repeating: number, count: 16), key: Self.key, container: container,
            environment: .development)
        let id = DatabaseID(container: container, environment: .development, scope: .private, owner: user)
        return server.loaded.first { $0.database.id == id }?.database.recordCount
    }

    /// What the operator is told of an account's private databases.
    func storedBytes(ofAccount name: String) -> Int {
        let answer = Answered()
        server.askQuota(ofAccount: name) { answer.bytes = $0.usedBytes }
        settle()
        return answer.bytes ?? -1
    }

    private final class Answered: @unchecked Sendable {
        var bytes: Int?
    }

    /// The user of the first account (1) or the second.
    func userRecordName(ofAccount number: UInt8) -> String {
        StepwiseServer.userRecordName(
            accountID: [UInt8](repeating: number, count: 16), key: Self.key, container: Self.container,
            environment: .development)
    }

    /// The loop that has the private database of the first account (1) or the second.
    func loopOfPrivateDatabase(ofAccount number: UInt8) -> Int {
        loop(of: .private, owner: userRecordName(ofAccount: number))
    }

    var loopOfPublicDatabase: Int { loop(of: .public, owner: "") }

    private func loop(of scope: DatabaseScope, owner: String) -> Int {
        Placement(
            of: DatabaseID(container: Self.container, environment: .development, scope: scope, owner: owner)
        ).shard(of: loopCount)
    }

    private func step() {
        for loop in runningLoops {
            loop.step(nowNanoseconds: nowNanoseconds, wallClockMilliseconds: 1_700_000_000_000)
        }
    }

    /// A connection that has said hello.
    func connect(
        account: String?, device: UInt8 = 9, container: String = SteppedServer.container,
        environment: Environment = .development
    ) throws -> SteppedPeer {
        let connection = try connection(
            account: account, device: device, container: container, environment: environment)
        return SteppedPeer(server: self, connection: connection)
    }

    /// The same, as the server sees it.
    func connection(
        account: String?, device: UInt8 = 9, container: String = SteppedServer.container,
        environment: Environment = .development
    ) throws -> FramePeer {
        let connection = greetingConnection(account: account, device, container, environment)
        settle()
        try #require(connection.frames.first?.type == .welcome)
        return connection
    }

    /// Why a connection is refused.
    func refusal(
        account: String?, container: String = SteppedServer.container, environment: Environment = .development
    ) throws -> CallStatus {
        let connection = greetingConnection(account: account, 9, container, environment)
        settle()
        let frame = try #require(connection.frames.first)
        try #require(frame.type == .status)
        return try frame.payload.decoded(MessageCoder().decodeStatus)
    }

    /// A connection whose hello has arrived and was not answered yet.
    func greetingConnection(
        account: String?, _ device: UInt8 = 9, _ container: String = SteppedServer.container,
        _ environment: Environment = .development
    ) -> FramePeer {
        let hello = Hello(
            clientVersion: "test", deviceID: [UInt8](repeating: device, count: 16), container: container,
            environment: environment, credentials: account.map { .account(Self.token($0)) } ?? .none)
        return FramePeer(server, hello: hello) { Issue.record("the server sent a bad frame: \($0)") }
    }

    /// The container's public database, if it is in memory.
    var loadedPublicDatabase: LoadedDatabase? {
        server.core.shards[loopOfPublicDatabase].databases.known(
            DatabaseID(container: Self.container, environment: .development, scope: .public, owner: ""))
    }

    /// The databases in memory.
    var loadedIDs: [DatabaseID] { server.loaded.map(\.database.id) }
}

/// A client of a ``SteppedServer``.
final class SteppedPeer {
    private let server: SteppedServer
    private let connection: FramePeer
    private let coder = MessageCoder()

    init(server: SteppedServer, connection: FramePeer) {
        self.server = server
        self.connection = connection
    }

    /// The peer is gone.
    func disconnect() { connection.disconnect() }

    /// Opens a call and sends its request; returns its stream.
    @discardableResult
    func start(_ method: BrumeProtocol.Method, timeoutMilliseconds: UInt32 = 0, _ request: [UInt8]) -> UInt32 {
        connection.start(method, timeoutMilliseconds: timeoutMilliseconds, request)
    }

    /// Opens the device's notification stream; its events come as ``events(_:)``.
    func openNotifications(position: [UInt8] = []) -> UInt32 {
        let request = coder.encodeNotificationsRequest(position: position)
        let stream = connection.start(.notificationsOpen, request, isLast: false)
        server.settle()
        return stream
    }

    func events(_ stream: UInt32) throws -> [NotificationEvent] {
        try connection.frames.filter { $0.stream == stream && $0.type == .message }
            .map { try $0.payload.decoded(coder.decodeNotificationEvent) }
    }

    func subscribe(_ subscription: Subscription, in database: DatabaseScope = .private) throws {
        let answer = try call(
            .subscriptionsModify,
            coder.encodeModifySubscriptionsRequest(
                ModifySubscriptionsRequest(database: database, saves: [subscription]))
        ).decoded(coder.decodeModifySubscriptionsResponse)
        _ = try answer.saves[0].get()
    }

    func cancel(_ stream: UInt32) { connection.send(.cancel, stream: stream) }

    /// How the server ended a stream; nil: it goes on.
    func end(_ stream: UInt32) throws -> CallStatus? {
        try connection.frames.first { $0.stream == stream && $0.type == .status }?.payload.decoded(coder.decodeStatus)
    }

    /// The call's outcome, if it is there.
    func outcome(_ stream: UInt32) -> Result<[UInt8], ServiceError>? {
        guard let frame = connection.frames.first(where: { $0.stream == stream }) else { return nil }
        if frame.type == .message { return .success(frame.payload) }
        return (try? frame.payload.decoded(coder.decodeStatus))?.error.map { .failure($0) }
    }

    func isAnswered(_ stream: UInt32) -> Bool { connection.frames.contains { $0.stream == stream } }

    /// Makes a call and waits for its outcome.
    func call(_ method: BrumeProtocol.Method, _ request: [UInt8]) throws -> [UInt8] {
        let stream = start(method, request)
        server.settle()
        return try #require(outcome(stream)).get()
    }

    // MARK: Requests

    func startQuery(_ request: QueryRequest, timeoutMilliseconds: UInt32 = 0) -> UInt32 {
        start(.recordsQuery, timeoutMilliseconds: timeoutMilliseconds, coder.encodeQueryRequest(request))
    }

    func page(_ stream: UInt32) throws -> QueryPage<Record>? {
        try outcome(stream).map { try $0.get().decoded(coder.decodeQueryResponse) }
    }

    func query(_ request: QueryRequest) throws -> QueryPage<Record> {
        try call(.recordsQuery, coder.encodeQueryRequest(request)).decoded(coder.decodeQueryResponse)
    }

    func explain(_ request: QueryRequest) throws -> QueryPlan {
        try call(.recordsExplain, coder.encodeQueryRequest(request)).decoded(coder.decodeExplainResponse)
    }

    /// Sends a save, and waits for nothing.
    func startSave(_ name: String) {
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .private,
            zones: [ZoneModification(zone: .defaultZone, saves: [RecordSave(name: name, type: "Note", fields: [:])])])
        start(.recordsModify, coder.encodeModifyRecordsRequest(request))
    }

    /// Saves records, 400 at a time.
    func save(
        _ names: some Sequence<String>, type: String = "Note", zone: ZoneID = .defaultZone,
        database: DatabaseScope = .private, policy: SavePolicy = .ifServerRecordUnchanged,
        fields: (String) -> [String: FieldValue] = { _ in [:] }
    ) throws {
        var rest = Array(names)[...]
        while !rest.isEmpty {
            let saves = rest.prefix(400).map {
                RecordSave(name: $0, type: type, fields: fields($0).mapValues { FieldValue?($0) })
            }
            rest = rest.dropFirst(400)
            let request = ModifyRecordsRequest<DecodedFields>(
                database: database, savePolicy: policy, zones: [ZoneModification(zone: zone, saves: saves)])
            let results = try call(.recordsModify, coder.encodeModifyRecordsRequest(request))
                .decoded(coder.decodeModifyRecordsResponse)
            for save in results[0].saves {
                if case .failure(let error) = save.outcome { throw error }
            }
        }
    }

    func makeZone(_ name: String) throws {
        _ = try call(
            .zonesModify,
            coder.encodeModifyZonesRequest(ModifyZonesRequest(database: .private, saves: [ZoneID(name: name)])))
    }

    func deleteZone(_ name: String) throws {
        _ = try call(
            .zonesModify,
            coder.encodeModifyZonesRequest(
                ModifyZonesRequest(database: .private, deletions: [ZoneID(name: name)])))
    }
}

extension [UInt8] {
    fileprivate func decoded<Value>(
        _ decode: (UnsafeRawBufferPointer) throws(ServiceError) -> Value
    ) throws -> Value {
        let result: Result<Value, ServiceError> = withUnsafeBytes { bytes in
            do throws(ServiceError) { return .success(try decode(bytes)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
