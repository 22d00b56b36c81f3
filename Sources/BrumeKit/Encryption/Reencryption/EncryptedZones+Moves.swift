/// The account's own zones in which records are to be encrypted anew.
extension EncryptedZones {
    /// A save begins that moves records into shared trees: notes on the disk which, and that there is something to do.
    /// Without the note another move, or the app, has to begin it.
    func saveBegins(
        moving moved: [String: String], in zone: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async {
        withMovedZones { $0.saveBegins(in: zone) }
        try? await noteTurns.run { () async throws(CKError) in
            let folder = try await account.keyFolders.folder(of: account, options)
            for _ in 0..<KeyLimits.attemptsMax {
                let noted = await notedMoves(zone, for: account, options)
                let all = noted.moved.merging(moved) { $1 }
                let isWritten = try await account.keyFolders.use(folder) { () throws(KeyFolderProblem) in
                    try folder.writeMoves(all, zone.zone, over: noted.head)
                }
                if isWritten { return }
            }
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

    /// All of a zone was encrypted anew that was to be when this was noted: it goes, unless something has moved since.
    func forgetMoves(
        _ noted: KeyFolder.NotedMoves, _ zone: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async {
        guard let head = noted.head else { return }
        try? await noteTurns.run { () async throws(CKError) in
            guard withMovedZones({ $0.mayForget(zone) }) else { return }
            let folder = try await account.keyFolders.folder(of: account, options)
            _ = try await account.keyFolders.use(folder) { () throws(KeyFolderProblem) in
                try folder.removeMoves(zone.zone, over: head)
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
