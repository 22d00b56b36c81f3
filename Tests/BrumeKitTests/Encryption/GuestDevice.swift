import BrumeEncryption
import BrumeModel

@testable import BrumeKit

/// The device of an account that owns the desk's ring, or takes part in it.
final class GuestDevice {
    typealias Machine = ZoneRingStateMachine

    let user: String
    private let desk: GuestDesk
    private(set) var account: Person
    var identity: Identity { account.identity }
    var signed: [SignedStatement] { account.signed }
    var kept = KeptRing()
    var people: [String: KnownStatements] = [:]
    /// Those whom it has met since it began to look.
    private var met: [String: KnownStatements] = [:]
    /// The keys of the zone's own ring, for an owner who shares a tree.
    var zone: RingKeys?
    /// Members whom the app has removed.
    var dropped: Set<String> = []
    /// Whether the server shows that the share is for those alone who are invited.
    var closesLinks = false
    /// Those whom a person takes in without a proof, as that person saw them.
    var approved: [String: KnownStatements] = [:]

    init(_ user: String, at desk: GuestDesk) throws {
        (self.user, self.desk) = (user, desk)
        account = try Person(user, GuestDesk.scope(of: user))
        if user == desk.owner { desk.statements[user] = signed }
    }

    /// Another device of the account that has the identity as it is now, and nothing else.
    func other() throws -> GuestDevice {
        let device = try GuestDevice(user, at: desk)
        device.account = account
        if user == desk.owner { desk.statements[user] = signed }
        return device
    }

    /// Somebody who has all that the device has now.
    func stolen() throws -> GuestDevice {
        let device = try other()
        (device.kept, device.people) = (kept, people)
        return device
    }

    /// Gives the account other keys, as after a device was lost.
    func replaceKeys() throws {
        try account.replaceKeys()
        if user == desk.owner { desk.statements[user] = signed }
    }

    @discardableResult
    func run(_ goal: Machine.Goal, asksServer: Bool = true) throws -> KnownRing? {
        var hasNewZoneKey = false
        for _ in 0..<KeyLimits.attemptsMax {
            var machine = Machine(
                Machine.Start(
                    goal: goal, place: RingPlace(owner: desk.owner, zone: desk.zone, root: desk.root), kept: kept,
                    identity: identity, people: Array(people.values), zone: zone, hasNewZoneKey: hasNewZoneKey,
                    dropped: dropped,
                    approved: approved, closesLinks: closesLinks, asksServer: asksServer, hasNewestIdentity: true,
                    encryptsAssets: false))
            switch try run(&machine) {
            case .ring(let ring): return ring
            case .again: continue
            case .needsNewZoneKey: hasNewZoneKey = true
            case .failed(let failure): throw failure
            }
        }
        throw ZoneRingFailure.busy
    }

    private func run(_ machine: inout Machine) throws -> Machine.Outcome {
        var action = machine.started()
        met = [:]
        while true {
            switch action {
            case .fetch(let number): action = machine.pageCame(try desk.page(after: number))
            case .meet(let users, let hashes):
                var strangers: Set<String> = []
                var all: [KnownStatements] = []
                for user in users {
                    guard let meeting = meet(user, hashes) else {
                        strangers.insert(user)
                        continue
                    }
                    all += meeting.others + [meeting.person]
                    met[user] = meeting.person
                }
                action = machine.met(all, strangers: strangers)
            case .append(let entry, let statements):
                let isTaken = try desk.append(entry, statements)
                action = isTaken ? machine.appended() : machine.appendRefused()
            case .join where desk.refusesGuests: action = machine.joined(false)
            case .join(let invitationID, let proof):
                desk.statements[user] = signed
                let isMember = kept.known?.chain.head.member(named: user) != nil
                if !isMember {
                    desk.guests[user] = RingGuest(
                        user: user, statementHash: identity.statement.hash, invitationID: invitationID, proof: proof)
                }
                action = machine.joined(true)
            case .keep(let kept):
                let named = Set((kept.known?.chain.entries ?? []).flatMap(\.entry.members).map(\.user))
                for (user, person) in met where user != self.user && named.contains(user) { people[user] = person }
                self.kept = kept
                action = machine.hasKept()
            case .finish(let outcome): return outcome
            }
        }
    }

    private func meet(_ user: String, _ hashes: Set<[UInt8]>) -> ShownStatements.Meeting? {
        let shown = (desk.formerStatements[user] ?? []) + (desk.statements[user] ?? [])
        return ShownStatements(shown, of: GuestDesk.scope(of: user)).meet(
            people[user], named: hashes, isOwner: user == desk.owner)
    }

    /// Asks for the keys of another desk's ring by a link, as a server can do that has the account's statements.
    func join(_ other: GuestDesk, by link: LinkFragment?) throws {
        let guest = try GuestDevice(user, at: other)
        guest.account = account
        try guest.run(.join(link))
    }

    func failure(_ goal: Machine.Goal) -> ZoneRingFailure? {
        do {
            try run(goal)
            return nil
        } catch {
            return error as? ZoneRingFailure
        }
    }

    /// The link that the owner gives away.
    func link() throws -> LinkFragment? {
        guard let head = kept.known?.chain.head else { return nil }
        for invitation in head.invitations {
            if let secret = try? invitation.openSecret(as: identity.keys) {
                return LinkFragment(ownersFirstStatement: signed[0].statement.hash, secret: secret, title: nil)
            }
        }
        return nil
    }

    // MARK: Values

    /// An encrypted value, as a save sends it.
    func sealed(_ text: String) throws -> [UInt8]? {
        guard let ring = try run(.write) else { return nil }
        let keys = RingKeys(ring, of: identity)
        return keys.cipher(root: desk.root).map { Self.seal(text, $0) }
    }

    static func seal(_ text: String, _ cipher: TreeCipher) -> [UInt8] {
        cipher.record(named: "page", type: "Page").seal(Array(text.utf8), field: "text", valueType: "STRING")
    }

    /// The text of an encrypted value; nil where this device can't open it.
    func opened(_ value: [UInt8], asksServer: Bool = true) throws -> String? {
        guard let ring = try run(.read, asksServer: asksServer) else { return nil }
        return try Self.opened(value, ring, identity, kept.link)
    }

    static func opened(
        _ value: [UInt8], _ ring: KnownRing, _ identity: Identity, _ link: LinkSecret? = nil
    ) throws -> String? {
        for cipher in RingKeys(ring, of: identity, link: link).ciphers(try ValueHeader(of: value)) {
            let record = cipher.record(named: "page", type: "Page")
            if let bytes = try? record.open(value, field: "text", valueType: "STRING") {
                return String(decoding: bytes, as: UTF8.self)
            }
        }
        return nil
    }
}
