import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// Nothing is saved under a key that somebody may have who was dropped.
@Suite("Saves of encrypted values", .timeLimit(.minutes(1)))
struct KeyNumberTests {
    private let disk = SimulatedDisk()
    private let notes = ZoneID(name: "notes")

    private func server() throws -> (SteppedServer, FramePeer) {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        try peer.makeZone("notes")
        return (server, peer)
    }

    /// The database of a peer's account, in the memory of its loop.
    private func loaded(_ server: SteppedServer, _ peer: FramePeer) throws -> LoadedDatabase {
        var found: LoadedDatabase?
        for shard in server.core.shards {
            shard.databases.forEach { if $0.database.id.owner == peer.user { found = $0 } }
        }
        return try #require(found)
    }

    private func save(
        _ header: EncryptedHeader, as name: String = "r", stamped: Bool = false
    ) -> RecordSave<DecodedFields> {
        stamped
            ? RecordSave(name: name, type: "Note", stamp: EncryptedSamples.stamp(header), fields: [:])
            : RecordSave(name: name, type: "Note", fields: ["e": EncryptedSamples.value(header: header)])
    }

    /// What each save of a batch fails with; nil for those that are done.
    private func errors(
        _ saves: [RecordSave<DecodedFields>], in zone: ZoneID? = nil, of database: DatabaseScope = .private,
        isAtomic: Bool = false, operation: [UInt8] = [], by peer: FramePeer
    ) throws -> [ServiceError?] {
        let request = ModifyRecordsRequest(
            database: database, savePolicy: .changedKeys, isAtomic: isAtomic, operationID: operation,
            zones: [ZoneModification(zone: zone ?? notes, saves: saves)])
        return try peer.modify(request)[0].saves.map {
            if case .failure(let error) = $0.outcome { error } else { nil }
        }
    }

    /// Whether a save of a value with a header is refused for its key; anything else that it fails with is thrown.
    private func isRefused(
        _ header: EncryptedHeader, stamped: Bool = false, in zone: ZoneID? = nil, of database: DatabaseScope = .private,
        as name: String = "r", by peer: FramePeer
    ) throws -> Bool {
        let save = save(header, as: name, stamped: stamped)
        guard let error = try errors([save], in: zone, of: database, by: peer)[0] else { return false }
        guard error.code == .accountTemporarilyUnavailable, error.detail == .keysChanged else { throw error }
        return true
    }

    @Test("need the ring of their zone, and its newest key, in values as in stamps") func numbers() throws {
        let (_, peer) = try server()
        var keys = try peer.makeKeys()
        for stamped in [false, true] {
            #expect(try isRefused(keys.header(in: "notes"), stamped: stamped, by: peer), "there is no ring")
        }
        try peer.appendEntry(of: "notes", &keys)
        for newest in 1...3 as ClosedRange<UInt32> {
            for number in 1...4 as ClosedRange<UInt32> {
                for stamped in [false, true] {
                    let header = try keys.header(in: "notes", keyNumber: number)
                    #expect(try isRefused(header, stamped: stamped, by: peer) == (number != newest))
                }
            }
            try peer.appendEntry(of: "notes", &keys)
        }
        try peer.makeZone("other")
        #expect(try isRefused(keys.header(in: "notes"), in: ZoneID(name: "other"), by: peer))
        #expect(try isRefused(keys.header(in: "notes"), in: .defaultZone, by: peer))
        let missing = try errors([save(keys.header(in: "notes"))], in: ZoneID(name: "none"), by: peer)
        #expect(missing[0]?.code == .zoneNotFound)
    }

