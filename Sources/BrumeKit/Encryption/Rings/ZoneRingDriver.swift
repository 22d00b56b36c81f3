internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol

/// Does what ``ZoneRingStateMachine`` says, with the server and the disk.
struct ZoneRingDriver: Sendable {
    typealias Machine = ZoneRingStateMachine

    let folders: KeyFolderAccess

    init(folders: KeyFolderAccess) { self.folders = folders }

    /// What a look at a ring is for, beside its goal.
    struct Look: Sendable {
        var goal: Machine.Goal
        var ring: ZoneRingID
        var asksServer = false
        /// The keys of the zone's own ring, for a tree's in a zone of the account's.
        var zone: RingKeys?
        /// Whether a new key is wanted whatever the ring says.
        var wantsNewKey = false
        /// Whether a link that opens the keys by itself is to go.
        var closesLinks = false
        /// Members who are out, whatever the server says of the ring.
        var dropped: Set<String> = []
        /// Those whom a person takes in, by their user record names, as they were shown to that person.
        var approved: [String: KnownStatements] = [:]
        /// Former members who come in again: an entry took them out for a save that the server has refused.
        var returning: Set<String> = []
    }

    /// A ring, and what it is opened with.
    struct Found: Sendable {
        let ring: KnownRing
        let identity: Identity
        let link: LinkSecret?
        /// Whether new values may take the newest key.
        let isForWriting: Bool
        /// The head of the ring's file, by which another process is seen to have written it.
        let fileHead: [UInt8]?
        /// The zone's own keys, where they are others since a tree's ring began.
        var zone: RingKeys?

        var keys: RingKeys {
            RingKeys(ring, of: identity, link: link, isForWriting: isForWriting, fileHead: fileHead)
        }
    }

