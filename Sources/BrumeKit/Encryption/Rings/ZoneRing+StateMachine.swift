internal import BrumeEncryption
internal import BrumeModel

/// One look at the ring of a zone in the account's own database: what to ask the server, what to keep and when, and
/// what comes of it.
///
/// Pure but for the random bytes of new keys. A ring is made with the zone's first encrypted value, and gets a new key
/// where the account's keys are others than its last entry names, as after a device was removed. What a server lacks
/// that this device knows it gets back; what it shows otherwise is not followed
/// (Documentation/EncryptionFormats.md, section 12).
struct ZoneRingStateMachine: Sendable {
    /// What the ring is for.
    enum Goal: Sendable {
        /// To open values. Makes nothing.
        case read
        /// To encrypt values, with its newest key.
        case write
        /// For a zone that is to be one tree. Like ``write``, but for a ring of another scope.
        case writePerZone
        /// A person takes what the server shows for the zone's keys, where this device knows other ones.
        case accept
    }

    enum Outcome: Sendable {
        /// Nil where the zone has none.
        case ring(KnownRing?)
        /// The server took an entry of another device, or knows newer keys of the account: fetch these, and begin anew.
        case again
        case failed(ZoneRingFailure)
    }

    enum Action: Sendable {
        /// Fetch the entries behind a number.
        case fetch(after: UInt32)
        case append(SharedBytes)
        case keep(KeptRing)
        case finish(Outcome)
    }

    private enum Phase: Sendable {
        case idle
        case fetching(RingFetch)
        case givingBack(ArraySlice<SignedRingEntry>)
        /// The ring with the entry that was sent.
        case sending(RingChain)
        case keeping(Next)
    }

    private enum Next: Sendable {
        case proceed
        case giveBack([SignedRingEntry])
    }

    let goal: Goal
    private let identity: Identity
    private let zone: String
    private let statements: StatementDirectory
    private var kept: KeptRing
    /// Whether the server is asked even where what is kept would do.
    private let asksServer: Bool
    /// Whether the server was asked for the account's statements just now.
    private let hasNewestIdentity: Bool
    /// Whether a ring that is made says that the zone's assets are encrypted.
    private let encryptsAssets: Bool
    private var phase = Phase.idle
    private var rounds = 0

    init(
        goal: Goal, kept: KeptRing, identity: Identity, zone: String, asksServer: Bool, hasNewestIdentity: Bool,
        encryptsAssets: Bool
    ) {
        (self.goal, self.kept, self.identity, self.zone, self.asksServer) = (goal, kept, identity, zone, asksServer)
        (self.hasNewestIdentity, self.encryptsAssets) = (hasNewestIdentity, encryptsAssets)
        var statements = StatementDirectory()
        statements.add(identity.chain)
        self.statements = statements
    }

    // MARK: Events

    mutating func started() -> Action {
        guard !asksServer, let ring = current, goal == .read || ring.isForWriting(by: identity) else { return fetch() }
        return finish(ring)
    }

    mutating func pageCame(_ page: RingPage) -> Action {
        guard case .fetching(var fetch) = phase else { preconditionFailure("no entries were to be fetched") }
        switch fetch.pageCame(page) {
        case .ask(let after):
            phase = .fetching(fetch)
            return .fetch(after: after)
        case .complete: return looked(fetch.shown)
        case .beginAgain: return self.fetch()
        case .unreadable(.newer): return fail(.newer)
        case .unreadable: return fail(.malformed("the zone's ring has an entry that no device has made"))
        case .malformed(let reason): return fail(.malformed(reason))
        }
    }

    /// The server has the entry of the last action.
    mutating func appended() -> Action {
        switch phase {
        case .sending(let chain):
            if kept.known?.chain.head.ring == chain.head.ring {
                // It follows: this device has made it.
                _ = try? kept.known?.meet(chain.entries, statements: statements)
                guard kept.known?.chain.head.hash == chain.head.hash else { return fail(.forked) }
                return keep(.proceed)
            }
            guard let ring = try? KnownRing(chain.entries, of: chain.head.ring, statements: statements) else {
                preconditionFailure("a ring that was made here does not hold")
            }
            return take(ring)
        case .givingBack(let rest):
            let rest = rest.dropFirst()
            return rest.isEmpty ? fetch() : giveBack(rest)
        default: preconditionFailure("no entry was sent")
        }
    }

