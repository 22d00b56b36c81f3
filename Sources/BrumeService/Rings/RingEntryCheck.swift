internal import BrumeEncryption
internal import BrumeModel
internal import BrumeStore

/// Checks that an entry may follow the last one of its ring, as devices do, and the statements that come with it. What
/// is cheap comes first, so that only somebody with a member's keys makes the server read the statements of all.
struct RingEntryCheck {
    private let signed: SignedRingEntry
    private let loaded: LoadedDatabase
    /// The zone's incarnation.
    private let zone: UInt64
    /// The user whose request has the entry, which need not be its author.
    private let bringer: String
    private var intake: RingStatementIntake

    private var entry: RingEntry { signed.entry }
    private var owner: String { loaded.database.id.owner }

    init(_ signed: SignedRingEntry, in loaded: LoadedDatabase, zone: UInt64, broughtBy bringer: String) {
        (self.signed, self.loaded, self.zone, self.bringer) = (signed, loaded, zone, bringer)
        intake = RingStatementIntake(in: loaded, zone: zone)
    }

    /// - Parameters:
    ///   - statements: Those that come with the entry.
    ///   - chain: The ring's end; nil where the entry begins it.
    ///   - shard: Reads what is kept.
    mutating func run(
        _ statements: [SharedBytes], behind chain: RingChain?, on shard: Shard
    ) throws(ServiceError) {
        guard entry.members.allSatisfy({ Names.isUserRecordName($0.user) }) else { throw Self.isNoUser }
        let read = try read(statements)
        try take(read.filter { $0.user == entry.author }, on: shard)
        try checkAuthor(on: shard)
        try take(read.filter { $0.user != entry.author }, on: shard)
        let areNamed = intake.areBegunChains { entry.member(named: $0)?.statementHash }
        guard areNamed else { throw Self.isNotNamed }
        // Whoever writes to one share could otherwise say what keys somebody has in all others of the zone.
        let takesForeign = loaded.ringHeads.testOnly_weaknesses.contains(.takesForeignStatements)
        guard takesForeign || bringer == owner || intake.usersWhoBegin.isSubset(of: [bringer]) else {
            throw Self.isOthers
        }
        let directory = try directory(on: shard)
        do throws(EncryptionRefusal) {
            if var chain {
                try chain.append(signed, statements: directory)
            } else {
                _ = try RingChain(first: signed, of: entry.ring, statements: directory)
            }
        } catch {
            throw Shard.refusal(ofRingEntry: error)
        }
    }

    /// What is kept with the entry: new statements, and the guests whom it takes in wait no more.
    mutating func others(ofRing root: String, on shard: Shard) throws(ServiceError) -> RingOthers {
        var others = intake.others
        others.named = entry.members.map(\.user).filter { $0 != owner }
        for guest in loaded.database.rings.guests(ofZone: zone, root: root) {
            guard let member = entry.member(named: guest.user) else { continue }
            let chains = try shard.readKept("a statement beside a ring") { () throws(EncryptionRefusal) in
                try intake.chains(of: guest.user)
            }
            let isTakenIn = chains.contains {
                $0.keys(of: member.statementHash, areAsNewAs: guest.statementHash)
            }
            if isTakenIn { others.guestsGone.append(guest.user) }
        }
        return others
    }

    // MARK: Statements

    private struct ReadStatement {
        let user: String
        let bytes: SharedBytes
        let signed: SignedStatement
    }

    /// The statements, each of a member other than the owner. The owner's own are there, or they are appended before.
    private func read(_ statements: [SharedBytes]) throws(ServiceError) -> [ReadStatement] {
        var read: [ReadStatement] = []
        for bytes in statements {
            let signed: SignedStatement
            do throws(EncryptionRefusal) {
                signed = try SignedStatement(bytes.array)
            } catch {
                throw Shard.refusal(ofStatementBesideRing: error)
            }
            let scope = signed.statement.scope
            let user = scope.account
            guard scope.container == entry.ring.place.container, scope.environment == entry.ring.place.environment,
                entry.member(named: user) != nil
            else { throw Self.isNoMembers }
            if user == owner {
                guard loaded.database.statements[signed.statement.number] == bytes else { throw Self.isOwners }
                continue
            }
            read.append(ReadStatement(user: user, bytes: bytes, signed: signed))
        }
        return read
    }

    private mutating func take(_ statements: [ReadStatement], on shard: Shard) throws(ServiceError) {
        for statement in statements {
            try shard.take(statement.signed, bytes: statement.bytes, of: statement.user, into: &intake)
        }
    }

    // MARK: Keys

