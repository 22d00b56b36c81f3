import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeServer
@testable import BrumeService
@testable import BrumeStore

@Suite("What a server knows of statements beside rings")
struct RingMemoryTests {
    private static func user(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "_" + String(repeating: "0", count: 32 - digits.count) + digits
    }

    /// Statements of a user as they are kept. Nothing looks at the signatures of any but the last.
    ///
    /// - Parameter replacing: Whether each names other keys than the one before.
    private static func statements(
        of user: String, count: Int, replacing: Bool = false, keys: KeyPairs = KeyPairs(seed: .random())
    ) -> [SignedStatement] {
        let scope = IdentityScope(account: user, container: SteppedServer.container, environment: "development")
        let device = Statement.Device(keys: KeyPairs(seed: .random()).publicKeys)
        let code = KeyPairs(seed: .random()).publicKeys.box
        var statements: [SignedStatement] = []
        for number in 1...UInt32(count) {
            var signing = keys.publicKeys.signing
            if replacing { signing[0] = UInt8(truncatingIfNeeded: number) }
            let statement = Statement(
                scope: scope, number: number, previousHash: statements.last?.statement.hash ?? Statement.noHash,
                keys: PublicKeys(signing: signing, box: keys.publicKeys.box), codeKey: code,
                devices: [device],
                earlierSeed: replacing && number > 1 ? [UInt8](repeating: 1, count: EarlierSeed.byteCount) : [])
            let none = [UInt8](repeating: 0, count: Signature.byteCount)
            let box = [UInt8](
                repeating: 0,
                count: 8 + Label.identityBox.text.utf8.count + SecretKey.byteCount + BoxPair.overheadBytes)
            let anchor = number == 1 ? [UInt8](repeating: 3, count: Digest.byteCount) : []
            let message = SignedStatement.ownMessage(statement, anchor: anchor, boxes: [box, box])
            statements.append(
                SignedStatement(
                    statement: statement, ownSignature: number == count ? keys.sign(message) : none,
                    previousSignature: number == 1 ? [] : none, anchor: anchor, boxes: [box, box]))
        }
        return statements
    }

    private static func keep(_ statements: [SignedStatement], of user: String, beside zone: ZoneID, _ scene: RingScene)
        throws
    {
        let database = try scene.database()
        let incarnation = try #require(
            database.incarnation(of: zone, for: Caller(user: scene.ann.user, isOwner: true)))
        for statement in statements {
            let isKept = database.rings.append(
                statement: SharedBytes(statement.bytes), chain: 1, of: user, zone: incarnation)
            #expect(isKept)
        }
    }

    /// Strangers come by a public link, say what keys they have, ask once more, leave, and make room for others.
    @Test("takes no more memory than one zone may have statements, however many strangers come and go")
    func strangers() throws {
        let scene = try RingScene()
        let database = try scene.database()
        let zone = try #require(
            database.incarnation(of: scene.notes, for: Caller(user: scene.ann.user, isOwner: true)))
        let loaded = try scene.loaded()
        for number in 0..<300 {
            let user = Self.user(number)
            try Self.keep(Self.statements(of: user, count: 255), of: user, beside: scene.notes, scene)
            let isUnnamed = database.rings.setNamed(false, [user], zone: zone)
            #expect(isUnnamed)
            // What a second Rings.Join has the server read.
            _ = try loaded.ringHeads.userKeys.chains(of: user, inZone: zone, database.rings)
            // What Database.makeRoom(for:besideZone:) does once they are gone.
            let isGone = database.rings.removeUnnamed([user], zone: zone)
            #expect(isGone)
        }
        #expect(database.rings.unnamed(inZone: zone).isEmpty)
        let bytes = loaded.ringHeads.userKeys.approximateBytes
        #expect(bytes <= RingUserKeys.statementsMax * 200)
    }
}
