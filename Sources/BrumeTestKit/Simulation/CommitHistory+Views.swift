internal import BrumeModel

/// What shares of single records let users see of a zone, by the plainest reading of the rules.
extension CommitHistory.Zone {
    /// The share that covers a record; nil for none.
    func cover(of name: String) -> String? {
        var passed = Set<String>()
        var current = name
        while let version = records[current], passed.insert(current).inserted {
            if version.share != nil { return current }
            if let share = version.record.share { return share }
            guard let parent = version.parent else { return nil }
            current = parent
        }
        return nil
    }

    /// The root of the shared tree that a record is in; nil for none.
    func root(ofTreeOver name: String) -> String? {
        guard let share = cover(of: name) else { return nil }
        return records.first { $0.value.record.share == share }?.key
    }

    /// What a user may do with a record; nil for one that they don't see.
    func permission(of user: String, _ name: String) -> Share.Permission? {
        let share = records[Names.zoneShare]?.share ?? cover(of: name).flatMap { records[$0]?.share }
        return share?.participant(ofUser: user)?.permission
    }

    /// Whether a record is the root of a share, or one itself.
    func isShared(_ name: String) -> Bool { records[name].map { $0.share != nil || $0.record.share != nil } ?? false }

    /// The tags of the records that a user sees who does not own the zone, by name.
    func view(of user: String) -> [String: String] {
        records.filter { permission(of: user, $0.key) != nil }.mapValues { version in
            version.share?.participant(ofUser: user)?.role == .administrator ? version.tag : version.shownTag
        }
    }

    /// Notes who takes part in shares of records after a commit, and since when.
    mutating func noteTreeMembers() {
        var acceptances: [String: UInt64] = [:]
        for (name, version) in records where name != Names.zoneShare {
            for participant in version.share?.participants ?? [] {
                guard let acceptance = participant.acceptance?.rawValue else { continue }
                acceptances[participant.user] = min(acceptances[participant.user] ?? .max, acceptance)
            }
        }
        treeStarts = acceptances.reduce(into: [:]) { $0[$1.key] = treeStarts[$1.key] ?? $1.value }
    }
}

extension CommitHistory.Version {
    /// Whether a share that was another one before is the same to those who don't manage it.
    func isQuietChange(of former: CommitHistory.Version) -> Bool {
        guard let share, let before = former.share, fields == former.fields else { return false }
        return share.participants.filter(\.isAccepted) == before.participants.filter(\.isAccepted)
            && share.publicPermission == before.publicPermission
            && share.allowsAccessRequests == before.allowsAccessRequests
    }
}

extension CommitHistory.State {
    /// Where a user's part in a zone of another began; nil if they take no part.
    func start(of user: String, in zone: String) -> UInt64? {
        guard let zone = zones[zone] else { return nil }
        return zone.records[Names.zoneShare]?.share?.participant(ofUser: user)?.acceptance?.rawValue
            ?? zone.treeStarts[user]
    }
}
