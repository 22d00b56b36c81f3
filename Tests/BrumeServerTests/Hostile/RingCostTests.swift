import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeServer
@testable import BrumeService
@testable import BrumeStore

/// What a request about rings costs at the most, where each is a product of what several requests have brought before:
/// members, their statements, and trees.
///
/// The bounds are of processor time in a build that is not optimised, some ten times what it takes. An optimised one
/// takes a fifth of that, and keeps nobody waiting for 50 ms.
@Suite("Costly requests about rings", .timeLimit(.minutes(4)))
struct RingCostTests {
    private static let membersMax = 127
    private static let statementsPerMember = 255

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

    /// Has users take part in the shares of trees, as if they had accepted them.
    private static func admit(
        _ users: [String], toTreesOf roots: [String], inZone zone: UInt64, of database: Database
    ) {
        let index = database.zoneIndexOfIncarnation[zone]!
        let state = database.zoneStates[index]
        let trees = roots.map { state.trees.cover(of: state.liveSlot(of: $0)!) }
        for user in users {
            let participant = ShareParticipant(
                id: user, invitees: [], user: user, role: .privateUser, permission: .readOnly, addedMilliseconds: 0)
            var member = TreeMember(
                SnapshotTreeMember(zone: zone, user: user, start: .start, floor: .start, ended: []))
            for tree in trees { member.parts[tree] = TreeMember.Part(participant, acceptance: .start) }
            let isKept = database.withZone(at: index) { $0.trees.load(member, user: user) }
            #expect(isKept)
        }
    }

    private static func expect(_ bound: Duration, _ kind: String, _ body: () throws -> Void) throws {
        let time = try ProcessorTime.of(body)
        #expect(time < bound, "\(kind) took \(time)")
    }

    @Test("a ring whose members have all the statements that they may is looked at and appended to soon enough")
    func statements() throws {
        var scene = try RingScene()
        let (ann, zones) = (scene.ann, ["one", "two", "three"])
        var members: [RingMember] = []
        for number in 0..<Self.membersMax {
            let user = Self.user(number)
            let all = Self.statements(of: user, count: Self.statementsPerMember, replacing: number % 2 == 0)
            scene.accounts.meet(all.map(\.statement))
            members.append(RingMember(user: user, statementHash: all.last!.statement.hash, role: .reader))
            for name in zones {
                let zone = ZoneID(name: name)
                if number == 0 {
                    try ann.makeZone(name)
                    try ann.append(scene.accounts.begun(by: ann, zone: name), to: zone)
                }
                try Self.keep(all, of: user, beside: zone, scene)
            }
        }
        for name in zones {
            let chain = try scene.accounts.begun(by: ann, zone: name, root: "many", with: members)
            try Self.expect(.milliseconds(2_000), "an entry that names all") {
                try ann.append(chain, to: ZoneID(name: name))
            }
        }
        // One zone after the other: what is known of all has no room.
        for name in zones + zones {
            try Self.expect(.milliseconds(2_000), "a look at their ring") {
                let page = try ann.ring("many", of: ZoneID(name: name), after: 1)
                #expect(page.renewed == [])
            }
        }
        let loaded = try scene.loaded()
        let before = loaded.ringHeads.userKeys.readCount
        #expect(try ann.ring("many", of: ZoneID(name: "three"), after: 1).renewed == [])
        #expect(loaded.ringHeads.userKeys.readCount == before, "the zone that was looked at last is known")
        #expect(loaded.ringHeads.approximateBytes < 20 * 1024 * 1024)
    }