    /// The server refused the entry of the last action, for what it is or for what it has.
    mutating func appendRefused() -> Action {
        guard case .givingBack(let rest) = phase, let entry = rest.first?.entry, let ring = current,
            !entry.namesKeys(of: identity)
        else { return .finish(.again) }
        // Its keys were replaced since, and no server takes it any more.
        if goal == .read { return .finish(.ring(ring)) }
        return entry.number == 1 ? begin() : goOn(ring, before: entry.number)
    }

    /// What was to be kept is kept.
    mutating func hasKept() -> Action {
        guard case .keeping(let next) = phase else { preconditionFailure("nothing was to be kept") }
        switch next {
        case .proceed: return proceed()
        case .giveBack(let entries): return giveBack(entries[...])
        }
    }

    // MARK: What the server shows

    private mutating func looked(_ shown: [SignedRingEntry]) -> Action {
        guard let first = shown.first else {
            if let ring = current { return giveBack(ring.chain.entries[...]) }
            return goal == .read || goal == .accept ? .finish(.ring(nil)) : begin()
        }
        do throws(EncryptionRefusal) {
            let ring = try ringName(id: first.entry.ring.place.ringID)
            if let known = kept.known?.chain.head, known.ring == ring, !first.entry.isOfPolicies(of: known) {
                // Neither a branch nor a person's word changes what holds for good.
                return fail(.forked)
            }
            guard var known = kept.known, known.chain.head.ring == ring, isOfIdentity(known) else {
                return take(try KnownRing(shown, of: ring, statements: statements))
            }
            let meeting = try known.meet(shown, statements: statements)
            kept.known = known
            let wasOver = kept.isOver
            kept.isOver = false
            switch meeting {
            case .same: return wasOver ? keep(.proceed) : proceed()
            case .extended, .joined: return keep(.proceed)
            case .behind(let missing): return wasOver ? keep(.giveBack(missing)) : giveBack(missing[...])
            case .forked: return goal == .accept ? try accept(shown) : fail(.forked)
            }
        } catch {
            // Another device may have used keys of the account that are newer than those that are known here.
            if error == .brokenChain, !hasNewestIdentity, shown.contains(where: namesUnknownStatement) {
                return .finish(.again)
            }
            return fail(error == .newer ? .newer : .malformed("the zone's ring has an entry that breaks its rules"))
        }
    }

    /// Takes a ring that was not known.
    ///
    /// The ring of a zone that was made anew has to begin with keys of the account that are no older than those that
    /// the known ring ended with: else a device that was removed since could have made it.
    private mutating func take(_ ring: KnownRing) -> Action {
        if let known = kept.known, isOfIdentity(known), known.chain.head.ring != ring.chain.head.ring,
            let former = ownersStatement(known.chain.head), let first = ownersStatement(ring.chain.entries[0].entry),
            first.number < former.number, first.keys != former.keys
        {
            return fail(.isOver)
        }
        do throws(EncryptionRefusal) {
            guard try kept.lives.meet(ring.chain) != .over else { return fail(.isOver) }
        } catch {
            return fail(.malformed("the zone was made anew more often than a device keeps in mind"))
        }
        kept.known = ring
        kept.isOver = false
        return keep(.proceed)
    }

    // MARK: Steps

    private mutating func proceed() -> Action {
        guard let ring = current else { preconditionFailure("a ring that was just met is of another identity") }
        return goal == .read || ring.isForWriting(by: identity) ? finish(ring) : rotate(ring)
    }

    private mutating func fetch() -> Action {
        rounds += 1
        guard rounds <= KeyLimits.roundsMax else { return fail(.busy) }
        phase = .fetching(RingFetch())
        return .fetch(after: 0)
    }

    private mutating func keep(_ next: Next) -> Action {
        phase = .keeping(next)
        return .keep(kept)
    }

    private mutating func giveBack(_ entries: ArraySlice<SignedRingEntry>) -> Action {
        phase = .givingBack(entries)
        guard let first = entries.first else { preconditionFailure("a server lacks entries that there are none of") }
        return .append(SharedBytes(first.bytes))
    }

