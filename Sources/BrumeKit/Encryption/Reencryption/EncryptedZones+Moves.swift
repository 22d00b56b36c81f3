/// The account's own zones in which records are to be encrypted anew.
extension EncryptedZones {
    /// A save begins that moves records into shared trees: notes on the disk which, and that there is something to do.
    /// Without the note another move, or the app, has to begin it.
    func saveBegins(
        moving moved: [String: Move], in zone: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async {
        withMovedZones { $0.saveBegins(in: zone) }
        try? await note(zone, for: account, options) { noted in
            noted.merge(moved) { $1.following($0) }
        }
    }

    func saveEnds(in zone: ZoneRingID, for account: AccountBinding) {
        let now = account.configuration.clock.nowMilliseconds
        withMovedZones { $0.saveEnds(in: zone, at: now) }
    }

    /// What is noted of a zone; nothing where that can't be read.
    func notedMoves(
        _ zone: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async -> KeyFolder.NotedMoves {
        guard let folder = try? await account.keyFolders.folder(of: account, options), folder.hasMoves(zone.zone),
            let noted = try? await account.keyFolders.use(
                folder, { () throws(KeyFolderProblem) in try folder.loadMoves(zone.zone) })
        else { return KeyFolder.NotedMoves() }
        return noted
    }

    /// A save is about to put records elsewhere: what comes below them from then on has not come with them. Where the
    /// save fails, what moved before has to be set below its parent again. A note that can't be changed ends with the
    /// next look at the zone.
    ///
    /// - Parameter parents: Of each record the one that it gets; nil for none.
    func forgetMoves(
        of parents: [String: String?], in zone: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async {
        if parents.isEmpty { return }
        // Somebody may have read it already.
        withMovedZones { $0.movesEnd(of: parents.keys, in: zone) }
        guard (try? await account.keyFolders.folder(of: account, options))?.hasMoves(zone.zone) == true else { return }
        try? await note(zone, for: account, options) { noted in
            for (name, parent) in parents where noted[name].map({ $0.parent != parent }) == true { noted[name] = nil }
        }
    }

    /// Changes what is noted of a zone.
    private func note(
        _ zone: ZoneRingID, for account: AccountBinding, _ options: CallOptions,
        _ change: @Sendable (inout [String: Move]) -> Void
    ) async throws(CKError) {
        try await noteTurns.run { () async throws(CKError) in
            let folder = try await account.keyFolders.folder(of: account, options)
            for _ in 0..<KeyLimits.attemptsMax {
                let noted = await notedMoves(zone, for: account, options)
                var all = noted.moved
                change(&all)
                let isWritten = try await account.keyFolders.use(folder) { [all] () throws(KeyFolderProblem) in
                    try folder.writeMoves(all, zone.zone, over: noted.head)
                }
                if isWritten { return }
            }
        }
    }

    /// All of a zone was encrypted anew that can be by what was noted: that goes, unless something has moved since.
    ///
    /// - Parameter isDone: Whether nothing is left. Else it stays noted that there is something, but not what has
    ///   moved: it would count for whatever comes below these records later.
    func forgetMoves(
        _ noted: KeyFolder.NotedMoves, isDone: Bool, _ zone: ZoneRingID, for account: AccountBinding,
        _ options: CallOptions
    ) async {
        guard let head = noted.head else { return }
        try? await noteTurns.run { () async throws(CKError) in
            guard withMovedZones({ $0.mayForget(zone) }) else { return }
            let folder = try await account.keyFolders.folder(of: account, options)
            _ = try await account.keyFolders.use(folder) { () throws(KeyFolderProblem) in
                isDone
                    ? try folder.removeMoves(zone.zone, over: head)
                    : try folder.writeMoves([:], zone.zone, over: head)
            }
        }
    }

    /// Whether a zone is to be gone over by now: an earlier process has left something to do, or this one.
    func takeDueMoves(_ zone: ZoneRingID, for account: AccountBinding, _ options: CallOptions) async -> Bool {
        let now = account.configuration.clock.nowMilliseconds
        switch withMovedZones({ $0.takeDue(zone, at: now) }) {
        case .begin: return true
        case .lookAtNote:
            return (try? await account.keyFolders.folder(of: account, options))?.hasMoves(zone.zone) ?? false
        case nil: return false
        }
    }
}
