import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// A share's owner as somebody whom it invites: they take part already, and could never accept.
@Suite("The invitation of a share's owner")
struct OwnInvitationTests {
    private let server: SteppedServer
    private let a: FramePeer
    private let b: FramePeer
    private static let email = Handle.email("ada@example.com")
    private static let phone = Handle.phone("+49301234567")

    init() throws {
        server = try SteppedServer { $0.loopCount = 2 }
        (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let call = server.administer(
            .handles(name: "a", HandleChange(email: "Ada@example.com", phone: "+49 30 1234567")))
        server.settle()
        #expect(call.error == nil)
        try a.shareZone("list")
    }

    private static func inviting(
        _ invitee: ShareEdit.Put.Invitee, id: String = "p", role: ShareParticipant.Role = .privateUser
    ) -> ShareEdit {
        var edit = ShareEdit()
        edit.puts = [.init(id: id, invitee: invitee, role: role, permission: .readOnly)]
        return edit
    }

    private func code(_ edit: ShareEdit) -> ErrorCode? {
        do {
            try a.changeShare(of: "list", edit)
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    private func participants() throws -> [String] {
        guard case .record(let share) = try a.fetch([Names.zoneShare], in: ZoneID(name: "list"))[0] else {
            throw TestFailure("the share is not there")
        }
        return share.shareDetails!.participants.map(\.id)
    }

    @Test("fails by address, number and name, whoever else is invited beside them")
    func ownHandles() throws {
        for invitee: ShareEdit.Put.Invitee in [.handle(Self.email), .handle(Self.phone), .user(a.user)] {
            var edit = Self.inviting(invitee)
            edit.puts.append(.init(id: "b", invitee: .user(b.user), permission: .readOnly))
            #expect(code(edit) == .invalidArguments, "\(invitee)")
        }
        #expect(try participants().count == 1)
        #expect(code(Self.inviting(.handle(.email("bob@example.com")))) == nil)
        #expect(try participants().count == 2)
    }

    @Test("keeps a new share and its root from being saved")
    func newShare() throws {
        try a.makeZone("lists")
        var modification = ZoneModification<DecodedFields>(
            zone: ZoneID(name: "lists"),
            saves: [
                RecordSave(name: "share", type: Names.shareType, fields: [:]),
                RecordSave(name: "root", type: "List", fields: [:]),
            ])
        modification.shares["share"] = ShareSave(root: "root", edit: Self.inviting(.handle(Self.email)))
        let saves = try a.modify(ModifyRecordsRequest(database: .private, zones: [modification]))[0].saves
        #expect(saves.codes == [.invalidArguments, .batchRequestFailed])
    }

    @Test("is possible again with a handle that is the owner's no longer")
    func formerHandle() throws {
        let call = server.administer(.handles(name: "a", HandleChange(email: "", phone: nil)))
        server.settle()
        #expect(call.error == nil)
        #expect(code(Self.inviting(.handle(Self.email))) == nil)
    }

    @Test("by an administrator does not tell whether a handle is the owner's, and fails by name")
    func administrator() throws {
        try b.accept(try a.changeShare(of: "list", Self.inviting(.user(b.user), id: "b", role: .administrator)))
        let zone = ZoneID(name: "list", owner: a.user)
        func save(_ edit: ShareEdit) throws -> [ErrorCode?] {
            guard case .record(let share) = try b.fetch([Names.zoneShare], in: zone, of: .shared)[0] else {
                throw TestFailure("the share is not there")
            }
            let tag = share.system.changeTag
            var modification = ZoneModification<DecodedFields>(
                zone: zone,
                saves: [RecordSave(name: Names.zoneShare, type: Names.shareType, changeTag: tag, fields: [:])])
            modification.shares[Names.zoneShare] = ShareSave(root: "", edit: edit)
            return try b.modify(ModifyRecordsRequest(database: .shared, zones: [modification]))[0].saves.codes
        }
        #expect(try save(Self.inviting(.user(a.user), id: "name")) == [.invalidArguments])
        #expect(try save(Self.inviting(.handle(Self.email), id: "owner's")) == [nil])
        #expect(try save(Self.inviting(.handle(.email("nobody@example.com")), id: "nobody's")) == [nil])
        #expect(try participants().suffix(2) == ["owner's", "nobody's"])
    }
}