    @Test("of shared trees need the ring of their tree, as long as it is open") func trees() throws {
        let (_, peer) = try server()
        var keys = try peer.makeRings(in: "notes")
        #expect(try isRefused(keys.header(in: "notes", root: "list", isShared: true), by: peer), "there is no ring")
        try peer.appendEntry(of: "notes", root: "list", &keys)
        try peer.appendEntry(of: "notes", root: "list", &keys)
        for number in 1...3 as ClosedRange<UInt32> {
            let header = try keys.header(in: "notes", root: "list", isShared: true, keyNumber: number)
            #expect(try isRefused(header, by: peer) == (number != 2))
        }
        #expect(try isRefused(keys.header(in: "notes", root: "other", isShared: true, keyNumber: 2), by: peer))
        #expect(try !isRefused(keys.header(in: "notes", root: "list"), by: peer), "the zone's key is the newest")
        // Rings that begin after others were looked for are found, too.
        for root in ["x", "y"] {
            try peer.appendEntry(of: "notes", root: root, &keys)
            #expect(try !isRefused(keys.header(in: "notes", root: root, isShared: true), by: peer))
        }
        try peer.appendEntry(of: "notes", root: "list", closes: true, &keys)
        #expect(try isRefused(keys.header(in: "notes", root: "list", isShared: true), by: peer), "it was closed")
        #expect(try !isRefused(keys.header(in: "notes", root: "x", isShared: true), by: peer))
        try peer.appendEntry(of: "notes", root: "list", &keys)
        #expect(try !isRefused(keys.header(in: "notes", root: "list", isShared: true), by: peer), "it is open again")
    }

    @Test("wait after a device was removed until the ring has a key that it does not have") func due() throws {
        var (server, peer) = try server()
        var keys = try peer.makeRings(in: "notes")
        try peer.appendEntry(of: "notes", root: "list", &keys)
        try keys.addDevice()
        try peer.append(statementOf: keys)
        #expect(try !isRefused(keys.header(in: "notes"), by: peer), "the keys are the same")
        try keys.replaceKeys()
        try peer.append(statementOf: keys)
        for run in 2...3 as ClosedRange<UInt32> {
            for stamped in [false, true] {
                let tree = try keys.header(in: "notes", root: "list", isShared: true)
                #expect(try isRefused(keys.header(in: "notes"), stamped: stamped, by: peer))
                #expect(try isRefused(tree, stamped: stamped, by: peer))
            }
            if run == 3 { break }
            server = try SteppedServer(disk: disk, run: run)
            peer = try server.connect(account: "a")
        }
        try peer.appendEntry(of: "notes", &keys)
        #expect(try !isRefused(keys.header(in: "notes"), by: peer))
        #expect(try isRefused(keys.header(in: "notes", keyNumber: 1), by: peer))
        #expect(try isRefused(keys.header(in: "notes", root: "list", isShared: true), by: peer), "each ring for itself")
        try peer.appendEntry(of: "notes", root: "list", &keys)
        #expect(try !isRefused(keys.header(in: "notes", root: "list", isShared: true), by: peer))
    }

    @Test("name the entry of the ring that they know: keys of another ring have the same numbers")
    func otherRing() throws {
        let (_, peer) = try server()
        var keys = try peer.makeRings(in: "notes")
        func isRefused(_ hash: [UInt8], _ header: EncryptedHeader) throws -> Bool {
            var modification = ZoneModification(zone: notes, saves: [save(header)])
            modification.ringEntryHash = hash
            let request = ModifyRecordsRequest(database: .private, savePolicy: .changedKeys, zones: [modification])
            guard case .failure(let error) = try peer.modify(request)[0].saves[0].outcome else { return false }
            return error.detail == .keysChanged
        }
        let (former, header) = (try keys.entryHash(of: "notes"), try keys.header(in: "notes"))
        #expect(try !isRefused(former, header) && !isRefused([], header))
        try peer.deleteZone("notes")
        try peer.makeZone("notes")
        keys.forgetRings(of: "notes")
        try peer.appendEntry(of: "notes", &keys)
        // A device that was told nothing encrypts with the former zone's key, whose number is that of the new one's.
        #expect(try isRefused(former, header))
        #expect(try !isRefused(keys.entryHash(of: "notes"), keys.header(in: "notes")))
        // What is encrypted with a tree's key is of the tree's ring; nothing else is compared.
        try peer.appendEntry(of: "notes", root: "list", &keys)
        #expect(try !isRefused(former, keys.header(in: "notes", root: "list", isShared: true)))
        var plain = ZoneModification<DecodedFields>(
            zone: notes, saves: [RecordSave(name: "p", type: "Note", fields: [:])])
        plain.ringEntryHash = former
        guard
            case .record = try peer.modify(
                ModifyRecordsRequest(database: .private, savePolicy: .changedKeys, zones: [plain]))[0].saves[0].outcome
        else {
            Issue.record("a save without encrypted values is refused")
            return
        }
    }

