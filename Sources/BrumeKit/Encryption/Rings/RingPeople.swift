internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol

/// What this device knows of the members of a ring, and what a server shows of them.
struct RingPeople: Sendable {
    let folders: KeyFolderAccess
    let folder: KeyFolder
    let ring: ZoneRingID
    let account: AccountBinding
    let options: CallOptions

    /// Those whom a kept ring names, as this device keeps them.
    func known(of kept: KeptRing) async throws(CKError) -> [KnownStatements] {
        guard let known = kept.known else { return [] }
        var users: Set<String> = []
        for branch in [known.chain] + known.endedBranches {
            for signed in branch.entries { users.formUnion(signed.entry.members.map(\.user)) }
        }
        users.remove(folder.place.scope.account)
        var people: [KnownStatements] = []
        for user in users.sorted() {
            if let person = try await load(user).known { people.append(person) }
        }
        return people
    }

    /// What a server shows of users.
    struct Met: Sendable {
        /// All chains of their statements: of those who began anew the former ones, too, which entries may name.
        var all: [KnownStatements] = []
        /// The one chain of each user that counts.
        var known: [KnownStatements] = []
        /// Those of whom the server shows others than this device knows, or none that hold.
        var strangers: Set<String> = []
    }

    /// Fetches the statements of users, and compares them with what this device keeps of each. Keeps nothing yet.
    ///
    /// - Parameter hashes: Of somebody who is not known a chain counts that has one of these.
    func meet(_ users: [String], named hashes: Set<[UInt8]>) async throws(CKError) -> Met {
        var met = Met()
        for user in users {
            guard let (others, person) = try await meet(user, named: hashes) else {
                met.strangers.insert(user)
                continue
            }
            // What is known last counts. There is one chain of a zone's owner.
            met.all += user == ring.owner ? [person] : others + [person]
            met.known.append(person)
        }
        return met
    }

    /// Keeps what is known of the members of a ring that is kept: nobody is known by what no ring says of them.
    func keep(_ people: [KnownStatements], of ring: KeptRing) async throws(CKError) {
        guard let head = ring.known?.chain.head else { return }
        for person in people {
            let user = person.chain.last.scope.account
            guard user != folder.place.scope.account, head.member(named: user) != nil else { continue }
            for _ in 0..<KeyLimits.attemptsMax {
                let loaded = try await load(user)
                var kept = loaded.known ?? person
                if let known = loaded.known {
                    guard let meeting = try? kept.meet(person.signed), meeting.follows, kept != known else { break }
                }
                let (folder, next) = (folder, kept)
                let written = try await folders.use(folder) { () throws(KeyFolderProblem) in
                    try folder.writePerson(next, over: loaded.head)
                }
                if written != nil { break }
            }
        }
    }

    /// The account's own signed statements.
    func ownStatements() async throws(CKError) -> [SharedBytes] {
        let folder = folder
        let loaded = try await folders.use(folder) { () throws(KeyFolderProblem) in try folder.load() }
        return (loaded.kept.known?.signed ?? []).map { SharedBytes($0.bytes) }
    }

    /// The chains of a user's statements, apart the one that this device keeps, or that is named; nil where the server
    /// shows none of these.
    private func meet(
        _ user: String, named hashes: Set<[UInt8]>
    ) async throws(CKError) -> (others: [KnownStatements], person: KnownStatements)? {
        let scope = IdentityScope(
            account: user, container: folder.place.scope.container, environment: folder.place.scope.environment)
        let shown = try await statements(of: user).map { Self.chains(of: $0) } ?? []
        let chains = shown.compactMap { try? KnownStatements($0, of: scope, trust: .seen) }
        guard chains.count == shown.count else { return nil }
        var person = chains.last { chain in hashes.contains { chain.chain.statement(of: $0) != nil } }
        if let known = try await load(user).known {
            person = nil
            for entries in shown {
                var met = known
                if let meeting = try? met.meet(entries), meeting.follows { person = met }
            }
        }
        guard let person else { return nil }
        return (chains.filter { $0.chain.first.hash != person.chain.first.hash }, person)
    }

    /// Statements as the server has them one after the other, each put behind the one that it names.
    private static func chains(of statements: [SignedStatement]) -> [[SignedStatement]] {
        var chains: [[SignedStatement]] = []
        for signed in statements {
            let index = chains.firstIndex { $0.last?.statement.hash == signed.statement.previousHash }
            if let index { chains[index].append(signed) } else { chains.append([signed]) }
        }
        return chains
    }

    private func load(_ user: String) async throws(CKError) -> KeyFolder.LoadedPerson {
        let folder = folder
        return try await folders.use(folder) { () throws(KeyFolderProblem) in try folder.loadPerson(user) }
    }

    /// All statements of a user that the server has beside the zone's rings; nil where they are none.
    private func statements(of user: String) async throws(CKError) -> [SignedStatement]? {
        var shown: [SignedStatement] = []
        var byteCount = 0
        let isOwner = user == ring.owner
        let bytesMax = isOwner ? KeyLimits.statementBytesMax : 2 * Limits.ringStatementBytesPerUser
        let countMax = isOwner ? KeyLimits.statementsMax : 2 * Limits.ringStatementsPerUser
        while true {
            let request = FetchRingStatementsRequest(zone: ring.zoneID, user: user, after: UInt32(shown.count))
            let page = try await account.call(.ringsFetchStatements, options: options) { coder in
                coder.encodeFetchRingStatementsRequest(request)
            } decode: { (coder, bytes) throws(ServiceError) in
                try coder.decodeFetchRingStatementsResponse(bytes)
            }
            for bytes in page.statements {
                byteCount += bytes.count
                guard let signed = try? SignedStatement(bytes.array), shown.count < countMax, byteCount <= bytesMax
                else { return nil }
                shown.append(signed)
            }
            if shown.count >= Int(page.last) || page.statements.isEmpty { return shown.isEmpty ? nil : shown }
        }
    }
}

extension KnownStatements.Meeting {
    /// Whether what was shown is what was known, or a part of it, or goes on from it.
    fileprivate var follows: Bool {
        switch self {
        case .same, .extended, .behind: true
        case .forked: false
        }
    }
}
