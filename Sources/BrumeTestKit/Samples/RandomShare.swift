package import BrumeModel
internal import BrumeRandom

/// A share to which everything happens that can, in an order that chance makes: edits of the owner, of administrators
/// and of others, acceptances by every way in, departures and requests. What is refused changes nothing.
package struct RandomShare {
    package static let owner = user(0)

    /// The record name of a user by number.
    package static func user(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "_" + String(repeating: "0", count: 32 - digits.count) + digits
    }

    package private(set) var share: Share
    /// The tag of its last change.
    package private(set) var changeTag = "t0"
    private var random: SeededGenerator
    private var steps: UInt64 = 0
    private let userCount: Int

    /// - Parameter userCount: How many users there are beside the owner: with few, the same ones come again and again.
    package init(seed: UInt64, userCount: Int = 6) {
        random = SeededGenerator(seed: seed)
        share = Share(secret: Self.secret(&random))
        self.userCount = userCount
    }

    private static func secret(_ random: inout SeededGenerator) -> [UInt8] {
        (0..<Share.secretByteCount).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private static func handles(ofUser number: Int) -> [Handle] {
        [.email("user\(number)@example.com"), .phone("+4930\(100 + number)")]
    }

    /// Does one thing. Returns the user who came to take part, if one did.
    @discardableResult
    package mutating func step() -> String? {
        steps += 1
        let former = share
        defer { noteChange(from: former) }
        let number = Int.random(in: 0...userCount, using: &random)
        let visitor = ShareVisitor(user: Self.user(number), handles: Self.handles(ofUser: number))
        switch Int.random(in: 0..<8, using: &random) {
        case 0..<4: edit(by: random.oneIn(3) ? visitor.user : Self.owner)
        case 4, 5:
            let secret = self.someSecret()
            let (position, id) = (ChangePosition(sequence: steps, index: 0), "came\(steps)")
            let before = share
            do throws(ServiceError) {
                let isNew = try share.accept(
                    visitor, through: secret, owner: Self.owner, at: position, nowMilliseconds: Int64(steps)
                ) { id }
                return isNew ? visitor.user : nil
            } catch {
                precondition(share == before, "an acceptance that was refused changed the share")
            }
        case 6: _ = share.leave(visitor)
        default:
            _ = share.requestAccess(
                visitor, through: someSecret(), owner: Self.owner, nowMilliseconds: Int64(steps))
        }
        return nil
    }

    private mutating func noteChange(from former: Share) {
        if share == former { return }
        let change = ShownChange(
            position: ChangePosition(sequence: steps, index: 1), changeTag: changeTag, modifier: Self.owner,
            modifiedMilliseconds: Int64(steps))
        share.noteChange(from: former, madeBy: change)
        changeTag = "t\(steps)"
    }

    private mutating func someSecret() -> [UInt8] {
        let oneTime = share.participants.flatMap(\.invitees).compactMap { invitee -> [UInt8]? in
            if case .oneTime(let secret) = invitee { secret } else { nil }
        }
        if random.oneIn(10) { return Self.secret(&random) }
        return oneTime.isEmpty || random.oneIn(2) ? share.secret : random.pick(oneTime)
    }

    private mutating func edit(by editor: String) {
        var edit = ShareEdit()
        if random.oneIn(4) {
            edit.publicPermission = random.pick([Share.Permission.none, .none, .readOnly, .readWrite])
        }
        if random.oneIn(4) { edit.allowsAccessRequests = Bool.random(using: &random) }
        let ids = share.participants.map(\.id) + ["nobody", Self.owner]
        if random.oneIn(5) { edit.removals = [random.pick(ids)] }
        for _ in 0..<Int.random(in: 0...2, using: &random) { edit.puts.append(somePut(ids)) }
        let users = (0...userCount).map(Self.user)
        if random.oneIn(5) { edit.denials = [random.pick(users)] }
        if random.oneIn(8) { edit.blocks = [random.pick(users), random.pick(users)] }
        if random.oneIn(5) { edit.unblocks = [random.pick(users)] }
        var secrets = [Self.secret(&random), Self.secret(&random)]
        let before = share
        do throws(ServiceError) {
            _ = try share.apply(
                edit, by: ShareVisitor(user: editor, handles: []), owner: Self.owner, nowMilliseconds: Int64(steps)
            ) {
                secrets.removeLast()
            }
        } catch {
            precondition(share == before, "an edit that was refused changed the share")
        }
    }

    private mutating func somePut(_ ids: [String]) -> ShareEdit.Put {
        let number = Int.random(in: 0...userCount, using: &random)
        let invitee: ShareEdit.Put.Invitee? =
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1: .handle(random.pick(Self.handles(ofUser: number)))
            case 2, 3: .user(Self.user(number))
            case 4: .oneTime
            default: nil
            }
        return ShareEdit.Put(
            id: random.oneIn(3) ? random.pick(ids) : "p\(steps).\(number)", invitee: invitee,
            role: random.pick([.privateUser, .privateUser, .administrator, .publicUser]),
            permission: random.pick([.readOnly, .readWrite, .none]))
    }
}
