import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// Records of the zone that are shared by themselves.
extension SharedDesk {
    /// Saves a share of a record, which may be a new one, that invites users, with whatever else the request does.
    func share(
        record root: String, inviting users: [String] = [], role: ShareParticipant.Role = .privateUser,
        permission: Share.Permission = .readWrite, parent: String? = nil, others: [RecordSave<CheckedFields>] = [],
        deletions: [String] = []
    ) -> (result: ZoneModificationResult<SharedBytes>, commit: Commit?) {
        var edit = ShareEdit()
        edit.puts = users.map { .init(id: "for \($0)", invitee: .user($0), role: role, permission: permission) }
        let tag = owner.record(root)?.system.changeTag ?? ""
        return owner.modify(
            saves: [
                .of("s-\(root)", type: Names.shareType),
                .of(root, tag: tag, parent: parent.map { .set($0) } ?? .unchanged),
            ] + others, deletions: deletions, shares: ["s-\(root)": ShareSave(root: root, edit: edit)])
    }

    @discardableResult
    func accept(_ user: String, record root: String) throws -> Decision<Database.Acceptance> {
        let state = database.zoneStates[1]
        let share = try #require(state.sharing.shares["s-\(root)"].flatMap { state[$0].share })
        return try accept(user, through: ShareLink(zone: state.incarnation, secret: share.secret))
    }

    /// Shares a record with users, who accept.
    func admit(
        _ users: [String], toRecord root: String, role: ShareParticipant.Role = .privateUser,
        permission: Share.Permission = .readWrite, parent: String? = nil
    ) throws {
        let saved = share(record: root, inviting: users, role: role, permission: permission, parent: parent)
        #expect(saved.result.saveCodes == [nil, nil])
        for user in users { try accept(user, record: root) }
    }

    /// Saves so many records below another one, every tenth with nine below it.
    func fill(_ parent: String, from first: Int = 0, count: Int) {
        for start in stride(from: first, to: count, by: 500) {
            let saves = (start..<min(start + 500, count)).map { number in
                RecordSave<CheckedFields>.of(
                    "\(parent)\(number)",
                    parent: .set(number % 10 == 0 ? parent : "\(parent)\(number - number % 10)"))
            }
            #expect(owner.modify(saves: saves).commit != nil)
        }
    }
}
