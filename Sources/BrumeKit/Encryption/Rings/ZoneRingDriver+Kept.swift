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
            let isOwnDoing = isOwnDoing || kept.deletionIsAsked
            if kept.isOver, kept.wasDeletedHere || !isOwnDoing { return false }
            kept.isOver = true
            kept.wasDeletedHere = kept.wasDeletedHere || isOwnDoing
            kept.deletionIsAsked = false
            return true
        }
    }

    /// Remembers that the server is asked to delete a zone. What it answers takes nothing back: it may have done it.
    func noteDeletion(of ring: ZoneRingID, for account: AccountBinding) async throws(CKError) {
        try await change(ring, for: account) { kept in
            if kept.deletionIsAsked { return false }
            kept.deletionIsAsked = true
            return true
        }
    }

    /// Remembers what the app has decided about a ring's members.
    ///
    /// - Returns: The removal's id, and those members of the ring, as it is known, who go by it and not by another one;
    ///   nil where nothing is kept of a ring that is not known.
    func noteRemoval(
        _ departures: Departures, of ring: ZoneRingID, for account: AccountBinding
    ) async throws(CKError) -> (id: UInt64, users: Set<String>)? {
        let user = try await folders.folder(of: account).place.scope.account
        let id = UInt64.random(in: 0 ... .max)
        var users: Set<String>?
        try await change(ring, for: account, alsoUnknown: departures.areOfUnknownRings) { kept in
            let removal = PendingRemoval(id: id, departures, isAtOnce: kept.known != nil && ring.owner.isEmpty)
            let members = kept.known?.chain.head.members.filter { $0.role != .owner }.map(\.user) ?? []
            users = Set(
                members.filter { removal.takesOut($0) && !kept.isToGo($0) && !$0.hasBytes(of: user) })
            kept.note(removal)
            return true
        }
        return users.map { (id, $0) }
    }

    /// What was to take people out did not happen.
    func forgetRemoval(_ id: UInt64, of ring: ZoneRingID, for account: AccountBinding) async throws(CKError) {
        try await change(ring, for: account, alsoUnknown: true) { kept in
            guard let index = kept.removals.firstIndex(where: { $0.id == id }) else { return false }
            kept.removals.remove(at: index)
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
