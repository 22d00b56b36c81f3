import BrumeEncryption

@testable import BrumeKit

/// An account with keys of its own, in the container and environment of another one.
struct Person {
    let scope: IdentityScope
    private(set) var identity: Identity
    private(set) var signed: [SignedStatement]

    init(_ name: String, _ place: IdentityScope) throws {
        scope = IdentityScope(account: name, container: place.container, environment: place.environment)
        let first = try Identity.first(
            scope: scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode())
        (identity, signed) = (first.identity, [first.signed])
    }

    /// Gives the account new keys, as when a device is lost.
    mutating func replaceKeys() throws {
        let next = try identity.replacingKeys()
        identity = next.identity
        signed.append(next.signed)
    }

    /// What a device knows that saw all of the account's statements.
    func known(_ trust: KnownStatements.Trust = .seen) throws -> KnownStatements {
        try KnownStatements(signed, of: scope, trust: trust)
    }

    /// The keys of a zone of the account's own, which has just begun its ring.
    func begun(zone: String) throws -> RingKeys {
        RingKeys(try begin(RingPlace(owner: scope.account, zone: zone)), of: identity)
    }

    /// A ring that the account begins in a zone of its own.
    func begin(_ ring: RingPlace) throws -> KnownRing {
        var statements = StatementDirectory()
        statements.add(identity.chain)
        let place = try Place(
            container: scope.container, environment: scope.environment, owner: scope.account, zone: ring.zone,
            ringID: Place.newRingID())
        let name = try RingName(place: place, root: ring.root.isEmpty ? nil : ring.root)
        let owner = RingMember(user: scope.account, statementHash: identity.statement.hash, role: .owner)
        let author = RingAuthor(user: scope.account, identity: identity.keys, statements: statements)
        let draft = RingDraft(members: [owner], zoneKeyNumber: ring.root.isEmpty ? 0 : 1)
        return try KnownRing(author.begin(name, draft).entries, of: name, statements: statements)
    }
}
