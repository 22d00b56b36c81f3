/// What those who don't manage a share are told is its last change, while there were others since that they are not
/// shown: invitations, requests for access, and blocks.
///
/// It stands in the share's own bytes. So whoever takes part, or has the URL, finds the share where it last changed for
/// them, with the tag, the date and the user of that change, and nothing tells them how often others are invited or
/// ask.
package struct ShownChange: Equatable, Sendable {
    /// Where the change stands in the owner's database.
    package let position: ChangePosition
    package let changeTag: String
    /// The user who made it: a user record name.
    package let modifier: String
    /// When, by the server's clock, since 1970.
    package let modifiedMilliseconds: Int64

    package init(position: ChangePosition, changeTag: String, modifier: String, modifiedMilliseconds: Int64) {
        self.position = position
        self.changeTag = changeTag
        self.modifier = modifier
        self.modifiedMilliseconds = modifiedMilliseconds
    }
}

extension Share {
    /// Notes what those who don't manage the share are told is the last change, after one.
    ///
    /// - Parameters:
    ///   - former: The share before it.
    ///   - changesFields: Whether fields of the share's record changed, which all are shown.
    ///   - change: The change that made `former` what it is.
    package mutating func noteChange(
        from former: Share, ofFields changesFields: Bool = false, madeBy change: @autoclosure () -> ShownChange
    ) {
        shown = !changesFields && isShownToAll(as: former) ? former.shown ?? change() : nil
    }

    /// Has those who don't manage the share find it at another place, with the change that they know: what it belongs
    /// to changed for them, and the share comes again. Returns false where they are told of the record's own.
    package mutating func move(shownTo position: ChangePosition) -> Bool {
        guard let known = shown else { return false }
        shown = ShownChange(
            position: position, changeTag: known.changeTag, modifier: known.modifier,
            modifiedMilliseconds: known.modifiedMilliseconds)
        return true
    }

    /// The change that a viewer is told is the last one; nil for the record's own.
    package func shown(to viewer: Viewer) -> ShownChange? {
        if case .manager = viewer { nil } else { shown }
    }

    /// Whether those who don't manage it are shown the same of both.
    private func isShownToAll(as other: Share) -> Bool {
        secret == other.secret && publicPermission == other.publicPermission
            && allowsAccessRequests == other.allowsAccessRequests
            && participants.filter(\.isAccepted) == other.participants.filter(\.isAccepted)
    }
}