    @Test("begin anew with the rings: after a reset, and in a zone that was made again") func anew() throws {
        let (_, peer) = try server()
        var keys = try peer.makeRings(in: "notes", Names.defaultZone)
        try peer.appendEntry(of: Names.defaultZone, root: "list", &keys)
        let tree = try keys.header(in: Names.defaultZone, root: "list", isShared: true)
        #expect(try !isRefused(tree, in: .defaultZone, by: peer))
        #expect(try !isRefused(keys.header(in: "notes"), by: peer))
        try peer.deleteZone("notes")
        try peer.makeZone("notes")
        #expect(try isRefused(keys.header(in: "notes"), by: peer))
        keys.forgetRings(of: "notes")
        try peer.appendEntry(of: "notes", &keys)
        #expect(try !isRefused(keys.header(in: "notes"), by: peer))
        let replaced = keys.statementHash
        try keys.beginAnew()
        try peer.append(statementOf: keys, inPlaceOf: replaced)
        try peer.makeZone("notes")
        for header in [tree, try keys.header(in: Names.defaultZone)] {
            #expect(try isRefused(header, in: .defaultZone, by: peer))
        }
        for zone in ["notes", Names.defaultZone] {
            try peer.appendEntry(of: zone, &keys)
            #expect(try !isRefused(keys.header(in: zone), in: ZoneID(name: zone), by: peer))
        }
        #expect(try isRefused(tree, in: .defaultZone, by: peer), "the tree's ring went")
    }

