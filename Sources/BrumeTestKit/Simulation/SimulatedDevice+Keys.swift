internal import BrumeKit
internal import BrumeModel
internal import BrumeRandom

/// Which keys a device encrypts with: the newest of each zone's ring, as far as it was told.
extension SimulatedDevice {
    /// What the values and the stamp of a save are encrypted with; nil for a save without any.
    ///
    /// A device that knows of no ring, or that is told that the keys changed, fetches it. Now and then one encrypts
    /// with a key that is not the newest, or a tree's that has no ring: the server has to refuse that.
    func randomHeader(in zone: String) -> EncryptedHeader? {
        let trees = replica.treeKeys[zone] ?? [:]
        if let root = trees.keys.sorted().randomElement(using: &generator), generator.oneIn(2) {
            var key = trees[root]!
            if generator.oneIn(24) {
                key = EncryptedHeader(treeID: key.treeID, isShared: true, keyNumber: key.keyNumber + 1)
            }
            return key
        }
        guard let number = replica.keyNumbers[zone] else {
            guard generator.oneIn(40) else { return nil }
            return header(1, isShared: false)
        }
        if generator.oneIn(3) { return nil }
        if generator.oneIn(24) { return header(number, isShared: true) }
        let history = simulation.history
        // Some values are of the tree that their record is in, or comes into later.
        if generator.oneIn(2),
            let tree = history.tree(of: generator.pick(Self.recordNames), in: timeline.states.last!.rings(of: zone))
        {
            return EncryptedHeader(treeID: tree, isShared: false, keyNumber: number)
        }
        return header(generator.oneIn(24) ? generator.pick([1, number + 1]) : number, isShared: false)
    }

    private func header(_ number: UInt32, isShared: Bool) -> EncryptedHeader {
        EncryptedHeader(
            treeID: .init(high: generator.next(), low: generator.next()), isShared: isShared, keyNumber: number)
    }

    /// What whoever takes part in another's zone was told of its key by those who let them in.
    func learnKey(ofShared zone: ZoneID) {
        let key = Self.key(zone)
        // Those with whom single records are shared have no key of the zone, and sometimes try all the same.
        guard shared.zones[zone]?.records[Names.zoneShare] != nil || generator.oneIn(8) else {
            return replica.keyNumbers[key] = nil
        }
        if generator.oneIn(4) { return }
        let ring = simulation.history[simulation.privateDatabase(of: zone.owner)].states.last!.ring(of: zone.name)
        replica.keyNumbers[key] = ring.isEmpty ? nil : UInt32(ring.count)
    }

    /// Checks a refusal of a save for its keys against what the server had since the save was sent.
    func checkRefusal(
        ofKeys error: ServiceError, _ save: RecordSave<DecodedFields>,
        of modification: ZoneModification<DecodedFields>, meant: OperationRequest, since sight: CommitHistory.Sight
    ) {
        if error.code == .accountTemporarilyUnavailable, error.detail == .none {
            return checkRefusal(ofPlainAssets: error, save, in: modification.zone.name, meant: meant, since: sight)
        }
        if error.detail == .fieldEncrypted {
            return checkRefusal(ofTaking: error, save, in: modification.zone.name, meant: meant, since: sight)
        }
        guard error.detail == .keysChanged else { return }
        simulation.report.keysRefused += 1
        if error.code != .accountTemporarilyUnavailable || error.message.isEmpty {
            simulation.violated("I17: a save is refused for its keys with \(error.code): \(error.message)")
        }
        let zone = modification.zone.name
        let timeline = simulation.history[meant.database]
        // What was answered before a backup was restored is remembered, and what led to it may be lost.
        guard timeline.isOfThisEra(sight) else { return }
        let headers = CommitHistory.headers(of: save)
        var (hasDeparture, isOfZone) = (false, false)
        let isExplained = timeline.wasTrue(since: timeline.start(of: sight)) { state in
            let problems = headers.compactMap {
                simulation.history.problem(with: $0, in: zone, of: state, for: meant.participant)
            }
            hasDeparture = problems.contains(.isDeparted)
            isOfZone = problems.isEmpty && simulation.history.bringsZoneKey(save, into: zone, of: state)
            return !problems.isEmpty || isOfZone
                || !simulation.history.endsRing(modification.ringEntryHash, of: zone, in: state)
        }
        if hasDeparture { simulation.report.departuresRefused += 1 }
        if isOfZone { simulation.report.zoneKeysRefused += 1 }
        if !isExplained {
            simulation.violated("I17: \(save.name) is refused, and is of the newest key: \(error.message)")
        }
    }

