internal import BrumeEncryption
internal import BrumeModel

/// What a person decides about the keys of others.
extension RingPeople {
    /// The ring's owner, its members and those who wait, but the account itself, in the order of their names. Whose
    /// keys the server does not show, or shows damaged, is left out.
    ///
    /// - Parameter known: The ring's last entry, where this device has checked it.
    /// - Throws: What calls to the server throw.
    func shown(_ known: RingEntry?) async throws(CKError) -> [ShownPerson] {
        let (last, news) = try await lastEntry()
        guard let head = known ?? last else { return [] }
        // The keys of those who wait, and of members who have other ones by now, are those that they have now.
        var hashes: [String: [UInt8]?] = [:]
        for member in head.members {
            hashes.updateValue(news.renewed.contains(member.user) ? nil : member.statementHash, forKey: member.user)
        }
        let waiting = Set(news.guests.map(\.user))
        for guest in news.guests { hashes[guest.user] = guest.statementHash }
        hashes[folder.place.scope.account] = nil
        guard hashes.count <= KeyLimits.peopleMax else {
            throw ZoneRingFailure.malformed("a ring has more members than a device keeps in mind")
                .error(ring)
        }
        var people: [ShownPerson] = []
        var room = KeyLimits.peopleBytesMax
        for (user, hash) in hashes.sorted(by: { $0.key < $1.key }) where Names.isUserRecordName(user) {
            guard let signed = try await statements(of: user, room: &room),
                let statements = ShownStatements(signed, of: PersonFile.scope(of: user, folder.place)).chain(
                    named: hash)
            else { continue }
            let known = try await load(user).known
            let isSame = known.map { $0.following(statements.signed) != nil }
            people.append(
                ShownPerson(
                    statements: statements, trust: isSame == true ? known?.trust : nil, isOther: isSame == false,
                    isMember: head.member(named: user).map { statements.chain.statement(of: $0.statementHash) != nil }
                        ?? false, isWaiting: waiting.contains(user)))
        }
        return people
    }

    /// Takes what a person has compared for a user's statements, whatever was known before.
    func trust(_ shown: KnownStatements) async throws(CKError) {
        let user = shown.chain.last.scope.account
        for _ in 0..<KeyLimits.attemptsMax {
            let loaded = try await load(user)
            var next = loaded.known?.following(shown.signed) ?? shown
            next.confirm(.compared)
            if next == loaded.known { return }
            let (folder, kept) = (folder, next)
            let written = try await folders.use(folder) { () throws(KeyFolderProblem) in
                try folder.writePerson(kept, over: loaded.head)
            }
            if written != nil { return }
        }
        throw ZoneRingFailure.busy.error(ring)
    }

    /// Remembers that a link proved whose keys the zone's owner has.
    func confirmOwner(by link: LinkFragment) async throws(CKError) {
        for _ in 0..<KeyLimits.attemptsMax {
            let loaded = try await load(ring.owner)
            guard var known = loaded.known, known.trust < .link, link.isOf(known.chain) else { return }
            known.confirm(.link)
            let (folder, kept) = (folder, known)
            let written = try await folders.use(folder) { () throws(KeyFolderProblem) in
                try folder.writePerson(kept, over: loaded.head)
            }
            if written != nil { return }
        }
    }

    /// The ring's last entry as the server shows it, checked by nobody; nil where there is no ring.
    private func lastEntry() async throws(CKError) -> (RingEntry?, RingNews) {
        let failure: ZoneRingFailure
        var fetch = RingFetch()
        var rounds = 0
        while true {
            switch fetch.pageCame(try await page(after: fetch.after)) {
            case .ask: continue
            case .complete: return (fetch.shown.last?.entry, fetch.news)
            case .beginAgain:
                rounds += 1
                guard rounds < KeyLimits.roundsMax else { throw ZoneRingFailure.busy.error(ring) }
                fetch = RingFetch()
                continue
            case .unreadable(.newer): failure = .newer
            case .unreadable: failure = .malformed("the zone's ring has an entry that no device has made")
            case .malformed(let reason): failure = .malformed(reason)
            }
            throw failure.error(ring)
        }
    }
}
