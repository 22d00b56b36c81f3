/// The account's own zones in which records are to be encrypted anew.
extension EncryptedZones {
    /// Notes on the disk that something moves in a zone.
    func noteMoves(
        _ zone: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        guard withMovedZones({ $0.isUnnoted(zone) }) else { return }
        let folder = try await account.keyFolders.folder(of: account, options)
        _ = try await account.keyFolders.use(folder) { () throws(KeyFolderProblem) in try folder.noteMoves(zone.zone) }
        withMovedZones { $0.note(zone) }
    }

    /// Nothing is left to do in a zone, unless something has moved meanwhile.
    func removeMoves(_ zone: ZoneRingID, for account: AccountBinding, _ options: CallOptions) async {
        guard withMovedZones({ !$0.isWantedAgain(zone) }),
            let folder = try? await account.keyFolders.folder(of: account, options)
        else { return }
        _ = try? await account.keyFolders.use(folder) { () throws(KeyFolderProblem) in
            try folder.removeMoves(zone.zone)
        }
    }

    /// Whether an earlier process has left something to do in a zone. It says so once.
    func hasUnfinishedMoves(
        _ zone: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async -> Bool {
        guard withMovedZones({ $0.isFirstLook(zone) }) else { return false }
        return (try? await account.keyFolders.folder(of: account, options))?.hasMoves(zone.zone) ?? false
    }

    func beginReencryption(_ zone: ZoneRingID) -> Bool { withMovedZones { $0.begin(zone) } }

    func goesOnReencrypting(_ zone: ZoneRingID) -> Bool { withMovedZones { $0.goesOn(zone) } }
}