    @Test("saves in trees of many members look at so many of these, and read no ring again")
    func trees() throws {
        var scene = try RingScene()
        let (ann, notes) = (scene.ann, scene.notes)
        func name(_ number: Int) -> String { "tree\(number)" }
        for first in stride(from: 0, to: 400, by: 100) {
            let stream = ann.startSharingRecords((first..<first + 100).map(name), in: "notes")
            scene.server.settle()
            _ = try ann.url(ofShare: stream)
        }
        var members: [RingMember] = []
        for number in 0..<Self.membersMax {
            let one = Self.statements(of: Self.user(number), count: 1)
            scene.accounts.meet(one.map(\.statement))
            try Self.keep(one, of: Self.user(number), beside: notes, scene)
            members.append(
                RingMember(user: Self.user(number), statementHash: one[0].statement.hash, role: .reader))
        }
        let database = try scene.database()
        let incarnation = try #require(database.incarnation(of: notes, for: Caller(user: ann.user, isOwner: true)))
        Self.admit(members.map(\.user), toTreesOf: (0..<400).map(name), inZone: incarnation, of: database)
        let pattern = try scene.accounts.begun(by: ann, zone: "notes", root: "pattern", with: members).entries[0]
        for number in 0..<400 {
            let entry = RingEntry(
                ring: try RingName(place: pattern.entry.ring.place, root: name(number)), number: 1,
                previousHash: pattern.entry.previousHash, author: ann.user, isPerZone: false, hasPlainAssets: false,
                draft: RingDraft(members: pattern.entry.members, zoneKeyNumber: 1),
                commitment: pattern.entry.commitment, earlierKeys: pattern.entry.earlierKeys, closedKey: [])
            let signed = SignedRingEntry(entry: entry, signature: pattern.signature, boxes: pattern.boxes)
            let isKept = database.rings.append(SharedBytes(signed.bytes), zone: incarnation, root: name(number))
            #expect(isKept)
        }
        let loaded = try scene.loaded()
        func value(_ number: Int) throws -> FieldValue {
            let tree = Tree(place: pattern.entry.ring.place, root: name(number), kind: .isShared)
            return EncryptedSamples.value(
                header: EncryptedHeader(treeID: EncryptedHeader.TreeID(tree.id), isShared: true, keyNumber: 1))
        }
        func save(_ trees: Range<Int>, valuesPerRecord: Int = 1) throws {
            var saves: [RecordSave<DecodedFields>] = []
            for first in stride(from: trees.lowerBound, to: trees.upperBound, by: valuesPerRecord) {
                var fields: [String: FieldValue] = [:]
                for number in first..<min(first + valuesPerRecord, trees.upperBound) {
                    fields["f\(number)"] = try value(number)
                }
                saves.append(RecordSave(name: "r\(first)", type: "List", fields: fields))
            }
            let request = ModifyRecordsRequest<DecodedFields>(
                database: .private, savePolicy: .allKeys, zones: [ZoneModification(zone: notes, saves: saves)])
            for result in try ann.modify(request)[0].saves {
                if case .failure(let error) = result.outcome { throw error }
            }
        }
        try Self.expect(.milliseconds(2_000), "saves in 120 trees that were not known") { try save(0..<120) }
        try Self.expect(.milliseconds(2_000), "saves in 280 trees that were not known") {
            let code = try ann.code { try save(120..<400) }
            #expect(code == .limitExceeded)
        }
        // The refused request has read as many rings as one may.
        let before = loaded.ringHeads.testOnly_readCount
        for first in [0, 4] {
            try Self.expect(.milliseconds(2_000), "saves in 240 trees that are known") { try save(first..<first + 240) }
        }
        #expect(loaded.ringHeads.testOnly_readCount == before, "none is read again")
        // The values of one record may name as many trees as there are.
        #expect(try ann.code { try save(0..<400, valuesPerRecord: 400) } == .limitExceeded)
        try save(0..<240, valuesPerRecord: 120)
    }

    @Test("32 statements that each go on a long chain, with an entry that is refused, read none of these whole")
    func chains() throws {
        var scene = try RingScene()
        try scene.join(scene.bob)
        try scene.takeIn(scene.bob, by: scene.ann)
        var (members, brought): ([RingMember], [SharedBytes]) = ([], [])
        for number in 0..<Limits.ringStatementsPerRequest {
            let (user, keys) = (Self.user(number), KeyPairs(seed: .random()))
            var all = Self.statements(of: user, count: Self.statementsPerMember - 1, keys: keys)
            try Self.keep(all, of: user, beside: scene.notes, scene)
            let last = all.last!.statement
            let next = Statement(
                scope: last.scope, number: last.number + 1, previousHash: last.hash, keys: last.keys,
                codeKey: last.codeKey, devices: last.devices)
            let boxes = all[0].boxes
            all.append(
                SignedStatement(
                    statement: next,
                    ownSignature: keys.sign(SignedStatement.ownMessage(next, anchor: [], boxes: boxes)),
                    previousSignature: keys.sign(SignedStatement.nextMessage(next)), anchor: [], boxes: boxes))
            scene.accounts.meet(all.map(\.statement))
            members.append(RingMember(user: user, statementHash: next.hash, role: .reader))
            brought.append(SharedBytes(all.last!.bytes))
        }
        // A writer adds nobody without a link.
        let (bob, identity) = (scene.bob, scene.accounts[scene.bob].keys)
        let allowed = try scene.accounts.next(scene.list, by: bob)
        let pattern = allowed.entries[allowed.entries.count - 1]
        let entry = RingEntry(
            ring: pattern.entry.ring, number: pattern.entry.number, previousHash: pattern.entry.previousHash,
            author: bob.user, isPerZone: false, hasPlainAssets: false,
            draft: RingDraft(
                members: pattern.entry.members + members, invitations: pattern.entry.invitations, zoneKeyNumber: 1),
            commitment: pattern.entry.commitment, earlierKeys: pattern.entry.earlierKeys, closedKey: [])
        let boxes = pattern.boxes + members.map { _ in pattern.boxes[0] }
        let refused = SignedRingEntry(
            entry: entry, signature: identity.sign(SignedRingEntry.message(entry, boxes: boxes)), boxes: boxes)
        let request = AppendRingEntryRequest(
            zone: scene.theirs, entry: SharedBytes(refused.bytes), statements: brought)
        for _ in 0..<3 {
            try Self.expect(.milliseconds(2_000), "statements behind long chains") {
                let error = #expect(throws: ServiceError.self) {
                    _ = try bob.call(.ringsAppend, MessageCoder().encodeAppendRingEntryRequest(request))
                }
                #expect(error?.message.contains("may not change") == true, "\(error?.message ?? "")")
            }
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
