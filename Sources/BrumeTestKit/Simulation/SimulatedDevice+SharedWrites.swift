internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// What devices do in zones of other accounts but read: they write, change shares, leave, and subscribe.
extension SimulatedDevice {
    func writeShared() {
        guard
            let zone = shared.zones.keys.sorted(by: { ($0.owner, $0.name) < ($1.owner, $1.name) })
                .randomElement(using: &generator)
        else { return }
        let operation = newOperation()
        let known = shared.zones[zone]!.records.keys.sorted()
        let names = Self.recordNames.shuffled(using: &generator)
        let count = Int.random(in: 0...3, using: &generator)
        learnKey(ofShared: zone)
        var modification = ZoneModification<DecodedFields>(
            zone: zone, saves: names.prefix(count).map { sharedSave(of: $0, in: zone) },
            deletions: Array(names.dropFirst(count).prefix(generator.oneIn(3) ? 1 : 0)))
        if generator.oneIn(20) {
            let shares = ([Names.zoneShare] + known.filter { $0.hasPrefix("s-") })
            modification.deletions.append(generator.pick(shares))
        }
        let shares = known.filter { $0 == Names.zoneShare || $0.hasPrefix("s-") }
        if let share = shares.randomElement(using: &generator), generator.oneIn(5) {
            addChange(of: share, to: &modification)
        }
        if modification.saves.isEmpty, modification.deletions.isEmpty { return }
        let owner = simulation.privateDatabase(of: zone.owner)
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .shared, savePolicy: generator.pick([.ifServerRecordUnchanged, .changedKeys, .allKeys]),
            isAtomic: Bool.random(using: &generator), operationID: operation, zones: [modification])
        let meant = OperationRequest(
            key: key(of: operation, isOwn: false), device: deviceID, database: owner, policy: request.savePolicy,
            isAtomic: request.isAtomic, participant: user,
            saves: [zone.name: Dictionary(uniqueKeysWithValues: modification.saves.map { ($0.name, $0) })])
        let sight = simulation.history.sight(of: owner)
        write(.recordsModify, coder.encodeModifyRecordsRequest(request), meant, operation: operation) {
            (coder, bytes) throws(ServiceError) in
            try coder.decodeModifyRecordsResponse(bytes)
        } then: { [self] answer, sequence in
            let timeline = simulation.history[owner]
            for (save, outcome) in zip(modification.saves, answer[0].saves) {
                guard case .record(let record) = outcome.outcome else {
                    if case .failure(let error) = outcome.outcome {
                        checkRefusal(ofKeys: error, save, of: modification, meant: meant, since: sight)
                    }
                    replica.tags[Self.key(zone), default: [:]][save.name] = nil
                    continue
                }
                replica.tags[Self.key(zone), default: [:]][save.name] = record.system.changeTag
                let isGone =
                    sequence.map { timeline.states[Int($0)].zones[zone.name]?.records[save.name] == nil } ?? false
                if !isGone, !timeline.hadVersion(save.name, tag: record.system.changeTag) {
                    simulation.violated(
                        "I1: \(save.name) was saved as \(record.system.changeTag), which no commit holds")
                }
                saw(record.system.changeTag, of: owner)
            }
            if answer[0].saves.contains(where: \.isOfOldKeys) {
                replica.treeKeys[Self.key(zone)] = nil
                useSharedRing()
            }
            guard let sequence, sequence > 0 else { return }
            simulation.report.sharedWrites += 1
            let before = timeline.states[Int(sequence) - 1]
            guard let share = before.zones[zone.name]?.records[Names.zoneShare]?.share else {
                return checkWrites(before, timeline.states[Int(sequence)], in: zone.name)
            }
            let permission = share.permission(ofUser: user)
            // What somebody may do with the share itself does not depend on it.
            let changesShare = (modification.deletions + modification.saves.map(\.name)).contains(Names.zoneShare)
            if permission != .readWrite && !(changesShare && permission == .readOnly) {
                simulation.violated("I15: \(user) wrote to \(zone.name) without permission")
            }
            let after = timeline.states[Int(sequence)].zones[zone.name]?.records[Names.zoneShare]?.share
            if share.participant(ofUser: user)?.role != .administrator, let after,
                !share.isSame(as: after, without: user)
            {
                simulation.violated("I15: \(user) changed the share of \(zone.name), and does not manage it")
            }
        }
    }

    /// Changes a share as those do who manage it, or takes the user off it, as any participant may.
    private func addChange(of share: String, to modification: inout ZoneModification<DecodedFields>) {
        var edit = ShareEdit()
        if generator.oneIn(3) {
            edit.removals = ["for \(user)"]
        } else {
            for guest in Self.guests where generator.oneIn(2) {
                edit.puts.append(
                    .init(
                        id: "for \(guest)", invitee: .user(guest),
                        permission: generator.pick([Share.Permission.none, .readOnly, .readWrite])))
            }
            if generator.oneIn(4) { edit.blocks = [generator.pick(Self.guests)] }
            if generator.oneIn(4) { edit.unblocks = Self.guests }
        }
        let tag = replica.tags[Self.key(modification.zone)]?[share] ?? ""
        modification.saves.append(RecordSave(name: share, type: Names.shareType, changeTag: tag, fields: [:]))
        modification.shares[share] = ShareSave(root: "", edit: edit)
    }

    /// A save of a record in a zone of another user, below a record that the device knows more often than others.
    private func sharedSave(of name: String, in zone: ZoneID) -> RecordSave<DecodedFields> {
        var save = randomSave(of: name, zone: Self.key(zone), isPublic: false)
        let known = shared.zones[zone]!.records.keys.sorted().filter { $0 != name && $0 != Names.zoneShare }
        if !known.isEmpty, shared.zones[zone]!.records[Names.zoneShare] == nil, !generator.oneIn(3) {
            save.parent = .set(generator.pick(known))
        }
        return save
    }

    func leaveShared() {
        guard
            let zone = shared.zones.keys.sorted(by: { ($0.owner, $0.name) < ($1.owner, $1.name) })
                .randomElement(using: &generator)
        else { return }
        let request = ModifyZonesRequest(database: .shared, deletions: [zone])
        let owner = simulation.privateDatabase(of: zone.owner)
        let sight = simulation.history.sight(of: owner)
        call(.zonesModify, coder.encodeModifyZonesRequest(request), .none) { [self] result in
            guard case .success = result else { return }
            simulation.report.sharesLeft += 1
            let timeline = simulation.history[owner]
            let hasLeft = timeline.wasTrue(since: timeline.start(of: sight)) { state in
                guard let start = state.start(of: user, in: zone.name) else { return true }
                // After the restore of a backup the user's own database may not know of the zone, and nothing is left.
                return !simulation.acceptances.contains(Acceptance(user: user, zone: zone, start: start))
            }
            if !hasLeft {
                simulation.violated("I15: \(user) left \(zone.name), and still takes part")
            }
        }
    }

    func subscribeToShared() {
        let request = ModifySubscriptionsRequest(
            database: .shared, saves: [Subscription(id: "all", kind: .database(recordType: ""))])
        let era = shared.era
        call(.subscriptionsModify, coder.encodeModifySubscriptionsRequest(request), .none) { [self] result in
            if case .success = result, era == shared.era { shared.isSubscribed = true }
        }
    }
}

extension Share {
    /// Whether another share has the same participants but for one, and whatever they are invited by.
    fileprivate func isSame(as other: Share, without user: String) -> Bool {
        others(than: user) == other.others(than: user)
    }

    private func others(than user: String) -> [ShareParticipant] {
        participants.filter { $0.user != user && !$0.invitees.contains(.user(user)) }
    }
}
