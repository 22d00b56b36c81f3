internal import BrumeEncryption
internal import BrumeModel

/// One look at a ring of a zone: what to ask the server, what to keep and when, and what comes of it.
///
/// Pure but for the random bytes of new keys. A zone's own ring is made with its first encrypted value, and a tree's
/// when its root is shared, or with the first value that is encrypted below one that is, by a device of the owner's.
/// A ring gets a new key where its last entry names keys that somebody has replaced, as after a device was removed, or
/// members who take part no more; and with it those are taken in who wait for that. What a server lacks that this
/// device knows it gets back; what it shows otherwise is not followed (Documentation/EncryptionFormats.md, section 12).
struct ZoneRingStateMachine: Sendable {
    /// What the ring is for.
    enum Goal: Sendable {
        /// To open values. Makes nothing.
        case read
        /// To encrypt values, with its newest key.
        case write
        /// To take in who waits, and to have those go who take part no more. Like ``write``, but makes no ring.
        case admit
        /// For a zone of which an app says how it is encrypted. Like ``write``, but not for a ring that says otherwise.
        case make(WantedPolicies)
        /// A person takes what the server shows for the zone's keys, where this device knows other ones. A guest's
        /// device makes no entry for that.
        case accept
        /// To give others links to what it is of. Like ``write``.
        case share(WantedLinks)
        /// The account takes part in what it is of, and asks for its keys: with a link, where it had one.
        case join(LinkFragment?)
    }

    enum Outcome: Sendable {
        /// Nil where there is none.
        case ring(KnownRing?)
        /// A tree's ring is to be made: give the zone a new key before, and begin anew with that.
        case needsNewZoneKey
        /// The server took an entry of another device, or knows newer keys of the account: fetch these, and begin anew.
        case again
        case failed(ZoneRingFailure)
    }

    enum Action: Sendable {
        /// Fetch the entries behind a number.
        case fetch(after: UInt32)
        /// Fetch the statements of users, and compare them with what this device knows of each. Of one whom it doesn't
        /// know a chain counts that has a statement of these hashes.
        case meet([String], named: Set<[UInt8]>)
        /// Statements of members that the server may lack go with an entry.
        case append(SharedBytes, statements: [SharedBytes])
        /// Say which keys the account has, and by which link it came, to those who make entries.
        case join(invitationID: [UInt8], proof: [UInt8])
        case keep(KeptRing)
        case finish(Outcome)
    }

    enum Phase: Sendable {
        case idle
        case fetching(RingFetch)
        /// The entries whose members' statements are missing.
        case meeting(RingFetch)
        case givingBack(ArraySlice<SignedRingEntry>)
        /// The ring with the entry that was sent.
        case sending(RingChain)
        case joining
        case keeping(Next)
    }

    enum Next: Sendable {
        case proceed
        case giveBack([SignedRingEntry])
    }

    /// What a look begins with.
    struct Start: Sendable {
        var goal: Goal
        var place: RingPlace
        var kept: KeptRing
        var identity: Identity
        /// Those whom this device knows beside the account's own.
        var people: [KnownStatements] = []
        /// The keys of the zone's own ring, for a tree's in a zone of the account's: both are of one life of the zone.
        var zone: RingKeys?
        /// Whether the newest of them was made for the tree's ring that may begin: its guests get those before it, and
        /// once they are out must have none that the zone still uses.
        var hasNewZoneKey = false
        /// The number of the zone's key from which on none is made for a tree any more.
        var zoneKeysForTreesMax = KeyLimits.zoneKeysForTreesMax
        /// Whether a new key is wanted whatever the ring says.
        var wantsNewKey = false
        /// Members who are out by what the app did, or are in the share no more as the server shows it: they go whether
        /// the server says so of the ring or not.
        var dropped: Set<String> = []
        /// Those whom a person takes in without a proof, by their user record names, as they were shown to that person.
        var approved: [String: KnownStatements] = [:]
        /// Former members who come in again, by their user record names: an entry took them out for a save that the
        /// server has refused.
        var returning: Set<String> = []
        /// Whether a link that opens the keys by itself is to go: what is shared is not for everybody any more.
        var closesLinks = false
        /// Whether this device has kept the root of a share: what is below one may have keys that others have.
        var knowsShares = true
        /// Whether the server is asked even where what is kept would do.
        var asksServer: Bool
        /// Whether the server was asked for the account's statements just now.
        var hasNewestIdentity: Bool
        /// Whether a ring that is made says that the zone's assets are encrypted.
        var encryptsAssets: Bool
    }

    let start: Start
    var kept: KeptRing
    var statements = StatementDirectory()
    /// By their user record names.
    var people: [String: KnownStatements] = [:]
    /// Those whose statements are others than this device knows.
    var strangers: Set<String> = []
    /// What the server says that the next entry has to take into account.
    var news = RingNews()
    var phase = Phase.idle
    /// Whether the server has this account's newest statements beside the rings.
    var hasJoined = false
    /// Whether an entry of this look's stands.
    var hasMadeEntry = false
    private var rounds = 0