    @Test("are refused one by one, with all of an atomic batch, and behind what else is wrong with them")
    func batches() throws {
        let (_, peer) = try server()
        var keys = try peer.makeRings(in: "notes")
        try peer.appendEntry(of: "notes", &keys)
        let (good, bad) = (try keys.header(in: "notes"), try keys.header(in: "notes", keyNumber: 1))
        let batch = (0..<400).map { save($0 % 2 == 0 ? good : bad, as: "r\($0)", stamped: $0 % 3 == 0) }
        let atomic = try errors(batch, isAtomic: true, by: peer).map(\.?.code)
        #expect(
            atomic == (0..<400).map { $0 % 2 == 0 ? .batchRequestFailed : .accountTemporarilyUnavailable })
        let single = try errors(batch, by: peer).map(\.?.code)
        #expect(single == (0..<400).map { $0 % 2 == 0 ? nil : .accountTemporarilyUnavailable })
        var late = save(bad, as: "r0")
        late.changeTag = "x"
        let request = ModifyRecordsRequest(
            database: .private, savePolicy: .ifServerRecordUnchanged,
            zones: [ZoneModification(zone: notes, saves: [late])])
        guard case .failure(let error) = try peer.modify(request)[0].saves[0].outcome else { return }
        #expect(error.code == .serverRecordChanged, "a conflict is told first")
    }

    @Test("leave what they don't send as it was: with older keys, without, and away") func others() throws {
        let (_, peer) = try server()
        var keys = try peer.makeRings(in: "notes")
        let older = try keys.header(in: "notes")
        let value = EncryptedSamples.value(header: older)
        var first = save(older)
        first.fields["f"] = value
        first.stamp = EncryptedSamples.stamp(older)
        #expect(try errors([first], by: peer) == [nil])
        try peer.appendEntry(of: "notes", &keys)
        func fields() throws -> [String: FieldValue]? {
            guard case .record(let record) = try peer.fetch(["r"], in: notes)[0] else { return nil }
            return record.system.stamp.isEmpty ? nil : record.fields
        }
        #expect(try isRefused(older, by: peer), "the same bytes are checked all the same")
        let plain = RecordSave<DecodedFields>(name: "r", type: "Note", fields: ["n": .int64(1)])
        #expect(try errors([plain], by: peer) == [nil])
        #expect(try fields() == ["e": value, "f": value, "n": .int64(1)])
        let without = RecordSave<DecodedFields>(
            name: "r", type: "Note", replacesEncrypted: true, fields: ["f": FieldValue?.none])
        #expect(try errors([without], by: peer) == [nil])
        try keys.replaceKeys()
        try peer.append(statementOf: keys)
        #expect(try errors([plain, save(older, as: "x")], by: peer).map(\.?.code)[0] == nil, "though it is due")
        #expect(try fields() == ["e": value, "n": .int64(1)])
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .private, zones: [ZoneModification(zone: notes, deletions: ["r"])])
        #expect(try peer.modify(request)[0].deletions == [nil])
    }

    @Test("that were done are answered as before when they are sent again, whatever key is the newest now")
    func retries() throws {
        let (_, peer) = try server()
        var keys = try peer.makeRings(in: "notes")
        let header = try keys.header(in: "notes")
        let operation = [UInt8](repeating: 7, count: 16)
        #expect(try errors([save(header)], operation: operation, by: peer) == [nil])
        try peer.appendEntry(of: "notes", &keys)
        #expect(try errors([save(header)], operation: operation, by: peer) == [nil])
        #expect(try isRefused(header, by: peer))
        // A refusal is an answer like any other.
        let other = [UInt8](repeating: 8, count: 16)
        let mixed = [save(header), save(try keys.header(in: "notes"), as: "x")]
        for _ in 0..<2 {
            let found = try errors(mixed, operation: other, by: peer)
            #expect(found.map(\.?.detail) == [.keysChanged, nil])
            try peer.appendEntry(of: "notes", &keys)
        }
    }

    @Test("of those who take part are checked as the owner's, and tell them of no ring that they may not see")
    func participants() throws {
        let server = try SteppedServer(disk: disk)
        let (a, b, c) = (
            try server.connect(account: "a"), try server.connect(account: "b"), try server.connect(account: "c")
        )
        try a.makeZone("notes")
        try b.accept(try a.shareRecord("list", in: "notes", with: [b.user]))
        try a.shareRecord("secret", in: "notes", with: [c.user])
        var keys = try a.makeRings(in: "notes")
        let theirs = ZoneID(name: "notes", owner: a.user)
        func answer(_ header: EncryptedHeader, by peer: FramePeer) throws -> ServiceError? {
            var save = save(header, as: "below")
            save.parent = .set("list")
            return try errors([save], in: theirs, of: .shared, by: peer)[0]
        }
        let noRing = try answer(keys.header(in: "notes", root: "none", isShared: true), by: b)
        #expect(noRing?.detail == .keysChanged)
        for root in ["list", "secret"] {
            try a.appendEntry(of: "notes", root: root, &keys)
            try a.appendEntry(of: "notes", root: root, &keys)
        }
        #expect(try answer(keys.header(in: "notes", root: "list", isShared: true), by: b) == nil)
        let older = try answer(keys.header(in: "notes", root: "list", isShared: true, keyNumber: 1), by: b)
        #expect(older?.detail == .keysChanged && older != noRing)
        // Of another's tree, and of the zone's own key, they learn nothing, not by any number.
        for number in 1...3 as ClosedRange<UInt32> {
            for header in [
                try keys.header(in: "notes", root: "secret", isShared: true, keyNumber: number),
                try keys.header(in: "notes", root: "list", keyNumber: number),
            ] { #expect(try answer(header, by: b) == noRing) }
        }
        // To whom nothing is shared, all is as if there were nothing.
        let d = try server.connect(account: "d")
        #expect(try answer(keys.header(in: "notes", root: "list", isShared: true), by: d)?.code == .zoneNotFound)
        try keys.replaceKeys()
        try a.append(statementOf: keys)
        #expect(try answer(keys.header(in: "notes", root: "list", isShared: true), by: b)?.detail == .keysChanged)
        try a.shareZone("whole", with: [b.user])
        try b.accept(try a.changeShare(of: "whole", ShareEdit()))
        try a.appendEntry(of: "whole", &keys)
        let whole = ZoneID(name: "whole", owner: a.user)
        #expect(try !isRefused(keys.header(in: "whole"), in: whole, of: .shared, by: b))
        try a.appendEntry(of: "whole", &keys)
        #expect(try isRefused(keys.header(in: "whole", keyNumber: 1), in: whole, of: .shared, by: b))
    }

    @Test("cost no reading of rings and statements but of what is new, however many there are") func costs() throws {
        var (server, peer) = try server()
        var keys = try peer.makeKeys()
        for _ in 0..<20 {
            try keys.replaceKeys()
            try peer.append(statementOf: keys)
        }
        func reads() throws -> Int { try loaded(server, peer).ringHeads.testOnly_readCount }
        try peer.save(["plain"], zone: notes) { _ in ["n": .int64(1)] }
        #expect(try reads() == 0, "who encrypts nothing pays nothing")
        try peer.appendEntry(of: "notes", &keys)
        #expect(try reads() == 21, "each statement once")
        for root in 0..<20 { try peer.appendEntry(of: "notes", root: "list\(root)", &keys) }
        #expect(try reads() == 21)
        let own = try keys.header(in: "notes")
        let tree = try keys.header(in: "notes", root: "list7", isShared: true)
        let saves = (0..<200).map { save($0 % 2 == 0 ? own : tree, as: "r\($0)", stamped: $0 % 3 == 0) }
        for _ in 0..<3 {
            #expect(try errors(saves, by: peer).allSatisfy { $0 == nil })
            // The zone's entry, the tree's, and a hash for each tree.
            #expect(try reads() == 43)
        }
        // Trees that don't exist are looked up, and no more.
        let invented = try (0..<400).map {
            save(try keys.header(in: "notes", root: "none\($0)", isShared: true), as: "r\($0)")
        }
        #expect(try errors(invented, by: peer).allSatisfy { $0?.detail == .keysChanged })
        #expect(try reads() == 43)
        try keys.replaceKeys()
        try peer.append(statementOf: keys)
        try peer.appendEntry(of: "notes", &keys)
        #expect(try errors([save(keys.header(in: "notes"))], by: peer) == [nil])
        #expect(try reads() == 45, "a statement and an entry are new")
        server = try SteppedServer(disk: disk, run: 2)
        peer = try server.connect(account: "a")
        #expect(try errors([save(keys.header(in: "notes"))], by: peer) == [nil])
        #expect(try reads() == 23, "22 statements and an entry")
        try peer.deleteZone("notes")
        try peer.makeZone("notes")
        keys.forgetRings(of: "notes")
        try peer.appendEntry(of: "notes", &keys)
        let before = try loaded(server, peer).ringHeads.approximateBytes
        #expect(try errors([save(keys.header(in: "notes"))], by: peer) == [nil])
        #expect(
            try loaded(server, peer).ringHeads.approximateBytes == before,
            "what was known of a zone that went is forgotten")
    }

    @Test("fail where the rings are not as they were, and the server's health says so") func damage() throws {
        let (server, peer) = try server()
        let keys = try peer.makeKeys()
        let database = try loaded(server, peer).database
        _ = try database.append(
            ringEntry: SharedBytes([1, 2, 3]), number: 1, root: "", zone: notes, quota: nil, nowMilliseconds: 1)
        #expect(try errors([save(keys.header(in: "notes"))], by: peer)[0]?.code == .internalError)
        #expect(server.core.health(at: server.nowNanoseconds).isDamageFound)
    }
}