    /// Makes the zone's ring.
    private mutating func begin() -> Action {
        // One that no server takes any more is followed by one of the same scope.
        let former = current?.chain.head
        let isPerZone = goal == .writePerZone || former?.isPerZone == true
        // No file is saved plain because a server says that the zone was deleted, nor because a ring did that a removed
        // device may have begun: an app that wants files encrypted gets a ring that says so.
        let known = kept.known.flatMap { isOfIdentity($0) ? $0.chain.head : nil }
        let hasPlainAssets = (former ?? known).map { $0.hasPlainAssets && !encryptsAssets } ?? !encryptsAssets
        do throws(EncryptionRefusal) {
            let owner = RingMember(user: user, statementHash: identity.statement.hash, role: .owner)
            return send(
                try author.begin(
                    ringName(id: Place.newRingID()), isPerZone: isPerZone, hasPlainAssets: hasPlainAssets,
                    RingDraft(members: [owner])))
        } catch {
            preconditionFailure("a zone's first entry breaks a rule: \(error)")
        }
    }

    /// Gives the ring a new key.
    private mutating func rotate(_ ring: KnownRing) -> Action {
        do throws(EncryptionRefusal) {
            let draft = RingDraft(after: ring.chain.head, statements: statements)
            return send(try author.next(after: ring.chain, keys: ring.chain.keys(of: identity), draft))
        } catch {
            return fail(.full)
        }
    }

    /// Goes on with the part of the known ring that the server has, where it takes no more of it.
    private mutating func goOn(_ ring: KnownRing, before number: UInt32) -> Action {
        do throws(EncryptionRefusal) {
            let chain = RingChain(kept: Array(ring.chain.entries.prefix(Int(number) - 1)))
            return try goOn(with: chain, ending: ring)
        } catch {
            return fail(.full)
        }
    }

    /// Goes on with what the server shows instead of the known ring, as a person has decided.
    private mutating func accept(_ shown: [SignedRingEntry]) throws(EncryptionRefusal) -> Action {
        guard let known = kept.known else { preconditionFailure("another ring is shown than one that is not known") }
        let chain = try KnownRing(shown, of: known.chain.head.ring, statements: statements).chain
        return try goOn(with: chain, ending: known)
    }

    /// Makes an entry that says where the known ring ended: its keys are still read with. The owner's newest keys make
    /// it, so that nobody who was dropped can.
    private mutating func goOn(with chain: RingChain, ending ring: KnownRing) throws(EncryptionRefusal) -> Action {
        guard ring.endedBranches.count + 2 <= KeyLimits.ringBranchesMax else { return fail(.full) }
        var draft = RingDraft(after: chain.head, statements: statements)
        draft.otherBranch = ring.chain.head.hash
        return send(try author.next(after: chain, keys: chain.keys(of: identity), draft))
    }

    private mutating func send(_ chain: RingChain) -> Action {
        phase = .sending(chain)
        return .append(SharedBytes(chain.entries[chain.entries.count - 1].bytes))
    }

    private func finish(_ ring: KnownRing) -> Action {
        if goal == .writePerZone, !ring.chain.head.isPerZone { return fail(.isPerRecord) }
        return .finish(.ring(ring))
    }

    private func fail(_ failure: ZoneRingFailure) -> Action { .finish(.failed(failure)) }

    // MARK: What is known

    private var user: String { identity.statement.scope.account }

    private var author: RingAuthor { RingAuthor(user: user, identity: identity.keys, statements: statements) }

    /// The known ring, if the zone may still have it and it is of this identity.
    private var current: KnownRing? { kept.isOver ? nil : kept.known.flatMap { isOfIdentity($0) ? $0 : nil } }

    /// Whether it was not begun by an identity that the account had before a reset.
    private func isOfIdentity(_ ring: KnownRing) -> Bool {
        guard let owner = ring.chain.head.member(named: user) else { return false }
        return identity.chain.statement(of: owner.statementHash) != nil
    }

    private func namesUnknownStatement(_ signed: SignedRingEntry) -> Bool {
        guard let owner = signed.entry.member(named: user) else { return false }
        return identity.chain.statement(of: owner.statementHash) == nil
    }

    /// The owner's statement that an entry names.
    private func ownersStatement(_ entry: RingEntry) -> Statement? {
        entry.member(named: user).flatMap { identity.chain.statement(of: $0.statementHash) }
    }

    private func ringName(id: [UInt8]) throws(EncryptionRefusal) -> RingName {
        let scope = identity.statement.scope
        return try RingName(
            place: Place(
                container: scope.container, environment: scope.environment, owner: scope.account, zone: zone, ringID: id
            ))
    }
}

extension RingEntry {
    /// Whether it says the same as another one of its ring of what is never changed.
    fileprivate func isOfPolicies(of other: RingEntry) -> Bool {
        hasPlainAssets == other.hasPlainAssets && isPerZone == other.isPerZone
    }
}
