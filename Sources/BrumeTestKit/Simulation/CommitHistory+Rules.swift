internal import BrumeModel

/// What single commits must not do.
extension CommitHistory {
    /// I6: a save that names a tag wins only against the version with that tag; and what is saved is what was asked
    /// for, on top of what was there. I21: nothing that is encrypted goes by a save that does not say that its device
    /// has the keys.
    func checkSaves(
        of request: OperationRequest, puts: [(zone: String, name: String)], before: State, after: State
    ) {
        for (zone, name) in puts {
            guard let save = request.saves[zone]?[name] else { continue }
            let old = before.zones[zone]?.records[name]
            let new = after.zones[zone]?.records[name]
            // Its save failed, and its share went with another record.
            if let old, let new, old.isUnshared(as: new) { continue }
            let isTagged = request.policy == .ifServerRecordUnchanged || save.type == Names.shareType
            let isShownLess =
                request.participant.map { old?.share?.participant(ofUser: $0)?.role != .administrator } ?? false
            let tag = (isShownLess ? old?.shownTag : old?.tag) ?? ""
            if isTagged, tag != save.changeTag {
                fail("I6: \(name) was saved with tag '\(save.changeTag)' over '\(tag)'")
            }
            var expected = old?.fields ?? [:]
            for (key, value) in save.fields { expected[key] = value }
            if !save.replacesEncrypted, let key = Self.encryptedKey(takenBy: save, of: old) {
                fail("I21: \(name) has lost what is encrypted in \(key), and no keys were there")
            }
            // A cascade of the same batch may have taken it.
            if let new, new.fields != expected { fail("I6: \(name) does not hold what was saved") }
        }
    }

    /// The first encrypted field that a save removes, or gives a value that is not.
    static func encryptedKey(takenBy save: RecordSave<DecodedFields>, of version: Version?) -> String? {
        save.fields.keys.sorted().first { key in
            guard case .encrypted? = version?.fields[key] else { return false }
            if case .encrypted?? = save.fields[key] { return false }
            return true
        }
    }

    /// I13: a share of a record has one root, a root has a share, and a zone that is shared as a whole has no share of
    /// a record.
    func checkShares(in zones: Set<String>, after state: State) {
        for zone in zones {
            guard let records = state.zones[zone]?.records else { continue }
            let shares = Set(records.filter { $0.value.type == Names.shareType }.keys)
            let roots = records.values.compactMap(\.record.share)
            if Set(roots).count != roots.count { fail("I13: a share has two roots") }
            if shares.contains(Names.zoneShare) {
                if shares.count > 1 || !roots.isEmpty { fail("I13: \(zone) is shared as a whole and in part") }
            } else if shares != Set(roots) {
                fail("I13: the shares \(shares.sorted()) have the roots of \(roots.sorted())")
            }
        }
    }

    /// I12: no record is without the parent that it had, and nothing that goes with a record stays when that goes.
    ///
    /// - Parameter user: A user who does not own the zones: what they delete takes neither shares nor roots with it,
    ///   nor what they may not write.
    func checkReferences(
        by user: String?, puts: [(zone: String, name: String)], gone: [(zone: String, name: String)], before: State,
        after: State
    ) {
        for (zone, name) in gone {
            guard let records = after.zones[zone]?.records, records[name] == nil else { continue }
            for (other, version) in records {
                if let user, let former = before.zones[zone] {
                    if former.isShared(other) || former.permission(of: user, other) != .readWrite { continue }
                }
                if version.parent == name { fail("I12: \(other) lost its parent \(name)") }
                for case .reference(let reference) in version.fields.values
                where reference.deletesSelf && reference.recordName == name {
                    fail("I12: \(other) stayed though \(name) went")
                }
            }
        }
        for (zone, name) in puts {
            guard let records = after.zones[zone]?.records, let parent = records[name]?.parent else { continue }
            // Whoever deletes a record is not kept from it by one that they don't see, nor by a root, whose parent they
            // don't see. These may be saved with it, or later.
            let former = before.zones[zone]
            if former?.records[name]?.parent == parent, former?.records[parent] == nil { continue }
            if user != nil, former?.isShared(name) == true { continue }
            if records[parent] == nil { fail("I12: \(name) was saved with a parent \(parent) that is missing") }
        }
    }
}

extension CommitHistory.Version {
    /// Whether all that differs in a later version is that the record is no root any more.
    fileprivate func isUnshared(as later: CommitHistory.Version) -> Bool {
        record.share != nil && later.record.share == nil && fields == later.fields && parent == later.parent
    }
}
