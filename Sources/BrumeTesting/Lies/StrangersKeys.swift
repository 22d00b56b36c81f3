internal import BrumeEncryption
internal import BrumeModel

/// Keys that a server makes in the name of an account, since it does not have the account's.
final class StrangersKeys: Sendable {
    private let scope: IdentityScope
    private let identity: Identity
    private let first: SignedStatement

    init(_ scope: IdentityScope) {
        self.scope = scope
        do throws(EncryptionRefusal) {
            (identity, first) = try Identity.first(
                scope: scope, device: Self.newDevice(), deviceName: "server", code: RecoveryCode())
        } catch {
            preconditionFailure("a stranger's first statement can't be made: \(error)")
        }
    }

    private static func newDevice() -> PublicKeys { KeyPairs(seed: .random()).publicKeys }

    /// A statement of that number.
    func statement(_ number: UInt32) -> SharedBytes {
        do throws(EncryptionRefusal) {
            var (last, signed) = (identity, first)
            while signed.statement.number < number {
                (last, signed) = try last.adding(device: Self.newDevice(), deviceName: "server")
            }
            return SharedBytes(signed.bytes)
        } catch {
            preconditionFailure("a stranger's statement can't be made: \(error)")
        }
    }

    var firstStatementHash: [UInt8] { first.statement.hash }

    /// The first entry of a ring of the account's.
    ///
    /// - Parameters:
    ///   - ringID: Of the zone's life that it is said to be of; nil: of another one.
    ///   - guest: The statements of somebody who gets the key.
    func ringEntry(_ ring: ToldRing, ringID: [UInt8]?, guest: [SignedStatement]) -> SharedBytes {
        do throws(EncryptionRefusal) {
            var statements = StatementDirectory()
            statements.add(identity.chain)
            let place = try Place(
                container: scope.container, environment: scope.environment, owner: scope.account, zone: ring.zone,
                ringID: ringID ?? Place.newRingID())
            var members = [
                RingMember(user: scope.account, statementHash: identity.statement.hash, role: .owner)
            ]
            if let last = guest.last?.statement {
                statements.add(StatementChain(kept: guest.map(\.statement)))
                members.append(RingMember(user: last.scope.account, statementHash: last.hash, role: .writer))
            }
            var draft = RingDraft(members: members)
            if !ring.root.isEmpty { (draft.zoneKeyNumber, draft.treeKeys) = (1, [1: .random()]) }
            let chain = try RingAuthor(user: scope.account, identity: identity.keys, statements: statements)
                .begin(RingName(place: place, root: ring.root.isEmpty ? nil : ring.root), draft)
            return SharedBytes(chain.entries[0].bytes)
        } catch {
            preconditionFailure("a stranger's ring can't be made: \(error)")
        }
    }
}
