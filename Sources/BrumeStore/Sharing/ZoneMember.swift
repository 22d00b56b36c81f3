internal import BrumeModel
internal import BrumeRecord

/// A user who takes part in the whole of another user's zone.
struct ZoneMember: Equatable, Sendable {
    /// The position of the acceptance. It tells their part from an earlier one that ended: tokens of that have expired.
    var start: ChangePosition
    var permission: Share.Permission

    /// The users who take part by the share of a whole zone, by record name.
    static func all(of part: SharingPart) -> [String: ZoneMember] {
        var members: [String: ZoneMember] = [:]
        for participant in part.decodedShare?.participants ?? [] {
            if let start = participant.acceptance {
                members[participant.user] = ZoneMember(start: start, permission: participant.permission)
            }
        }
        return members
    }
}
