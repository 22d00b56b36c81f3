internal import BrumeModel
internal import BrumeRecord

/// A share that changed since its participants were last shown a change of it: for them it stands where that one was,
/// and only those who manage it find it where it is. See ``ShownChange``.
struct QuietShare: Equatable, Sendable {
    let slot: Int32
    /// The position of the last change that all are shown.
    let shown: ChangePosition
    /// The position of its last change.
    let changed: ChangePosition

    /// Nil for a share whose last change all are shown, or that is damaged.
    init?(_ share: Share, at slot: Int32, changed: ChangePosition) {
        guard let shown = share.shown?.position, shown < changed else { return nil }
        self.slot = slot
        self.shown = shown
        self.changed = changed
    }
}

/// Where a zone ends for those who are not shown the last changes of its share.
struct QuietEnd: Sendable {
    /// The last quiet change.
    private(set) var position = ChangePosition.start
    /// The last change before it that all are shown.
    private(set) var before = ChangePosition.start

    /// Notes a quiet change.
    ///
    /// - Parameter last: The last change before it.
    mutating func note(_ position: ChangePosition, after last: ChangePosition) {
        if last != self.position { before = last }
        self.position = position
    }
}

extension ZoneState {
    /// The share of the whole zone, if it stands elsewhere for a user.
    func quietShare(for member: ZoneMember?) -> QuietShare? {
        member?.isShownLess == true ? sharing.quietShare : nil
    }

    /// The last change in the zone that a user is shown who takes part in all of it.
    func lastChange(shownTo member: ZoneMember) -> ChangePosition {
        quietShare(for: member) != nil && quietEnd.position == lastChange ? quietEnd.before : lastChange
    }

    /// ``quietEnd`` of a zone that was loaded, as far as it is of interest.
    var foundQuietEnd: QuietEnd {
        var end = QuietEnd()
        guard let quiet = sharing.quietShare, quiet.changed == lastChange else { return end }
        let others = feed.entries().lazy.filter { $0.slot != quiet.slot }.map(\.position)
        end.note(quiet.changed, after: max(quiet.shown, floor, others.max() ?? .start))
        return end
    }

    /// For whom the zone's last commit was a change, if it changed the zone's share for those alone who manage it; nil
    /// where it did not.
    ///
    /// - Parameter types: Of the records that it changed.
    func touchedByQuietChange(of types: [String]) -> [TouchedTree]? {
        guard sharing.quietShare?.changed.sequence == lastChange.sequence else { return nil }
        let managers = sharing.members.filter { !$0.value.isShownLess }.keys
        let others = Set(types).subtracting([Names.shareType])
        return [
            TouchedTree(users: Set(managers), recordTypes: [Names.shareType]),
            TouchedTree(users: others.isEmpty ? [] : Set(sharing.members.keys), recordTypes: others),
        ].filter { !$0.users.isEmpty }
    }
}

extension ZoneMember {
    /// Whether they take part in the whole zone, and are not shown all of its share.
    fileprivate var isShownLess: Bool {
        if case .zone(_, isManager: false) = reach { true } else { false }
    }
}
