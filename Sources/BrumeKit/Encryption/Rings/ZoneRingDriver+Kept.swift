internal import BrumeEncryption

/// What a device keeps of rings, read and changed without a look at the server.
extension ZoneRingDriver {
    /// What is kept of a ring.
    func kept(_ ring: ZoneRingID, for account: AccountBinding) async throws(CKError) -> KeptRing {
        let folder = try await folders.folder(of: account)
        return try await load(ring.place(in: folder), in: folder).kept
    }

    /// The head of a ring's file as it is on the disk now; nil where there is none.
    func fileHead(of ring: ZoneRingID, for account: AccountBinding) async throws(CKError) -> [UInt8]? {
        let folder = try await folders.folder(of: account)
        let place = ring.place(in: folder)
        return try await folders.use(folder) { () throws(KeyFolderProblem) in .done(try folder.ringHead(at: place)) }
    }

    /// What is kept of a zone that somebody else shares.
    func othersZone(_ zone: ZoneRingID, for account: AccountBinding) async throws(CKError) -> OthersZone {
        let folder = try await folders.folder(of: account)
        let place = zone.zones.place(in: folder)
        return try await folders.use(folder) { () throws(KeyFolderProblem) in try folder.loadOthersZone(place) }
    }

    /// Remembers that a zone was deleted, as far as is known.
    ///
    /// - Parameter isOwnDoing: Whether this device has deleted it: what was shared there stays so for nobody.
    func zoneWasDeleted(
        _ ring: ZoneRingID, isOwnDoing: Bool, for account: AccountBinding
    ) async throws(CKError) {
        try await change(ring, for: account) { kept in
            if kept.isOver, kept.wasDeletedHere || !isOwnDoing { return false }
            kept.isOver = true
            kept.wasDeletedHere = kept.wasDeletedHere || isOwnDoing
            return true
        }
    }

    /// Remembers that members of a ring are to go. Of one that is not known here those are remembered who are named.
    ///
    /// - Returns: Those who are, and were not to go before.
    func noteGoers(
        _ departures: Departures, of ring: ZoneRingID, for account: AccountBinding
    ) async throws(CKError) -> Set<String> {
        let user = try await folders.folder(of: account).place.scope.account
        var noted: Set<String> = []
        try await change(ring, for: account, alsoUnknown: !departures.named.isEmpty) { kept in
            var goers = departures.named
            if let head = kept.known?.chain.head {
                let members = head.members.filter { $0.role != .owner }.map(\.user)
                goers = Set(members).subtracting(departures.staying)
            }
            noted = Set(goers.subtracting(kept.goers).subtracting([user]).prefix(KeyLimits.ringMembersMax))
            kept.goers.formUnion(noted)
            return !noted.isEmpty
        }
        return noted
    }

    /// They stay: what was to take them out did not happen.
    func forgetGoers(_ users: Set<String>, of ring: ZoneRingID, for account: AccountBinding) async throws(CKError) {
        try await change(ring, for: account) { kept in
            if kept.goers.isDisjoint(with: users) { return false }
            kept.goers.subtract(users)
            return true
        }
    }

    /// Changes what is kept of a ring that is known.
    ///
    /// - Parameters:
    ///   - alsoUnknown: Whether something is kept as well of one of which nothing is known.
    ///   - body: Whether it has changed anything; it may be asked again.
    private func change(
        _ ring: ZoneRingID, for account: AccountBinding, alsoUnknown: Bool = false,
        _ body: (inout KeptRing) -> Bool
    ) async throws(CKError) {
        let folder = try await folders.folder(of: account)
        let place = ring.place(in: folder)
        for _ in 0..<KeyLimits.attemptsMax {
            let loaded = try await load(place, in: folder)
            var kept = loaded.kept
            guard kept.known != nil || alsoUnknown, body(&kept) else { return }
            if try await write(kept, place, over: loaded.head, in: folder) != nil { return }
        }
        throw ZoneRingFailure.busy.error(ring)
    }
}
