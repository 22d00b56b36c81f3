internal import BrumeEncryption
package import BrumeModel

/// The keys of an account and the rings of its zones, as one of its devices makes them, with values in the form of
/// encrypted ones: their headers are right, and nothing opens them.
package struct SampleKeys {
    private struct RingKey: Hashable {
        let zone: String
        let root: String
    }

    /// The account's last statement, signed.
    package private(set) var statement: [UInt8]
    /// The hash of the last statement.
    package var statementHash: [UInt8] { identity.statement.hash }

    private var identity: Identity
    private var rings: [RingKey: RingChain] = [:]

    /// The first statement of an account.
    package init(user: String, container: String) throws {
        let scope = IdentityScope(account: user, container: container, environment: "development")
        let (identity, signed) = try Identity.first(
            scope: scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "phone", code: RecoveryCode())
        (self.identity, statement) = (identity, signed.bytes)
    }

    // MARK: Statements

    /// Makes a statement with new keys, as after a device was removed.
    package mutating func replaceKeys() throws {
        let next = try identity.replacingKeys()
        (identity, statement) = (next.identity, next.signed.bytes)
    }

    /// Makes a statement that lists one device more.
    package mutating func addDevice() throws {
        let next = try identity.adding(device: KeyPairs(seed: .random()).publicKeys, deviceName: "laptop")
        (identity, statement) = (next.identity, next.signed.bytes)
    }

    /// Makes a first statement, for the place of all, as for somebody who has lost all devices.
    package mutating func beginAnew() throws {
        let scope = identity.statement.scope
        self = try SampleKeys(user: scope.account, container: scope.container)
    }

    // MARK: Rings

    /// Makes the next entry of a ring, or its first.
    ///
    /// - Parameters:
    ///   - root: A shared tree's root; empty for the zone's own ring.
    ///   - hasPlainAssets: Whether a zone's ring that begins leaves the zone's assets plain.
    package mutating func nextEntry(
        of zone: String, root: String = "", closes: Bool = false, hasPlainAssets: Bool = false
    ) throws -> [UInt8] {
        let user = identity.statement.scope.account
        var statements = StatementDirectory()
        statements.add(identity.chain)
        let author = RingAuthor(user: user, identity: identity.keys, statements: statements)
        let own = rings[RingKey(zone: zone, root: "")]
        var draft = RingDraft(
            members: [RingMember(user: user, statementHash: identity.statement.hash, role: .owner)],
            zoneKeyNumber: root.isEmpty ? 0 : own?.head.number ?? 1)
        if closes, let key = own?.keys(of: identity).current { draft.close(zoneKey: key) }
        let chain: RingChain
        if let former = rings[RingKey(zone: zone, root: root)] {
            chain = try author.next(after: former, keys: former.keys(of: identity), draft)
        } else {
            let place = try own?.head.ring.place ?? place(ofZone: zone)
            chain = try author.begin(
                RingName(place: place, root: root.isEmpty ? nil : root),
                hasPlainAssets: own?.head.hasPlainAssets ?? hasPlainAssets, draft)
        }
        rings[RingKey(zone: zone, root: root)] = chain
        return chain.entries[chain.entries.count - 1].bytes
    }

    /// The hash of the last entry of a zone's own ring.
    package func entryHash(of zone: String) throws -> [UInt8] {
        rings[RingKey(zone: zone, root: "")]?.head.hash ?? []
    }

    /// Forgets the rings of a zone that goes.
    package mutating func forgetRings(of zone: String) { rings = rings.filter { $0.key.zone != zone } }

    private func place(ofZone zone: String) throws -> Place {
        let scope = identity.statement.scope
        return try Place(
            container: scope.container, environment: scope.environment, owner: scope.account, zone: zone,
            ringID: (0..<Place.ringIDBytes).map { _ in UInt8.random(in: .min ... .max) })
    }

    // MARK: Values

    /// The header of a value in a record whose root is this one, with the newest key.
    ///
    /// - Parameters:
    ///   - isShared: Whether it is of the tree's own ring; where that does not exist it is of the zone's.
    ///   - keyNumber: Another number than the newest.
    package func header(
        in zone: String, root: String = "root", isShared: Bool = false, keyNumber: UInt32? = nil
    ) throws -> EncryptedHeader {
        let chain = rings[RingKey(zone: zone, root: isShared ? root : "")]
        let place = try rings[RingKey(zone: zone, root: "")]?.head.ring.place ?? place(ofZone: zone)
        return EncryptedHeader(
            treeID: EncryptedHeader.TreeID(Tree(place: place, root: root, kind: isShared ? .isShared : .isPrivate).id),
            isShared: isShared, keyNumber: keyNumber ?? chain?.head.number ?? 1)
    }
}