    /// Looks at a ring.
    ///
    /// - Returns: Nil where there is none.
    /// - Throws: What calls to the server throw, `zoneNotFound` included; `internalError` where the key folder can't be
    ///   used; what ``ZoneRingFailure/error(_:)`` and ``AccountKeys/identity(for:)`` say.
    func run(
        _ look: Look, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Found? {
        let folder = try await folders.folder(of: account)
        let place = look.ring.place(in: folder)
        let people = RingPeople(folders: folders, folder: folder, ring: look.ring, account: account, options: options)
        var asksServer = look.asksServer
        var hasNewestIdentity = false
        var newZone: RingKeys?
        for _ in 0..<KeyLimits.attemptsMax {
            guard let identity = try await identity(look.goal, for: account) else { return nil }
            guard identity.statement.scope == folder.place.scope else {
                throw .malformedResponse("it says that the account is another one than before")
            }
            let loaded = try await load(place, in: folder)
            let run = Run(place: place, ring: look.ring, folder: folder, people: people, account, options)
            // A folder may be older than the note.
            try await note(loaded.kept, before: loaded.kept, run)
            let machine = Machine(
                Machine.Start(
                    goal: look.goal, place: place, kept: loaded.kept, identity: identity,
                    people: try await people.known(of: loaded.kept), zone: newZone ?? look.zone,
                    hasNewZoneKey: newZone != nil, wantsNewKey: look.wantsNewKey, dropped: look.dropped,
                    approved: look.approved, returning: look.returning, closesLinks: look.closesLinks,
                    knowsShares: folder.hasShareRoots, asksServer: asksServer,
                    hasNewestIdentity: hasNewestIdentity,
                    encryptsAssets: account.configuration.encryptsAssets))
            guard let (outcome, ended, head) = try await self.run(machine, over: loaded.head, run) else { continue }
            switch outcome {
            case .ring(let ring):
                return ring.map {
                    Found(
                        ring: $0, identity: identity, link: ended.kept.link, isForWriting: ended.isForWriting($0),
                        fileHead: head, zone: newZone)
                }
            case .needsNewZoneKey:
                let zone = Look(goal: .write, ring: look.ring.zones, asksServer: true, wantsNewKey: true)
                guard let found = try await self.run(zone, for: account, options) else { return nil }
                newZone = found.keys
            case .again:
                account.keys.statementsMayHaveChanged()
                asksServer = true
                hasNewestIdentity = true
            case .failed(let failure): throw failure.error(look.ring)
            }
        }
        throw ZoneRingFailure.busy.error(look.ring)
    }

    /// Those who have to do with a ring.
    func people(
        _ ring: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> RingPeople {
        let folder = try await folders.folder(of: account, options)
        return RingPeople(folders: folders, folder: folder, ring: ring, account: account, options: options)
    }

    private func identity(_ goal: Machine.Goal, for account: AccountBinding) async throws(CKError) -> Identity? {
        switch goal {
        case .read, .accept: try await account.keys.identityIfAny(for: account)
        case .write, .admit, .make, .share, .join: try await account.keys.identity(for: account)
        }
    }

    /// What the steps of one run have in common.
    private struct Run {
        let place: RingPlace
        let ring: ZoneRingID
        let folder: KeyFolder
        let people: RingPeople
        let account: AccountBinding
        let options: CallOptions

        init(
            place: RingPlace, ring: ZoneRingID, folder: KeyFolder, people: RingPeople, _ account: AccountBinding,
            _ options: CallOptions
        ) {
            (self.place, self.ring, self.folder, self.people) = (place, ring, folder, people)
            (self.account, self.options) = (account, options)
        }
    }

    /// - Returns: What came of it, the machine at its end, and the head of the ring's file; nil where another process
    ///   wrote to the file meanwhile, so that it has to be read again.
    private func run(
        _ started: Machine, over head: [UInt8]?, _ run: Run
    ) async throws(CKError) -> (Machine.Outcome, Machine, head: [UInt8]?)? {
        var (machine, head) = (started, head)
        var met: [KnownStatements] = []
        var action = machine.started()
        while true {
            switch action {
            case .fetch(let number):
                action = machine.pageCame(try await run.people.page(after: number))
            case .meet(let users, let hashes):
                let found = try await run.people.meet(users, named: hashes)
                met = found.known
                action = machine.met(found.all, strangers: found.strangers)
            case .append(let entry, let statements):
                let isTaken = try await append(entry, statements, run)
                action = isTaken ? machine.appended() : machine.appendRefused()
            case .join(let invitationID, let proof):
                var isTaken = false
                do throws(CKError) {
                    isTaken = try await join(invitationID: invitationID, proof: proof, run)
                } catch {
                    // Nobody has asked for more than to read.
                    guard machine.isUnasked, !error.keepsFromReading else { throw error }
                }
                action = machine.joined(isTaken)
            case .keep(let kept):
                // Those by whom the ring was checked, before it.
                try await run.people.keep(met, of: kept)
                try await note(kept, before: started.start.kept, run)
                guard let written = try await write(kept, run.place, over: head, in: run.folder) else { return nil }
                head = written
                if case .join(let link?) = started.start.goal { try await run.people.confirmOwner(by: link) }
                action = machine.hasKept()
            case .finish(let outcome): return (outcome, machine, head)
            }
        }
    }

    // MARK: The disk

    /// Notes that a ring of somebody else's zone is kept, before it is. One of another life of the zone ends what was
    /// noted of the former, which it follows.
    private func note(_ kept: KeptRing, before former: KeptRing, _ run: Run) async throws(CKError) {
        guard let head = kept.known?.chain.head, !run.ring.owner.isEmpty else { return }
        let ring = OthersZone.Ring(ringID: head.ring.place.ringID, encryptsAssets: !head.hasPlainAssets)
        let formerID = former.known?.chain.head.ring.place.ringID
        let (folder, place) = (run.folder, run.place)
        _ = try await folders.use(folder) { () throws(KeyFolderProblem) in
            try folder.noteRing(ring, at: place, following: formerID)
        }
    }

    func load(_ place: RingPlace, in folder: KeyFolder) async throws(CKError) -> KeyFolder.LoadedRing {
        try await folders.use(folder) { () throws(KeyFolderProblem) in try folder.loadRing(at: place) }
    }

    func write(
        _ kept: KeptRing, _ place: RingPlace, over head: [UInt8]?, in folder: KeyFolder
    ) async throws(CKError) -> [UInt8]? {
        try await folders.use(folder) { () throws(KeyFolderProblem) in
            try folder.writeRing(kept, at: place, over: head)
        }
    }

    // MARK: The server

    /// Whether the server has the entry; false where it has another one, or calls it wrong.
    private func append(
        _ entry: SharedBytes, _ statements: [SharedBytes], _ run: Run
    ) async throws(CKError) -> Bool {
        let request = AppendRingEntryRequest(zone: run.ring.zoneID, entry: entry, statements: statements)
        return try await isTaken { () throws(CKError) in
            // The same bytes have one effect however often they come.
            try await run.account.call(.ringsAppend, effect: .onceByOperationID, options: run.options) { coder in
                coder.encodeAppendRingEntryRequest(request)
            } decode: { (coder, bytes) throws(ServiceError) in
                try coder.decodeAppendRingEntryResponse(bytes)
            }
        }
    }

    /// Gives the server the account's statements, as many as a request may have at a time, and with the last ones the
    /// proof of a link.
    private func join(invitationID: [UInt8], proof: [UInt8], _ run: Run) async throws(CKError) -> Bool {
        var rest = (try await run.people.own()?.signed ?? []).map { SharedBytes($0.bytes) }[...]
        return try await isTaken { () throws(CKError) in
            repeat {
                let part = rest.prefix(Limits.ringStatementsPerRequest)
                rest = rest.dropFirst(part.count)
                var request = JoinRingRequest(zone: run.ring.zoneID, root: run.ring.root, statements: Array(part))
                if rest.isEmpty { (request.invitationID, request.proof) = (invitationID, proof) }
                let sent = request
                try await run.account.call(.ringsJoin, effect: .onceByOperationID, options: run.options) { coder in
                    coder.encodeJoinRingRequest(sent)
                } decode: { (coder, bytes) throws(ServiceError) in
                    try coder.decodeJoinRingResponse(bytes)
                }
            } while !rest.isEmpty
        }
    }

    private func isTaken(_ body: () async throws(CKError) -> Void) async throws(CKError) -> Bool {
        do throws(CKError) {
            try await body()
            return true
        } catch {
            guard error.code == .serverRecordChanged || error.code == .invalidArguments else { throw error }
            return false
        }
    }
}
