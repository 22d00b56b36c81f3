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
        var people: [KnownStatements] = []
        for user in users(named: kept).sorted() {
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
        var room = KeyLimits.peopleBytesMax
        for user in users {
            guard let meeting = try await meet(user, named: hashes, room: &room) else {
                met.strangers.insert(user)
                continue
            }
            // What is told last counts.
            met.all += meeting.others + [meeting.person]
            met.known.append(meeting.person)
        }
        return met
    }

    /// The others whom a kept ring has ever named: without their statements no server takes its entries back.
    private func users(named ring: KeptRing) -> Set<String> {
        guard let known = ring.known else { return [] }
        var users: Set<String> = []
        for branch in [known.chain] + known.endedBranches {
            for signed in branch.entries { users.formUnion(signed.entry.members.map(\.user)) }
        }
        users.remove(folder.place.scope.account)
        return users
    }

    /// Keeps what is known of those whom a ring that is kept names: nobody is known by what no ring says of them.
    func keep(_ people: [KnownStatements], of ring: KeptRing) async throws(CKError) {
        if people.isEmpty { return }
        let named = users(named: ring)
        for person in people {
            let user = person.chain.last.scope.account
            guard named.contains(user) else { continue }
            for _ in 0..<KeyLimits.attemptsMax {
                let loaded = try await load(user)
                var kept = person
                if let known = loaded.known {
                    guard let next = known.following(person.signed), next != known else { break }
                    kept = next
                }
                let (folder, next) = (folder, kept)
                let written = try await folders.use(folder) { () throws(KeyFolderProblem) in
                    try folder.writePerson(next, over: loaded.head)
                }
                if written != nil {
                    account.encryptedZones.peopleHaveChanged()
                    break
                }
            }
        }
    }

    /// The account's own statements; nil where it has none.
    func own() async throws(CKError) -> KnownStatements? {
        let folder = folder
        return try await folders.use(folder) { () throws(KeyFolderProblem) in try folder.load() }.kept.known
    }

    /// A page of the ring's entries behind a number, with what the server says beside them.
    func page(after number: UInt32) async throws(CKError) -> RingPage {
        let request = FetchRingRequest(zone: ring.zoneID, root: ring.root, after: number)
        return try await account.call(.ringsFetch, options: options) { coder in
            coder.encodeFetchRingRequest(request)
        } decode: { (coder, bytes) throws(ServiceError) in
            try coder.decodeFetchRingResponse(bytes)
        }
    }

    /// What is known of a user once it is compared with what the server shows; nil for a stranger.
    private func meet(
        _ user: String, named hashes: Set<[UInt8]>, room: inout Int
    ) async throws(CKError) -> ShownStatements.Meeting? {
        guard let statements = try await statements(of: user, room: &room) else { return nil }
        let scope = PersonFile.scope(of: user, folder.place)
        return ShownStatements(statements, of: scope).meet(
            try await load(user).known, named: hashes, isOwner: user == ring.owner)
    }

    func load(_ user: String) async throws(CKError) -> KeyFolder.LoadedPerson {
        let folder = folder
        return try await folders.use(folder) { () throws(KeyFolderProblem) in try folder.loadPerson(user) }
    }

    /// All statements of a user that the server has beside the zone's rings; nil where they are none.
    ///
    /// - Parameter room: Bytes that those of others than the owner may have; what these have is taken from it.
    func statements(of user: String, room: inout Int) async throws(CKError) -> [SignedStatement]? {
        var shown: [SignedStatement] = []
        var byteCount = 0
        let isOwner = user == ring.owner
        defer { if !isOwner { room -= byteCount } }
        let bytesMax = isOwner ? KeyLimits.statementBytesMax : min(room, 2 * Limits.ringStatementBytesPerUser)
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
