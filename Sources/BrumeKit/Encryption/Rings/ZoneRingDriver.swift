internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol

/// Does what ``ZoneRingStateMachine`` says, with the server and the disk.
struct ZoneRingDriver: Sendable {
    typealias Machine = ZoneRingStateMachine

    private let folders: KeyFolderAccess

    init(folders: KeyFolderAccess) { self.folders = folders }

    /// Looks at a zone's ring.
    ///
    /// - Returns: The ring, and the identity that it was looked at with; nil where the zone has none.
    /// - Throws: What calls to the server throw, `zoneNotFound` included; `internalError` where the key folder can't be
    ///   used; what ``ZoneRingFailure/error(zone:)`` and ``AccountKeys/identity(for:)`` say.
    func run(
        _ goal: Machine.Goal, zone: String, asksServer: Bool, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> (ring: KnownRing, identity: Identity)? {
        let folder = try await folders.folder(of: account)
        var asksServer = asksServer
        var hasNewestIdentity = false
        for _ in 0..<KeyLimits.attemptsMax {
            guard let identity = try await identity(goal, for: account) else { return nil }
            guard identity.statement.scope == folder.place.scope else {
                throw .malformedResponse("it says that the account is another one than before")
            }
            let loaded = try await load(zone, from: folder)
            let machine = Machine(
                goal: goal, kept: loaded.kept, identity: identity, zone: zone, asksServer: asksServer,
                hasNewestIdentity: hasNewestIdentity, encryptsAssets: account.configuration.encryptsAssets)
            switch try await run(machine, zone: zone, over: loaded.head, in: folder, for: account, options) {
            case .ring(let ring): return ring.map { ($0, identity) }
            case .again:
                account.keys.statementsMayHaveChanged()
                asksServer = true
                hasNewestIdentity = true
            case .failed(let failure): throw failure.error(zone: zone)
            case nil: break
            }
        }
        throw ZoneRingFailure.busy.error(zone: zone)
    }

    /// What is kept of a zone's ring.
    func kept(_ zone: String, for account: AccountBinding) async throws(CKError) -> KeptRing {
        let folder = try await folders.folder(of: account)
        return try await load(zone, from: folder).kept
    }

    /// Remembers that a zone was deleted, as far as is known.
    func zoneWasDeleted(_ zone: String, for account: AccountBinding) async throws(CKError) {
        let folder = try await folders.folder(of: account)
        for _ in 0..<KeyLimits.attemptsMax {
            let loaded = try await load(zone, from: folder)
            var kept = loaded.kept
            guard kept.known != nil, !kept.isOver else { return }
            kept.isOver = true
            if try await write(kept, zone: zone, over: loaded.head, in: folder) != nil { return }
        }
    }

    private func identity(_ goal: Machine.Goal, for account: AccountBinding) async throws(CKError) -> Identity? {
        switch goal {
        case .read, .accept: try await account.keys.identityIfAny(for: account)
        case .write, .writePerZone: try await account.keys.identity(for: account)
        }
    }

    /// - Returns: Nil where another process wrote to the file meanwhile, so that it has to be read again.
    private func run(
        _ started: Machine, zone: String, over head: [UInt8]?, in folder: KeyFolder, for account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) -> Machine.Outcome? {
        var (machine, head) = (started, head)
        var action = machine.started()
        while true {
            switch action {
            case .fetch(let number):
                action = machine.pageCame(try await fetch(after: number, zone: zone, for: account, options))
            case .append(let entry):
                let isTaken = try await append(entry, zone: zone, for: account, options)
                action = isTaken ? machine.appended() : machine.appendRefused()
            case .keep(let kept):
                guard let written = try await write(kept, zone: zone, over: head, in: folder) else { return nil }
                head = written
                action = machine.hasKept()
            case .finish(let outcome): return outcome
            }
        }
    }

    private func load(_ zone: String, from folder: KeyFolder) async throws(CKError) -> KeyFolder.LoadedRing {
        let ring = RingPlace(owner: folder.place.scope.account, zone: zone)
        return try await folders.use(folder) { () throws(KeyFolderProblem) in try folder.loadRing(at: ring) }
    }

    private func write(
        _ kept: KeptRing, zone: String, over head: [UInt8]?, in folder: KeyFolder
    ) async throws(CKError) -> [UInt8]? {
        let ring = RingPlace(owner: folder.place.scope.account, zone: zone)
        return try await folders.use(folder) { () throws(KeyFolderProblem) in
            try folder.writeRing(kept, at: ring, over: head)
        }
    }

    // MARK: The server

    private func fetch(
        after number: UInt32, zone: String, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> RingPage {
        let request = FetchRingRequest(zone: ZoneID(name: zone), after: number)
        return try await account.call(.ringsFetch, options: options) { coder in
            coder.encodeFetchRingRequest(request)
        } decode: { (coder, bytes) throws(ServiceError) in
            try coder.decodeFetchRingResponse(bytes)
        }
    }

    /// Whether the server has the entry; false where it has another one, or calls it wrong.
    private func append(
        _ entry: SharedBytes, zone: String, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Bool {
        let request = AppendRingEntryRequest(zone: ZoneID(name: zone), entry: entry)
        do throws(CKError) {
            // The same bytes have one effect however often they come.
            try await account.call(.ringsAppend, effect: .onceByOperationID, options: options) { coder in
                coder.encodeAppendRingEntryRequest(request)
            } decode: { (coder, bytes) throws(ServiceError) in
                try coder.decodeAppendRingEntryResponse(bytes)
            }
            return true
        } catch {
            guard error.code == .serverRecordChanged || error.code == .invalidArguments else { throw error }
            return false
        }
    }
}
