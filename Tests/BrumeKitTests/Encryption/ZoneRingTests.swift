import BrumeModel
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeKit

/// What a device does about the ring of a zone, beside a server that the test has in its hands.
@Suite("A zone's ring")
struct ZoneRingTests {
    let folder: TestFolder
    let desk = RingDesk()

    init() throws { folder = try TestFolder() }

    private func device(_ name: String) -> RingDevice {
        RingDevice(name, at: desk, stateFolder: folder.file(name))
    }

    /// A phone and a laptop that have the account's keys.
    private func devices() throws -> (phone: RingDevice, laptop: RingDevice) {
        let (phone, laptop) = (device("phone"), device("laptop"))
        let code = try #require(try phone.keys.code(.takeCode))
        try laptop.keys.run(.useCode(code))
        return (phone, laptop)
    }

    /// Takes the keys from a device.
    private func remove(_ device: RingDevice, by other: RingDevice) throws {
        try other.keys.run(.removeDevice(#require(try device.keys.ownKeys)))
        other.restart()
    }

    /// Gives the account other keys.
    private func replaceKeys(by device: RingDevice) throws {
        _ = try #require(try device.keys.code(.replaceCode))
        device.restart()
    }

    private func headHash(_ device: RingDevice) throws -> [UInt8]? { try device.kept().known?.chain.head.hash }

    private func isMalformed(_ failure: ZoneRingFailure?) -> Bool {
        if case .malformed = failure { true } else { false }
    }

    // MARK: Making and taking it

    @Test("is made by the first device that encrypts something, and taken by the second")
    func first() throws {
        let (phone, laptop) = try devices()
        #expect(try phone.run(.read) == nil && desk.entries.isEmpty)
        #expect(try phone.loaded().head == nil)
        let value = try phone.sealed("word")
        #expect(desk.entries.count == 1)
        #expect(try laptop.opened(value) == "word")
        let other = try laptop.sealed("words")
        #expect(desk.entries.count == 1)
        #expect(try phone.opened(other) == "words" && headHash(phone) == headHash(laptop))
        phone.restart()
        let fetches = desk.fetchCount
        #expect(try phone.opened(value) == "word" && phone.opened(other) == "words")
        _ = try phone.sealed("word")
        #expect(desk.fetchCount == fetches)
    }

    @Test("makes the account's keys where there are none, but not for reading")
    func makesKeys() throws {
        let phone = device("phone")
        #expect(try phone.run(.read) == nil && desk.statements.statements.isEmpty)
        let value = try phone.sealed("word")
        #expect(desk.statements.statements.count == 1)
        #expect(try phone.opened(value) == "word")
    }

    @Test("that two devices make at once is the first one's, with whose key the second encrypts")
    func race() throws {
        let (phone, laptop) = try devices()
        var first: [UInt8] = []
        desk.isOvertakenBy = { first = try laptop.sealed("first") }
        let second = try phone.sealed("second")
        #expect(desk.entries.count == 1)
        #expect(try phone.opened(first) == "first" && laptop.opened(second) == "second")
        #expect(try headHash(phone) == headHash(laptop) && phone.kept().lives.ringIDs.count == 1)
    }

    // MARK: New keys

    @Test("gets a new key by the first save after a device was removed, and none by reading")
    func removedDevice() throws {
        let (phone, laptop) = try devices()
        let before = try phone.sealed("before")
        #expect(try laptop.opened(before) == "before")
        try remove(phone, by: laptop)
        #expect(try laptop.opened(before) == "before" && desk.entries.count == 1)
        let after = try laptop.sealed("after")
        #expect(desk.entries.count == 2)
        #expect(try ValueHeader(of: after).keyNumber == 2)
        #expect(try laptop.opened(before) == "before" && laptop.opened(after) == "after")
        // The phone is asked nothing any more, and has the first key alone.
        #expect(try phone.opened(before) == "before" && phone.opened(after) == nil)
        _ = try laptop.sealed("again")
        #expect(desk.entries.count == 2)
    }

    @Test("gets a new key once where two devices find that it needs one")
    func rotationRace() throws {
        let (phone, laptop) = try devices()
        let before = try phone.sealed("before")
        _ = try laptop.sealed("before, too")
        try replaceKeys(by: phone)
        laptop.restart()
        var first: [UInt8] = []
        desk.isOvertakenBy = { first = try laptop.sealed("first") }
        let second = try phone.sealed("second")
        #expect(desk.entries.count == 2)
        for device in [phone, laptop] {
            #expect(try [before, first, second].map(device.opened) == ["before", "first", "second"])
        }
    }

    @Test("is not written for by a device that does not know yet that the account has other keys")
    func staleIdentity() throws {
        let (phone, laptop) = try devices()
        _ = try phone.sealed("before")
        _ = try laptop.sealed("before")
        try replaceKeys(by: phone)
        let new = try phone.sealed("new")
        // What the server refuses is encrypted again once it was asked.
        _ = try laptop.run(.write, asksServer: true)
        #expect(try laptop.opened(new) == "new")
        #expect(try ValueHeader(of: laptop.sealed("newer")).keyNumber == 2)
    }

    @Test("gets a new key where the box of the newest does not open, and keeps the earlier ones")
    func missingKey() throws {
        let (phone, laptop) = try devices()
        let value = try phone.sealed("word")
        let identity = try #require(phone.identity)
        let chain = try #require(try phone.kept().known).chain
        var statements = StatementDirectory()
        statements.add(identity.chain)
        let draft = RingDraft(after: chain.head, statements: statements)
        let next = try RingAuthor(user: desk.scope.account, identity: identity.keys, statements: statements)
            .next(after: chain, keys: chain.keys(of: identity), draft).entries[1]
        let boxes = next.boxes.map { $0.map { $0 ^ 1 } }
        let signature = identity.keys.sign(SignedRingEntry.message(next.entry, boxes: boxes))
        desk.entries.append(
            SharedBytes(SignedRingEntry(entry: next.entry, signature: signature, boxes: boxes).bytes))
        #expect(try laptop.opened(value) == "word" && desk.entries.count == 2)
        let new = try laptop.sealed("new")
        #expect(try desk.entries.count == 3 && ValueHeader(of: new).keyNumber == 3)
        #expect(try laptop.opened(value) == "word")
        phone.restart()
        #expect(try phone.opened(new) == "new" && phone.opened(value) == "word")
    }

    @Test("that is to be made by a device with old keys of the account is made with the new ones")
    func staleFirst() throws {
        let (phone, laptop) = try devices()
        try laptop.lookAtKeys()
        try replaceKeys(by: phone)
        let value = try laptop.sealed("word")
        #expect(desk.entries.count == 1)
        #expect(try phone.opened(value) == "word")
    }

    // MARK: A server that was restored

    @Test("is given back to a server that lacks all of it, or the newest entries, by reading as by writing")
    func restored() throws {
        for goal in [ZoneRingStateMachine.Goal.read, .write] {
            let (phone, _) = try devices()
            let values = try (1...3).map { number in
                if number > 1 { try replaceKeys(by: phone) }
                return try phone.sealed("\(number)")
            }
            let all = desk.entries
            #expect(all.count == 3)
            desk.entries = Array(all.prefix(2))
            try phone.run(goal, asksServer: true)
            let isGivenBack = desk.entries == all
            #expect(isGivenBack)
            #expect(try values.map(phone.opened) == ["1", "2", "3"])
            try reset()
        }
        let (phone, laptop) = try devices()
        let value = try phone.sealed("word")
        let all = desk.entries
        desk.entries = []
        // The laptop has no ring to give back, and must not make one beside it: it is not asked to write here.
        #expect(try laptop.run(.read) == nil)
        try phone.run(.read, asksServer: true)
        let isGivenBack = desk.entries == all
        #expect(isGivenBack)
        #expect(try laptop.opened(value) == "word")
    }

    private func reset() throws {
        desk.entries = []
        desk.statements.statements = []
        for name in ["phone", "laptop"] { try FileSystem.removeTree(folder.file(name)) }
    }

    @Test("goes on where a restored server can't take the lost entries any more, and nothing is lost")
    func restoredAcrossTwoRemovals() throws {
        let (phone, laptop) = try devices()
        var values = [try phone.sealed("1")]
        for number in 2...4 {
            try replaceKeys(by: phone)
            values.append(try phone.sealed("\(number)"))
        }
        laptop.restart()
        #expect(try laptop.opened(values[3]) == "4")
        let texts = ["1", "2", "3", "4"]
        for count in [2, 1] {
            // Entries are taken with the account's newest keys alone.
            desk.entries = Array(desk.entries.prefix(count))
            #expect(try values.map(phone.opened) == texts.prefix(values.count).map { $0 })
            #expect(desk.entries.count == count)
            phone.restart()
            #expect(try phone.run(.read, asksServer: true) != nil)
            let value = try phone.zoneKeys(.write, asksServer: true).map { keys in
                let cipher = try #require(keys.cipher(root: "page"))
                return cipher.record(named: "page", type: "Page").seal(
                    Array("new".utf8), field: "text", valueType: "STRING")
            }
            for device in [phone, laptop] {
                #expect(try device.opened(#require(value)) == "new")
                #expect(try values.map(device.opened) == texts.prefix(values.count).map { $0 })
                #expect(try ValueHeader(of: device.sealed("newer")).keyNumber == UInt32(count + 1))
            }
            #expect(desk.entries.count == count + 1)
        }
    }

    @Test("stays readable where a server has lost it and takes nothing back")
    func lostForGood() throws {
        let (phone, _) = try devices()
        let value = try phone.sealed("word")
        try replaceKeys(by: phone)
        desk.entries = []
        phone.restart()
        #expect(try phone.run(.read, asksServer: true) != nil)
        #expect(try phone.opened(value) == "word" && desk.entries.isEmpty)
        // A save makes another ring: nobody else could go on with this one.
        let new = try phone.sealed("new")
        #expect(desk.entries.count == 1)
        #expect(try phone.opened(new) == "new")
    }

    @Test("of a zone that is one tree is so however it goes on, and one for records never becomes one")
    func perZone() throws {
        let (phone, laptop) = try devices()
        #expect(try phone.run(.make(WantedPolicies(isPerZone: true)))?.chain.head.isPerZone == true)
        let value = try phone.sealed("word")
        #expect(try laptop.opened(value) == "word")
        for count in [1, 0] {
            for _ in 1...2 {
                try replaceKeys(by: phone)
                _ = try phone.sealed("word")
            }
            // The server takes none of the lost entries any more.
            try replaceKeys(by: phone)
            desk.entries = Array(desk.entries.prefix(count))
            let ring = try #require(try phone.run(.write, asksServer: true))
            #expect(ring.chain.head.isPerZone && desk.entries.count == count + 1)
        }
        desk.entries = []
        try phone.zoneWasDeleted()
        _ = try phone.sealed("word")
        #expect(try phone.failure(.make(WantedPolicies(isPerZone: true))) == .isPerRecord)
    }

    // MARK: A server that lies

    @Test("is not written with where the server shows another one, and what is known of it is still read")
    func fork() throws {
        let (phone, laptop) = try devices()
        let first = try phone.sealed("first")
        #expect(try laptop.opened(first) == "first")
        let before = desk.entries
        try replaceKeys(by: phone)
        let second = try phone.sealed("second")
        let branch = desk.entries
        laptop.restart()
        desk.entries = before
        let other = try laptop.sealed("other")
        #expect(desk.entries.count == 2)
        for (device, known, unknown) in [(phone, [first, second], other), (laptop, [first, other], second)] {
            desk.entries = device === phone ? desk.entries : branch
            #expect(try device.failure(.write) == .forked)
            for value in known { #expect(try device.zoneKeys(.read)?.ciphers(ValueHeader(of: value)).isEmpty == false) }
            #expect(try device.failure(.read) == .forked)
            let keys = try #require(try device.zoneKeys(.read))
            let record = keys.ciphers(try ValueHeader(of: unknown)).map { $0.record(named: "page", type: "Page") }
            #expect(record.allSatisfy { (try? $0.open(unknown, field: "text", valueType: "STRING")) == nil })
        }
    }

    @Test("goes on with what the server shows once a person accepts that, and what this device knew is still read")
    func accepting() throws {
        let (phone, laptop) = try devices()
        let first = try phone.sealed("first")
        #expect(try laptop.opened(first) == "first")
        let before = desk.entries
        try replaceKeys(by: phone)
        let second = try phone.sealed("second")
        laptop.restart()
        desk.entries = before
        let other = try laptop.sealed("other")
        #expect(try phone.failure(.write) == .forked)
        try phone.run(.accept, asksServer: true)
        #expect(try desk.entries.count == 3 && !desk.signed[2].entry.otherBranch.isEmpty)
        #expect(try [first, second, other].map(phone.opened) == ["first", "second", "other"])
        let third = try phone.sealed("third")
        #expect(try ValueHeader(of: third).keyNumber == 3)
        // The laptop was on the side that counts: it follows, and reads no key of the one that ended.
        #expect(try [first, other, third].map(laptop.opened) == ["first", "other", "third"])
        #expect(try laptop.opened(second) == nil)
        #expect(try ValueHeader(of: laptop.sealed("fourth")).keyNumber == 3)
        phone.restart()
        #expect(try [first, second, other, third].map(phone.opened) == ["first", "second", "other", "third"])
        // Once more changes nothing.
        let count = desk.entries.count
        try phone.run(.accept, asksServer: true)
        #expect(desk.entries.count == count)
    }

    @Test("is not accepted, nor followed, where its first entry says otherwise of files: that holds for good")
    func acceptingPolicies() throws {
        let (phone, _) = try devices()
        phone.encryptsAssets = true
        _ = try phone.sealed("first")
        let genuine = desk.entries
        let ring = try desk.signed[0].entry.ring
        let owner = try #require(phone.identity)
        // A device that was removed since has the keys to sign another beginning of the same ring.
        var statements = StatementDirectory()
        statements.add(owner.chain)
        let author = RingAuthor(user: desk.scope.account, identity: owner.keys, statements: statements)
        let member = RingMember(user: desk.scope.account, statementHash: owner.statement.hash, role: .owner)
        let forged = try author.begin(ring, hasPlainAssets: true, RingDraft(members: [member]))
        desk.entries = [SharedBytes(forged.entries[0].bytes)]
        let hash = try headHash(phone)
        for goal in [ZoneRingStateMachine.Goal.read, .write, .accept] { #expect(try phone.failure(goal) == .forked) }
        #expect(try headHash(phone) == hash && phone.kept().known?.chain.head.hasPlainAssets == false)
        // Nor one that says that it ends what the device knows.
        var draft = RingDraft(members: [member])
        draft.otherBranch = try #require(hash)
        let joining = try author.next(after: forged, keys: forged.keys(of: owner), draft)
        desk.entries = joining.entries.map { SharedBytes($0.bytes) }
        for goal in [ZoneRingStateMachine.Goal.read, .write, .accept] { #expect(try phone.failure(goal) == .forked) }
        desk.entries = genuine
        #expect(try phone.run(.write, asksServer: true) != nil)
    }

    @Test("is accepted with what the account's devices made alone, and nothing is made where there is none")
    func acceptingLies() throws {
        let (phone, laptop) = try devices()
        #expect(try phone.run(.accept, asksServer: true) == nil && desk.entries.isEmpty)
        _ = try phone.sealed("first")
        let genuine = desk.entries
        try replaceKeys(by: phone)
        _ = try phone.sealed("second")
        let hash = try headHash(phone)
        let known = desk.entries
        desk.entries = genuine
        _ = try laptop.sealed("other")
        var bytes = desk.entries[1].array
        bytes[bytes.count - 1] ^= 1
        desk.entries[1] = SharedBytes(bytes)
        #expect(try isMalformed(phone.failure(.accept)))
        #expect(try headHash(phone) == hash)
        // Fewer are given back as ever.
        desk.entries = Array(known.prefix(1))
        try phone.run(.accept, asksServer: true)
        #expect(try headHash(phone) == hash && desk.entries.count == 2)
    }

    @Test("of an earlier life of the zone that a server shows again is refused")
    func earlierLife() throws {
        let (phone, _) = try devices()
        let old = try phone.sealed("old")
        let first = desk.entries
        desk.entries = []
        try phone.zoneWasDeleted()
        let new = try phone.sealed("new")
        #expect(desk.entries.count == 1 && desk.entries != first)
        #expect(try phone.opened(old) == nil && phone.opened(new) == "new")
        let hash = try headHash(phone)
        desk.entries = first
        for goal in [ZoneRingStateMachine.Goal.read, .write] { #expect(try phone.failure(goal) == .isOver) }
        #expect(try headHash(phone) == hash && phone.zoneKeys(.read)?.newest == 1)
        #expect(try phone.kept().lives.ringIDs.count == 2)
    }

    /// A ring of the zone that a device with old keys of the account begins, or goes on with, in the owner's name.
    private func forged(
        by identity: Identity, behind entries: [SignedRingEntry] = [], otherBranch: [UInt8] = []
    ) throws -> SharedBytes {
        var statements = StatementDirectory()
        statements.add(identity.chain)
        let author = RingAuthor(user: desk.scope.account, identity: identity.keys, statements: statements)
        let owner = RingMember(user: desk.scope.account, statementHash: identity.statement.hash, role: .owner)
        var draft = RingDraft(members: [owner])
        draft.otherBranch = otherBranch
        let chain: RingChain
        if entries.isEmpty {
            let place = try Place(
                container: desk.scope.container, environment: desk.scope.environment, owner: desk.scope.account,
                zone: desk.zone, ringID: Place.newRingID())
            chain = try author.begin(RingName(place: place), hasPlainAssets: true, draft)
        } else {
            let former = RingChain(kept: entries)
            chain = try author.next(after: former, keys: former.keys(of: identity), draft)
        }
        return SharedBytes(chain.entries[chain.entries.count - 1].bytes)
    }

    @Test("that a removed device begins anew, or ends a branch of, is refused, and nothing that is known is lost")
    func removedDeviceLies() throws {
        let (phone, laptop) = try devices()
        let before = try phone.sealed("before")
        #expect(try laptop.opened(before) == "before")
        let thief = try #require(phone.identity)
        try remove(phone, by: laptop)
        let after = try laptop.sealed("after")
        let genuine = desk.entries
        let hash = try headHash(laptop)
        let head = try #require(desk.signed.last).entry.hash
        let begun = [try forged(by: thief)]
        let ended = [genuine[0], try forged(by: thief, behind: [desk.signed[0]], otherBranch: head)]
        for lie in [begun, ended] {
            desk.entries = lie
            for goal in [ZoneRingStateMachine.Goal.read, .write] {
                let failure = try laptop.failure(goal)
                #expect(failure == .isOver || failure == .forked)
            }
            #expect(try headHash(laptop) == hash && laptop.kept().lives.ringIDs.count == 1)
        }
        desk.entries = genuine
        #expect(try [before, after].map(laptop.opened) == ["before", "after"])
        // The account's own device may end a branch, as after a restore.
        let owner = try #require(laptop.identity)
        desk.entries = [genuine[0], try forged(by: owner, behind: [desk.signed[0]], otherBranch: head)]
        #expect(try laptop.run(.read, asksServer: true)?.endedBranches.count == 1)
        #expect(try [before, after].map(laptop.opened) == ["before", "after"])
    }

    @Test("is another one in a zone that was made anew, here or by another device")
    func newLife() throws {
        let (phone, laptop) = try devices()
        let old = try phone.sealed("old")
        #expect(try laptop.opened(old) == "old")
        desk.entries = []
        try phone.zoneWasDeleted()
        #expect(try phone.run(.read) == nil)
        let new = try phone.sealed("new")
        // The laptop was told nothing, and sees it once it asks.
        #expect(try laptop.run(.write, asksServer: true)?.chain.head.ring.place == phone.zoneKeys(.read)?.place)
        #expect(try laptop.opened(new) == "new")
        #expect(try laptop.kept().lives.ringIDs.count == 2)
    }

    @Test("says for good whether files are encrypted, also in a zone that was said to be deleted")
    func filePolicy() throws {
        let (phone, laptop) = try devices()
        phone.encryptsAssets = true
        _ = try phone.sealed("old")
        #expect(try laptop.run(.write)?.chain.head.hasPlainAssets == false)
        // A device that does not ask for it goes on with it.
        desk.entries = []
        try laptop.zoneWasDeleted()
        let anew = try #require(try laptop.run(.write))
        #expect(!anew.chain.head.hasPlainAssets && anew.chain.head.number == 1)
    }

    @Test("says of files what the app wants of the zone, and is not made where what is known of it says otherwise")
    func wantedFilePolicy() throws {
        let (phone, laptop) = try devices()
        phone.encryptsAssets = true
        let plain = WantedPolicies(encryptsAssets: false)
        let encrypting = WantedPolicies(encryptsAssets: true)
        #expect(try phone.run(.make(plain))?.chain.head.hasPlainAssets == true)
        #expect(try phone.run(.make(plain))?.chain.head.number == 1)
        #expect(try laptop.failure(.make(encrypting)) == .hasOtherFiles(areEncrypted: false))
        #expect(try laptop.run(.make(WantedPolicies()))?.chain.head.hasPlainAssets == true)
        // The zone was deleted, and is made anew.
        desk.entries = []
        try laptop.zoneWasDeleted()
        #expect(try laptop.run(.make(encrypting))?.chain.head.hasPlainAssets == false)
        #expect(try laptop.failure(.make(plain)) == .hasOtherFiles(areEncrypted: true))
        // A server can say so as often as it likes.
        desk.entries = []
        try laptop.zoneWasDeleted()
        #expect(try laptop.failure(.make(plain)) == .hasOtherFiles(areEncrypted: true))
        #expect(desk.entries.isEmpty)
    }

    @Test(
        "that leaves files plain counts for an app that wants them encrypted where no removed device can have made it")
    func plainPolicyOfRemovedDevice() throws {
        let (phone, laptop) = try devices()
        _ = try laptop.run(.read)
        let thief = try #require(phone.identity ?? laptop.identity)
        try remove(phone, by: laptop)
        laptop.encryptsAssets = true
        desk.entries = [try forged(by: thief)]
        let ring = try #require(try laptop.run(.write, asksServer: true))
        let keys = RingKeys(ring, of: try #require(laptop.identity))
        #expect(!keys.encryptsAssets && !keys.isPlainGenuine)
        // One that is of the account's keys counts.
        desk.entries = []
        try laptop.zoneWasDeleted()
        laptop.encryptsAssets = false
        let own = RingKeys(try #require(try laptop.run(.write)), of: try #require(laptop.identity))
        #expect(!own.encryptsAssets && own.isPlainGenuine)
    }

    @Test("that a zone still has which was said to be deleted is gone on with")
    func notDeleted() throws {
        let (phone, _) = try devices()
        let value = try phone.sealed("word")
        try phone.zoneWasDeleted()
        #expect(try ValueHeader(of: phone.sealed("words")).treeID == ValueHeader(of: value).treeID)
        #expect(try phone.kept().isOver == false && phone.kept().lives.ringIDs.count == 1)
        #expect(desk.entries.count == 1)
    }

    @Test("with an entry that no device of the account made is refused, and nothing of it is kept")
    func hostileEntries() throws {
        let (phone, laptop) = try devices()
        _ = try phone.sealed("word")
        try replaceKeys(by: phone)
        _ = try phone.sealed("words")
        let honest = try desk.signed
        let place = honest[0].entry.ring.place
        let identity = try #require(phone.identity)
        var statements = StatementDirectory()
        statements.add(identity.chain)

        // Somebody else with an identity in the account's name, as a server can make one.
        let (stranger, _) = try Identity.first(
            scope: desk.scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode())
        var strangers = StatementDirectory()
        strangers.add(stranger.chain)
        func begin(
            _ identity: Identity, _ statements: StatementDirectory, container: String? = nil,
            environment: String? = nil, owner: String? = nil, zone: String? = nil
        ) throws -> [SignedRingEntry] {
            let ring = try RingName(
                place: Place(
                    container: container ?? place.container, environment: environment ?? place.environment,
                    owner: owner ?? place.owner, zone: zone ?? place.zone, ringID: Place.newRingID()))
            let user = identity.statement.scope.account
            return try RingAuthor(user: user, identity: identity.keys, statements: statements).begin(
                ring, RingDraft(members: [.init(user: user, statementHash: identity.statement.hash, role: .owner)])
            ).entries
        }
        func of(account: String = "_ada", container: String = "iCloud.test", environment: String = "development")
            throws -> [SignedRingEntry]
        {
            let scope = IdentityScope(account: account, container: container, environment: environment)
            let (identity, _) = try Identity.first(
                scope: scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode())
            var statements = StatementDirectory()
            statements.add(identity.chain)
            return try begin(
                identity, statements, container: scope.container, environment: scope.environment, owner: scope.account)
        }
        let others = try begin(identity, statements)
        var lies: [(String, [SignedRingEntry])] = [
            ("a stranger's", try begin(stranger, strangers)),
            ("of another zone", try begin(identity, statements, zone: "Diary2")),
            ("of another owner", try of(account: "_bob")),
            ("of another container", try of(container: "other")),
            ("of another environment", try of(environment: "production")),
            ("the second of another chain", [others[0], honest[1]]),
        ]
        let bytes = desk.entries.map(\.array)
        var unsigned = bytes[0]
        unsigned[unsigned.count - 1] ^= 1
        lies.append(("with another box", [try SignedRingEntry(unsigned)]))
        for (what, entries) in lies {
            desk.entries = entries.map { SharedBytes($0.bytes) }
            for goal in [ZoneRingStateMachine.Goal.read, .write] {
                #expect(isMalformed(try laptop.failure(goal)), "\(what)")
                #expect(try laptop.loaded().head == nil, "\(what)")
            }
        }
        for count in [0, 1, bytes[0].count - 1] {
            desk.entries = [SharedBytes(Array(bytes[0].prefix(count)))]
            #expect(isMalformed(try laptop.failure(.write)))
        }
        // A device that knows the ring keeps it as it was.
        let hash = try headHash(phone)
        desk.entries = [SharedBytes(bytes[0]), SharedBytes(bytes[1]), SharedBytes(others[0].bytes)]
        desk.entriesPerPage = 1
        #expect(try phone.failure(.write) == .busy, "an entry of another number stands in its place")
        #expect(try headHash(phone) == hash)
        desk.entries = desk.entries.dropLast()
        #expect(try laptop.run(.read)?.chain.head.number == 2)
    }

    @Test("of a newer format is refused as such")
    func newer() throws {
        let (phone, laptop) = try devices()
        _ = try phone.sealed("word")
        let entry = desk.entries[0].array
        // The format stands behind two labels, each with its length.
        let labels = ["brume/1/signed-ring-entry", "brume/1/ring-entry"].reduce(0) { $0 + 4 + $1.utf8.count }
        for index in [labels + 4, labels + 5] {
            var bytes = entry
            #expect(bytes[index] == 1)
            bytes[index] = 2
            desk.entries = [SharedBytes(bytes)]
            #expect(try laptop.failure(.write) == .newer && laptop.failure(.read) == .newer)
        }
    }

    @Test("is read page by page, and again where it changes meanwhile, but not without end")
    func pages() throws {
        let (phone, laptop) = try devices()
        for number in 1...5 {
            if number > 1 { try replaceKeys(by: phone) }
            _ = try phone.sealed("\(number)")
        }
        let fetches = desk.fetchCount
        #expect(try laptop.run(.read)?.chain.head.number == 5)
        #expect(desk.fetchCount - fetches == 3)
        // Entries went between two pages.
        var isFirst = true
        desk.lie = { page in
            if isFirst { page.last += 1 }
            isFirst = false
        }
        #expect(try laptop.run(.read, asksServer: true)?.chain.head.number == 5)
        // They always do.
        var last: UInt32 = 1000
        desk.lie = { page in
            last -= 1
            page.last = last
        }
        #expect(try laptop.failure(.read) == .busy)
        desk.lie = { $0.last += 1 }
        #expect(isMalformed(try laptop.failure(.read)))
        desk.lie = { $0.last -= 1 }
        #expect(try laptop.failure(.read) != nil)
        desk.lie = { $0.entries = [] }
        #expect(isMalformed(try laptop.failure(.write)))
        desk.lie = nil
        #expect(try laptop.run(.read, asksServer: true)?.chain.head.number == 5)
    }
}
