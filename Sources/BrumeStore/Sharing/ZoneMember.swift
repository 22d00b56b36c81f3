internal import BrumeModel
internal import BrumeRecord

/// A user who takes part in another user's zone.
struct ZoneMember: Equatable, Sendable {
    /// What of the zone they see.
    enum Reach: Equatable, Sendable {
        /// All of it, by the share of the whole zone.
        case zone(Share.Permission, isManager: Bool)
        /// The trees of records that are shared with them.
        case trees(TreeMember)
    }

    /// The position of the acceptance that opened the zone to them. It tells their part from an earlier one that ended:
    /// tokens of that have expired.
    var start: ChangePosition
    var reach: Reach

    /// The users who take part by the share of a whole zone, by record name.
    static func all(of share: Share) -> [String: ZoneMember] {
        var members: [String: ZoneMember] = [:]
        for participant in share.participants {
            if let start = participant.acceptance {
                members[participant.user] = ZoneMember(
                    start: start,
                    reach: .zone(participant.permission, isManager: participant.role == .administrator))
            }
        }
        return members
    }
}

/// A user with whom trees of records are shared.
struct TreeMember: Equatable, Sendable {
    /// The user's part in one tree.
    struct Part: Equatable, Sendable {
        /// The position at which they accepted the share: what was in the tree by then is news to them.
        var acceptance: ChangePosition
        var permission: Share.Permission
        /// Whether they manage the share, and so are shown all of it.
        var isManager: Bool

        init(_ participant: ShareParticipant, acceptance: ChangePosition) {
            self.acceptance = acceptance
            permission = participant.permission
            isManager = participant.role == .administrator
        }
    }

    /// A part that ended while another one in the zone stayed: what was in that tree is told as deleted.
    struct EndedPart: Equatable, Sendable {
        var tree: UInt32
        var acceptance: ChangePosition
        var end: ChangePosition
    }

    /// See ``ZoneMember/start``.
    var start: ChangePosition
    /// Tokens below it have expired, because parts that ended are forgotten.
    var floor = ChangePosition.start
    /// By the tree's number.
    var parts: [UInt32: Part] = [:]
    /// Oldest end first: at most ``StoreLimits/endedPartsPerMember``.
    var ended: [EndedPart] = []

    /// Ends the part in a tree. Returns the tree of an older one that is forgotten for it, if there is one.
    mutating func end(_ tree: UInt32, at position: ChangePosition) -> UInt32? {
        guard let part = parts.removeValue(forKey: tree) else { return nil }
        ended.append(EndedPart(tree: tree, acceptance: part.acceptance, end: position))
        if ended.count <= StoreLimits.endedPartsPerMember { return nil }
        let forgotten = ended.removeFirst()
        floor = max(floor, forgotten.end)
        return forgotten.tree
    }

    /// Forgets the parts that ended in a tree, which is no more.
    mutating func forgetEnds(of tree: UInt32) {
        for ended in ended where ended.tree == tree { floor = max(floor, ended.end) }
        ended.removeAll { $0.tree == tree }
    }
}