    init(_ start: Start) {
        self.start = start
        kept = start.kept
        statements.add(start.identity.chain)
        for person in start.people { know(person) }
    }

    // MARK: Events

    mutating func started() -> Action {
        guard !start.asksServer, !start.wantsNewKey, let ring = current else { return fetch() }
        switch start.goal {
        case .read: return namesFormerKeys(ring) ? fetch() : finish(ring)
        case .join: return fetch()
        case .write, .admit, .make, .accept, .share: return isForWriting(ring) ? finish(ring) : fetch()
        }
    }

    mutating func pageCame(_ page: RingPage) -> Action {
        guard case .fetching(var fetch) = phase else { preconditionFailure("no entries were to be fetched") }
        switch fetch.pageCame(page) {
        case .ask(let after):
            phase = .fetching(fetch)
            return .fetch(after: after)
        case .complete:
            let (users, hashes) = usersToMeet(fetch)
            guard users.count <= KeyLimits.peopleMax else {
                return fail(.malformed("a ring has more members than a device keeps in mind"))
            }
            if users.isEmpty { return looked(fetch) }
            phase = .meeting(fetch)
            return .meet(users, named: hashes)
        case .beginAgain: return self.fetch()
        case .unreadable(.newer): return fail(.newer)
        case .unreadable: return fail(.malformed("the zone's ring has an entry that no device has made"))
        case .malformed(let reason): return fail(.malformed(reason))
        }
    }

    /// The statements of the users of the last action were compared with what was known.
    ///
    /// - Parameter strangers: Those of whom the server shows others than this device knows, or none that hold.
    mutating func met(_ people: [KnownStatements], strangers: Set<String>) -> Action {
        guard case .meeting(let fetch) = phase else { preconditionFailure("no users were to be met") }
        self.strangers = strangers
        for person in people { know(person) }
        return looked(fetch)
    }

    /// The server has the entry of the last action.
    mutating func appended() -> Action {
        switch phase {
        case .sending(let chain):
            hasMadeEntry = true
            // Whoever was to go is out, and whoever waited is in.
            news = RingNews()
            kept.removals = []
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
        guard case .givingBack(let rest) = phase, let entry = rest.first?.entry, let ring = current, isOwn,
            namesReplacedKeys(entry)
        else { return .finish(.again) }
        // Keys that it names were replaced since, and no server takes it any more that knows that.
        if case .read = start.goal { return .finish(.ring(ring)) }
        if entry.number > 1 { return goOn(ring, before: entry.number) }
        return start.place.root.isEmpty ? begin() : fail(.forked)
    }

    /// The server knows which keys the account has; false where it refused to.
    mutating func joined(_ isTaken: Bool) -> Action {
        guard case .joining = phase else { preconditionFailure("nothing was to be joined") }
        // A guest who only says that they wait reads what there is to read in any case.
        guard isTaken || isUnasked else { return .finish(.again) }
        hasJoined = true
        return proceed()
    }

    /// What was to be kept is kept.
    mutating func hasKept() -> Action {
        guard case .keeping(let next) = phase else { preconditionFailure("nothing was to be kept") }
        switch next {
        case .proceed: return proceed()
        case .giveBack(let entries): return giveBack(entries[...])
        }
    }

    // MARK: Steps

    mutating func fetch() -> Action {
        rounds += 1
        guard rounds <= KeyLimits.roundsMax else { return fail(.busy) }
        phase = .fetching(RingFetch())
        return .fetch(after: 0)
    }

    mutating func keep(_ next: Next) -> Action {
        // A member has the keys by their own.
        if let ring = kept.known, ownMember(of: ring.chain.head) != nil { kept.link = nil }
        phase = .keeping(next)
        return .keep(kept)
    }

    mutating func giveBack(_ entries: ArraySlice<SignedRingEntry>) -> Action {
        phase = .givingBack(entries)
        guard let first = entries.first else { preconditionFailure("a server lacks entries that there are none of") }
        let before = current?.chain.entries.first { $0.entry.hash == first.entry.previousHash }
        return .append(SharedBytes(first.bytes), statements: statements(of: first.entry, behind: before?.entry))
    }

    func finish(_ ring: KnownRing) -> Action {
        if case .make(let wanted) = start.goal {
            let head = ring.chain.head
            if wanted.isPerZone, !head.isPerZone { return fail(.isPerRecord) }
            if wanted.encryptsAssets == head.hasPlainAssets {
                return fail(.hasOtherFiles(areEncrypted: !head.hasPlainAssets))
            }
        }
        return .finish(.ring(ring))
    }

    func fail(_ failure: ZoneRingFailure) -> Action { .finish(.failed(failure)) }
}
