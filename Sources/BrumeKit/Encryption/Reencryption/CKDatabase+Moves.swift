internal import BrumeEncryption
internal import BrumeModel

/// Noticing that records come into a shared tree with what is below them.
extension CKDatabase {
    /// Whether what is below records of a request comes into shared trees, in a zone with keys for its records.
    func movesIntoShares(_ zone: OutgoingZone, _ account: AccountBinding) -> Bool {
        databaseScope == .private && zone.movesIntoShares
            && account.encryptedZones.knownKeys(zone.id.ringID)?.isPerZone == false
    }

    /// Encrypts anew what has come into shared trees of a zone, in the background.
    func reencryptInBackground(_ zoneID: CKRecordZone.ID, _ account: AccountBinding) {
        let zone = zoneID.ringID
        guard account.encryptedZones.withMovedZones({ $0.begin(zone) }) else { return }
        var options = CallOptions()
        options.priority = .background
        // Whatever the container's account is by then.
        let database = CKDatabase(core: ContainerCore(boundTo: account, of: core), scope: databaseScope)
        Task(priority: .background) { [options] in
            var outcome: MovedZones.Outcome
            repeat {
                // A person moves more than one thing at a time.
                try? await Task.sleep(for: .milliseconds(Self.pauseMilliseconds))
                do throws(CKError) {
                    outcome = try await database.reencrypt(zoneID, believesStamps: false, options).outcome
                } catch {
                    outcome = .hasFailed
                }
                let now = account.configuration.clock.nowMilliseconds
                let ended = outcome
                guard account.encryptedZones.withMovedZones({ $0.goesOn(zone, after: ended, at: now) }) else { break }
            } while true
        }
    }

    private static let pauseMilliseconds = 300

    /// Goes on with what is left to do in a zone whose records an answer holds: what an earlier process has begun, what
    /// failed a while ago, and what another device has moved.
    func resumeReencryption(
        in zoneID: CKRecordZone.ID, _ records: [Record], _ account: AccountBinding, _ options: CallOptions
    ) async {
        guard databaseScope == .private else { return }
        let (zones, zone) = (account.encryptedZones, zoneID.ringID)
        if await zones.takeDueMoves(zone, for: account, options) { return reencryptInBackground(zoneID, account) }
        let now = account.configuration.clock.nowMilliseconds
        guard zones.withMovedZones({ $0.mayBegin(zone, at: now) }), let keys = zones.knownKeys(zone), !keys.isPerZone
        else { return }
        let trees = zones.trees(zone)
        let roots = trees.sharedRoots
        if roots.isEmpty { return }
        let ids = Dictionary(roots.map { ($0, Tree(place: keys.place, root: $0, kind: .isShared).id) }) { $1 }
        let isMisplaced = records.contains { record in
            guard case .root(let root) = trees.root(of: record.system.name, parent: record.system.parent),
                let id = ids[root]
            else { return false }
            let ring = zones.knownKeys(ZoneRingID(zone: zoneID.zoneName, root: root))
            return record.valueHeaders.contains { $0.treeID != id || ring?.keepsFromGuests($0) == true }
        }
        if isMisplaced { reencryptInBackground(zoneID, account) }
    }
}

extension OutgoingZone {
    /// The new parents of records that don't come into a shared tree with what is below them; nil for none.
    var parentsElsewhere: [String: String?] {
        if saves.contains(where: \.isEncryptedAnew) { return [:] }
        let others = saves.filter { $0.sent.parentEdit != nil && !$0.keepsParent && moved[$0.name] == nil }
        return Dictionary(others.map { ($0.name, $0.sent.parent) }) { $1 }
    }

    /// Whether what is below its records may come into a shared tree: some are moved, or a record is shared.
    fileprivate var movesIntoShares: Bool {
        if saves.contains(where: \.isEncryptedAnew) { return false }
        return !moved.isEmpty
            || saves.contains { outgoing in
                (outgoing.record as? CKShare).map { outgoing.sent.version == nil && !$0.details.current.root.isEmpty }
                    ?? false
            }
    }

    /// A record that is being sealed, if it comes into a shared tree from another one, as far as anybody knows.
    ///
    /// - Parameters:
    ///   - root: Of the tree that it is in from now on.
    ///   - fetched: The record as the server has it, where it was fetched for that.
    ///   - hasOthers: Whether some of its values are of another tree.
    ///   - trees: As they were.
    ///   - tree: The one that it is in from now on.
    func move(
        of outgoing: OutgoingRecord, below root: String, fetched: Record?, hasOthers: Bool, _ trees: ZoneTrees,
        in tree: Tree, _ policy: SavePolicy
    ) -> Move? {
        let (name, parent) = (outgoing.name, outgoing.sent.parent)
        guard let parent, root != name, outgoing.sent.parentEdit != nil || policy == .allKeys, !outgoing.keepsParent
        else { return nil }
        // A new record has nothing below it.
        if outgoing.sent.version == nil, policy == .ifServerRecordUnchanged { return nil }
        let former = fetched.map { $0.system.parent } ?? trees.parent(of: name)
        let walk = former.map { trees.root(of: name, parent: $0) }
        if !hasOthers, former == .some(parent) || walk == .root(root) { return nil }
        // A record without values says nothing of the tree that it left.
        let left = outgoing.sent.encrypted.openedTreeIDs.subtracting([tree.id])
        return Move(parent: parent, formerTreeIDs: left.sorted { $0.lexicographicallyPrecedes($1) })
    }
}