    /// Checks a refusal of a save for its plain assets: since it was sent, the zone had a ring whose assets are
    /// encrypted, and with it a version of the record that lacks one of them.
    private func checkRefusal(
        ofPlainAssets error: ServiceError, _ save: RecordSave<DecodedFields>, in zone: String, meant: OperationRequest,
        since sight: CommitHistory.Sight
    ) {
        simulation.report.plainAssetsRefused += 1
        let timeline = simulation.history[meant.database]
        guard timeline.isOfThisEra(sight) else { return }
        let fields = save.fields.compactMapValues(\.self)
        let isExplained = timeline.wasTrue(since: timeline.start(of: sight)) { state in
            save.type != Names.shareType && simulation.history.encryptsAssets(zone, state)
                && simulation.history.newPlainAsset(in: fields, over: state.zones[zone]?.records[save.name]) != nil
        }
        if !isExplained {
            simulation.violated("A6: \(save.name) is refused, and has no plain asset that is new: \(error.message)")
        }
    }

    /// Checks a refusal of a save for what it takes away: since it was sent, that was encrypted, and the save does not
    /// say that its device has the keys.
    private func checkRefusal(
        ofTaking error: ServiceError, _ save: RecordSave<DecodedFields>, in zone: String, meant: OperationRequest,
        since sight: CommitHistory.Sight
    ) {
        simulation.report.takingRefused += 1
        let timeline = simulation.history[meant.database]
        guard timeline.isOfThisEra(sight) else { return }
        let isExplained = timeline.wasTrue(since: timeline.start(of: sight)) { state in
            CommitHistory.encryptedKey(takenBy: save, of: state.zones[zone]?.records[save.name]) != nil
        }
        if save.replacesEncrypted || !isExplained || error.code != .accountTemporarilyUnavailable {
            simulation.violated("I21: \(save.name) is refused, and takes nothing that is encrypted: \(error.message)")
        }
    }

    /// Checks that what was saved was encrypted with the ring that the zone had then: one that was made anew has keys
    /// of the same numbers.
    func checkRing(
        of save: RecordSave<DecodedFields>, in modification: ZoneModification<DecodedFields>,
        meant: OperationRequest, since sight: CommitHistory.Sight
    ) {
        let timeline = simulation.history[meant.database]
        // The keys of a shared tree are another ring's than the zone's own, which a save names.
        let isOfZone = CommitHistory.headers(of: save).contains { !$0.isShared }
        guard isOfZone, timeline.isOfThisEra(sight) else { return }
        let zone = modification.zone.name
        let isTrue = timeline.wasTrue(since: timeline.start(of: sight)) { state in
            simulation.history.endsRing(modification.ringEntryHash, of: zone, in: state)
        }
        if !isTrue { simulation.violated("I17: \(save.name) of \(zone) was saved with the key of another ring") }
    }

    /// The hash of a ring's last entry that a save names: mostly what the device knows, or none, and now and then
    /// another one, which the server has to refuse.
    func randomRingEntryHash(in zone: String) -> [UInt8] {
        guard let known = replica.ringEntryHashes[zone], !generator.oneIn(4) else { return [] }
        return generator.oneIn(24) ? known.reversed() : known
    }

    /// A save was refused for its keys: the ring has to be fetched, and maybe to get another entry.
    func keysChanged(in zone: String) {
        replica.keyNumbers[zone] = nil
        replica.ringEntryHashes[zone] = nil
        replica.treeKeys[zone] = nil
        if replica.statements.isEmpty || generator.oneIn(3) { useStatements() } else { useRing(in: zone) }
    }
}