    /// Checks that the entry is signed with its author's newest keys and boxed to them, and that they may write.
    private mutating func checkAuthor(on shard: Shard) throws(ServiceError) {
        let newest: PublicKeys
        if entry.author == owner {
            let statements = loaded.database.statements
            guard let last = statements[statements.last] else { throw Self.hasNoStatement }
            if let known = loaded.ringHeads.knownKeys(of: statements) {
                newest = known.newest
            } else {
                newest = try shard.readKept("the account's statements") { () throws(EncryptionRefusal) in
                    try Statement(kept: last.array).keys
                }
            }
        } else {
            let keys = try shard.readKept("a statement beside a ring") { () throws(EncryptionRefusal) in
                try intake.currentChain(of: entry.author)
            }
            guard let keys else { throw Shard.refusal(ofRingEntry: .brokenChain) }
            newest = keys.newest
        }
        let author = entry.member(named: entry.author)
        do throws(EncryptionRefusal) {
            try signed.checkSignature(by: newest)
        } catch {
            let isNewest = try author.map { author throws(ServiceError) in try areNewest(author, on: shard) } ?? true
            throw isNewest ? Shard.refusal(ofRingEntry: error) : Self.statementIsOld
        }
        let takesReaders = loaded.ringHeads.testOnly_weaknesses.contains(.takesReadersEntries)
        // The last entry still names whoever left or may only read now. Whoever forged the entry is not told. The
        // owner's devices give back what they have of former writers: nobody could go on from there otherwise.
        if entry.author != owner, bringer != owner, !takesReaders,
            !loaded.database.mayWrite(entry.author, inRing: entry.ring.root ?? "", ofZone: zone)
        {
            throw Self.mayNotWrite
        }
        // A device that was added since leaves the keys as they were, so the entry may name the statement before.
        guard let author, try areNewest(author, on: shard) else { throw Self.statementIsOld }
    }

    /// Whether a member's statement has the newest keys of theirs that are known here.
    private mutating func areNewest(_ member: RingMember, on shard: Shard) throws(ServiceError) -> Bool {
        let keys: StatementKeys?
        if member.user == owner {
            keys = try shard.readKept("the account's statements") { () throws(EncryptionRefusal) in
                try loaded.ringHeads.keys(of: loaded.database.statements)
            }
        } else {
            keys = try shard.readKept("a statement beside a ring") { () throws(EncryptionRefusal) in
                try intake.currentChain(of: member.user)
            }
        }
        return keys?.areNewest(ofStatement: member.statementHash) ?? false
    }

    /// The statements of all members, whom the entry names with their newest keys: it would be due at once otherwise.
    private mutating func directory(on shard: Shard) throws(ServiceError) -> StatementDirectory {
        var directory = StatementDirectory()
        var added = Set<String>()
        for member in entry.members where added.insert(member.user).inserted {
            let chains: [StatementKeys]
            if member.user == owner {
                let keys = try shard.readKept("the account's statements") { () throws(EncryptionRefusal) in
                    try loaded.ringHeads.keys(of: loaded.database.statements)
                }
                chains = keys.map { [$0] } ?? []
            } else {
                chains = try shard.readKept("a statement beside a ring") { () throws(EncryptionRefusal) in
                    try intake.chains(of: member.user)
                }
            }
            // What is not known at all the rules refuse.
            let takesOldKeys = loaded.ringHeads.testOnly_weaknesses.contains(.takesOldKeys)
            if !takesOldKeys, chains.contains(where: { $0.has(member.statementHash) }) {
                guard try areNewest(member, on: shard) else { throw Self.memberIsOld }
            }
            for chain in chains { directory.add(chain) }
        }
        return directory
    }

    private static let hasNoStatement = ServiceError(
        .invalidArguments, "the account has no statement yet; append the first one before its rings")
    private static let statementIsOld = ServiceError(
        .serverRecordChanged,
        "the entry is not signed with the keys of its author's newest statement, or boxed to others; fetch the"
            + " statements that are new, and make another one")
    private static let memberIsOld = ServiceError(
        .serverRecordChanged,
        "the entry is boxed to keys of a member that were replaced; fetch the statements that are new, and make another"
            + " one")
    private static let mayNotWrite = ServiceError(
        .permissionFailure,
        "the entry's author takes part no more, or may only read: have a device of the owner's or of a writer's make"
            + " the next entry")
    private static let isNoUser = ServiceError(
        .invalidArguments, "a member of a ring's entry has no user record name; name users as their own devices do")
    private static let isNoMembers = ServiceError(
        .invalidArguments,
        "a statement that came with the entry is of no member of it, or of another container or environment")
    private static let isOwners = ServiceError(
        .invalidArguments, "a statement of the zone's owner came with the entry; append it to the account's before")
    private static let isOthers = ServiceError(
        .invalidArguments,
        "the first statement of another user came with the entry; that user's own devices send it (Rings.Join), or the"
            + " owner's bring it")
    private static let isNotNamed = ServiceError(
        .invalidArguments,
        "a chain of statements that came with the entry has none that the entry names; its own user brings it")
}
