internal import BrumeModel

/// Noticing that records move into another tree with what is below them.
extension CKDatabase {
    /// The zones of a request in which records come into another tree, and not those alone that the request names.
    /// Notes on the disk that there is something to do, so that a device that ends meanwhile goes on with it.
    func noteMoves(
        of part: RecordModification.Part, _ account: AccountBinding, _ options: CallOptions
    ) async -> [CKRecordZone.ID] {
        guard databaseScope == .private else { return [] }
        let zones = account.encryptedZones
        var moved: [CKRecordZone.ID] = []
        for zone in part.zones where zones.knownKeys(zone.id.ringID)?.isPerZone == false {
            guard zone.movesTrees(zones.trees(zone.id.ringID)) else { continue }
            moved.append(zone.id)
            // Without the note another move, or the app, has to begin it.
            try? await zones.noteMoves(zone.id.ringID, for: account, options)
        }
        return moved
    }

    /// Encrypts anew what has come into another tree, in the background.
    func reencryptInBackground(_ zoneID: CKRecordZone.ID, _ account: AccountBinding) {
        let zone = zoneID.ringID
        guard account.encryptedZones.beginReencryption(zone) else { return }
        var options = CallOptions()
        options.priority = .background
        Task(priority: .background) { [options] in
            repeat {
                guard let (_, failures) = try? await reencrypt(zoneID, options) else { continue }
                // What only waits for keys, or for an app that sets a parent, is tried again in the next process.
                if failures.values.contains(where: { $0.code == .accountTemporarilyUnavailable }) { continue }
                await account.encryptedZones.removeMoves(zone, for: account, options)
            } while account.encryptedZones.goesOnReencrypting(zone)
        }
    }

    /// Goes on with what an earlier process has begun in a zone whose values an answer holds. It looks once.
    func resumeReencryption(
        in zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async {
        guard databaseScope == .private,
            await account.encryptedZones.hasUnfinishedMoves(zoneID.ringID, for: account, options)
        else { return }
        reencryptInBackground(zoneID, account)
    }
}

extension OutgoingZone {
    /// Whether records come into another tree with what is below them, as far as is known of trees: a record gets a
    /// parent in another one, or one that has a parent becomes the root of a share, or is none any more.
    ///
    /// - Parameter trees: As they were.
    fileprivate func movesTrees(_ trees: ZoneTrees) -> Bool {
        var after = trees
        after.learnParents(of: self)
        for outgoing in saves {
            if let share = outgoing.record as? CKShare {
                let root = share.details.current.root
                if outgoing.sent.version == nil, !root.isEmpty, after.mayHaveParent(root) { return true }
            } else if outgoing.sent.version != nil, outgoing.sent.parentEdit != nil {
                guard let base = outgoing.sent.base else { return true }
                let (name, parent) = (outgoing.name, outgoing.sent.parent)
                guard case .root(let former) = trees.root(of: name, parent: base.parent),
                    case .root(former) = after.root(of: name, parent: parent)
                else { return true }
            }
        }
        return deletions.contains { id in trees.root(ofShare: id.recordName).map(after.mayHaveParent) ?? false }
    }
}
