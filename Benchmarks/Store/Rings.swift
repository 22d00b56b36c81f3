internal import BrumeEncryption
internal import Glibc

/// What a shared tree's ring costs a device by the number of those who have its keys: the time of this thread.
enum Rings {
    private static let rounds = 7
    private static let owner = "_0000000000000000000000000000000a"

    static func run() throws {
        for count in [1, 10, 100] { try measure(guests: count) }
    }

    private struct Person {
        let name: String
        let identity: Identity
    }

    private static func measure(guests count: Int) throws {
        let place = try Place(
            container: "iCloud.bench", environment: "development", owner: owner, zone: "notes",
            ringID: Place.newRingID())
        var statements = StatementDirectory()
        func person(_ name: String) throws -> Person {
            let scope = IdentityScope(account: name, container: "iCloud.bench", environment: "development")
            let (identity, _) = try Identity.first(
                scope: scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode())
            statements.add(identity.chain)
            return Person(name: name, identity: identity)
        }
        let ada = try person(owner)
        let guests = try (0..<count).map { try person("_\(1000 + $0)") }
        let author = RingAuthor(user: owner, identity: ada.identity.keys, statements: statements)
        let secret = LinkSecret()
        let link = try RingInvitation.make(
            maker: owner, makerKeys: nil, owner: ada.identity.keys.publicKeys, role: .writer, isForOneGuest: false,
            isOpen: true, secret: secret)
        let ring = try RingName(place: place, root: "list")
        let member = RingMember(user: owner, statementHash: ada.identity.statement.hash, role: .owner)
        let first = try author.begin(
            ring, RingDraft(members: [member], invitations: [link], zoneKeyNumber: 1))
        var (admitting, rotating, reading, opening): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        var byteCount = 0
        for _ in 0..<rounds {
            var draft = RingDraft(after: first.head, statements: statements)
            for guest in guests {
                let hash = guest.identity.statement.hash
                let proof = secret.joinProof(ring: ring, invitationID: link.id, guest: guest.name, statementHash: hash)
                draft.admit(
                    RingMember(
                        user: guest.name, statementHash: hash, role: .writer,
                        joining: RingMember.Joining(invitationID: link.id, proof: proof)))
            }
            var began = processorNanoseconds()
            let all = try author.next(after: first, keys: first.keys(of: ada.identity), draft)
            admitting.append(Double(processorNanoseconds() - began) / 1e6)
            began = processorNanoseconds()
            let next = try author.next(
                after: all, keys: all.keys(of: ada.identity), RingDraft(after: all.head, statements: statements))
            rotating.append(Double(processorNanoseconds() - began) / 1e6)
            byteCount = next.entries[2].bytes.count
            began = processorNanoseconds()
            let known = try KnownRing(next.entries, of: ring, statements: statements)
            reading.append(Double(processorNanoseconds() - began) / 1e6)
            began = processorNanoseconds()
            guard known.chain.keys(of: guests[0].identity).current != nil else {
                preconditionFailure("a member has no key of the ring")
            }
            opening.append(Double(processorNanoseconds() - began) / 1e6)
        }
        print("a ring with \(count) guests beside its owner, \(byteCount) bytes an entry")
        Encryption.report("  taking all of them in with one entry", "ms", admitting)
        Encryption.report("  the next entry, with a new key", "ms", rotating)
        Encryption.report("  a device that checks these three entries", "ms", reading)
        Encryption.report("  a member who opens its keys", "ms", opening)
    }
}
