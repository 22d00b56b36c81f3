import BrumeModel

/// A share with its owner, and users who come to it one commit after the other.
final class SampleShare {
    static let owner = user(0)
    static let secret = [UInt8](repeating: 7, count: Share.secretByteCount)

    /// The record name of a user by number.
    static func user(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "_" + String(repeating: "0", count: 32 - digits.count) + digits
    }

    var share = Share(secret: secret)
    private var commits: UInt64 = 0
    private var secrets: UInt8 = 100

    /// Applies an edit, as the owner's unless another editor is named.
    @discardableResult
    func edit(
        by editor: String = owner, handles: [Handle] = [], _ change: (inout ShareEdit) -> Void
    ) throws(ServiceError) -> Bool {
        var edit = ShareEdit()
        change(&edit)
        return try share.apply(
            edit, by: ShareVisitor(user: editor, handles: handles), owner: Self.owner, nowMilliseconds: 5
        ) {
            secrets += 1
            return [UInt8](repeating: secrets, count: Share.secretByteCount)
        }
    }

    @discardableResult
    func invite(
        _ invitee: ShareEdit.Put.Invitee, id: String, role: ShareParticipant.Role = .privateUser,
        _ permission: Share.Permission = .readOnly, by editor: String = owner
    ) throws(ServiceError) -> Bool {
        try edit(by: editor) { $0.puts = [.init(id: id, invitee: invitee, role: role, permission: permission)] }
    }

    @discardableResult
    func accept(
        _ user: String, handles: [Handle] = [], through secret: [UInt8] = secret
    ) throws(ServiceError) -> Bool {
        commits += 1
        let id = "public-\(commits)"
        return try share.accept(
            ShareVisitor(user: user, handles: handles), through: secret, owner: Self.owner,
            at: ChangePosition(sequence: commits, index: 0), nowMilliseconds: 6
        ) { id }
    }

    func standing(_ user: String, handles: [Handle] = [], through secret: [UInt8] = secret) -> ShareStanding {
        share.standing(of: ShareVisitor(user: user, handles: handles), through: secret, owner: Self.owner)
    }

    @discardableResult
    func requestAccess(_ user: String, through secret: [UInt8] = secret) -> Share.AccessRequestOutcome {
        share.requestAccess(
            ShareVisitor(user: user, handles: []), through: secret, owner: Self.owner, nowMilliseconds: 7)
    }

    /// What a user is shown who takes part, or has a URL.
    func seen(by user: String, handles: [Handle] = [], through secret: [UInt8] = secret) -> Share {
        share.seen(
            by: share.viewer(user, owner: Self.owner)
                ?? .linkHolder(ShareVisitor(user: user, handles: handles), secret: secret))
    }

    func leave(_ user: String, handles: [Handle] = []) -> Bool {
        share.leave(ShareVisitor(user: user, handles: handles))
    }

    /// The secret of the one-time URL of a participant.
    func oneTimeSecret(ofParticipant id: String) -> [UInt8]? {
        guard case .oneTime(let secret) = share.participants.first(where: { $0.id == id })?.invitees.first else {
            return nil
        }
        return secret
    }
}

/// The code of the error that a body throws, or nil.
func code<Value>(_ body: () throws -> Value) -> ErrorCode? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? ServiceError)?.code
    }
}
