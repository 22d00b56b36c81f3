import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// A zone whose ring says that its assets are encrypted gets no other ones.
@Suite("Plain assets in zones whose assets are encrypted", .timeLimit(.minutes(1)))
struct PlainAssetTests {
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

    private func upload(
        _ number: UInt8, in zone: ZoneID? = nil, of database: DatabaseScope = .private, by peer: FramePeer
    ) throws -> Asset {
        let content = [UInt8](repeating: number, count: 1_000)
        return try peer.upload(
            content, checksum: AssetChecksum(SHA256.digest(content))!,
            id: UploadID([UInt8](repeating: number, count: 16))!, zone: zone ?? notes, database: database)
    }

    /// The asset as it is stored, and as a save names it without its receipt.
    private func stored(_ asset: Asset) -> Asset {
        var asset = asset
        asset.receipt = []
        return asset
    }

    private func note(
        _ fields: DecodedFields, as name: String = "r", changeTag: String = ""
    ) -> RecordSave<DecodedFields> {
        RecordSave(
            name: name, type: name == "list" ? "List" : "Note", changeTag: changeTag, replacesEncrypted: true,
            fields: fields)
    }

    private func errors(
        _ saves: [RecordSave<DecodedFields>], in zone: ZoneID? = nil, of database: DatabaseScope = .private,
        _ policy: SavePolicy = .changedKeys, isAtomic: Bool = false, by peer: FramePeer
    ) throws -> [ServiceError?] {
        let request = ModifyRecordsRequest(
            database: database, savePolicy: policy, isAtomic: isAtomic,
            zones: [ZoneModification(zone: zone ?? notes, saves: saves)])
        return try peer.modify(request)[0].saves.map {
            if case .failure(let error) = $0.outcome { error } else { nil }
        }
    }

    /// Whether fields are refused since an asset of theirs is plain; anything else that the save fails with is thrown.
    private func isRefused(
        _ fields: DecodedFields, as name: String = "r", in zone: ZoneID? = nil, of database: DatabaseScope = .private,
        by peer: FramePeer
    ) throws -> Bool {
        guard let error = try errors([note(fields, as: name)], in: zone, of: database, by: peer)[0]
        else { return false }
        try #require(isRefusal(error), "\(error.code): \(error.message)")
        return true
    }

    private func isRefusal(_ error: ServiceError?) -> Bool {
        error?.code == .accountTemporarilyUnavailable && error?.detail == ServiceError.Detail.none
            && error?.message.contains("encrypted by its owner's devices") == true
    }

    @Test("are refused alone and in lists, and nothing else is") func kinds() throws {
        let (_, peer) = try server()
        let assets = try (1...3).map { try upload($0, by: peer) }
        var keys = try peer.makeKeys()
        func fields() throws -> [DecodedFields] {
            [
                ["m": .asset(assets[0])], ["l": .assets([assets[1]])],
                ["a": .int64(1), "m": .asset(assets[0]), "z": .string("x")],
                ["f": EncryptedSamples.asset(assets[0], header: try keys.header(in: "notes")), "m": .asset(assets[1])],
                ["l": .assets([assets[2], assets[1]]), "o": .int64(1)],
            ]
        }
        #expect(try !isRefused(["m": .asset(assets[0])], as: "before", by: peer), "there is no ring")
        try peer.appendEntry(of: "notes", &keys)
        for (index, fields) in try fields().enumerated() {
            #expect(try isRefused(fields, as: "r\(index)", by: peer), "\(fields)")
        }
        let encrypted: DecodedFields = [
            "c": EncryptedSamples.assets(assets, header: try keys.header(in: "notes")), "n": .int64(1),
            "b": EncryptedSamples.asset(assets[0], header: try keys.header(in: "notes")), "p": .assets([]),
        ]
        #expect(try !isRefused(encrypted, by: peer) && !isRefused(["s": .string("x")], as: "s", by: peer))
        // Other zones have rings of their own, or none.
        try peer.makeZone("other")
        let other = ZoneID(name: "other")
        let there = try upload(1, in: other, by: peer)
        #expect(try !isRefused(["m": .asset(there)], in: other, by: peer))
        try peer.appendEntry(of: "other", hasPlainAssets: true, &keys)
        #expect(try !isRefused(["l": .assets([there])], as: "r2", in: other, by: peer))
        try peer.appendEntry(of: "other", &keys)
        #expect(try !isRefused(["m": .asset(there)], as: "new", in: other, by: peer))
        let wrong = ZoneModification(zone: ZoneID(name: "none"), saves: [note(["m": .asset(there)])])
        let request = ModifyRecordsRequest(database: .private, savePolicy: .changedKeys, zones: [wrong])
        #expect(try peer.modify(request)[0].saves.codes == [.zoneNotFound])
    }

    @Test("are refused also where the ring is due, after a restart, and no longer in a zone that was made anew")
    func times() throws {
        var (server, peer) = try server()
        let asset = try upload(1, by: peer)
        var keys = try peer.makeRings(in: "notes")
        #expect(try isRefused(["m": .asset(asset)], by: peer))
        try keys.replaceKeys()
        try peer.append(statementOf: keys)
        #expect(try isRefused(["m": .asset(asset)], by: peer))
        server = try SteppedServer(disk: disk, run: 2)
        peer = try server.connect(account: "a")
        #expect(try isRefused(["m": .asset(asset)], by: peer))
        try peer.appendEntry(of: "notes", &keys)
        #expect(try isRefused(["m": .asset(asset)], by: peer))
        try peer.deleteZone("notes")
        try peer.makeZone("notes")
        #expect(try !isRefused(["m": .asset(asset)], by: peer))
        keys.forgetRings(of: "notes")
        try peer.appendEntry(of: "notes", hasPlainAssets: true, &keys)
        #expect(try !isRefused(["l": .assets([asset])], as: "r2", by: peer))
    }

    @Test("stay where a record has them, all or some, whatever else of it is saved, and come to no other field")
    func keeping() throws {
        let (_, peer) = try server()
        let assets = try (1...5).map { try upload($0, by: peer) }
        let old = assets.map(stored)
        let before: DecodedFields = [
            "k": .asset(assets[0]), "l": .assets([assets[1], assets[2], assets[0]]), "n": .int64(1),
        ]
        #expect(try errors([note(before), note(before, as: "other")], by: peer) == [nil, nil])
        let keys = try peer.makeRings(in: "notes")
        let header = try keys.header(in: "notes")
        var number: Int64 = 1
        /// What a device sends that has fetched the record and changed something else of it.
        func isKept(_ fields: DecodedFields, _ policy: SavePolicy = .changedKeys) throws -> Bool {
            number += 1
            guard case .record(let record)? = try peer.fetch(["r"], in: notes).first else { return false }
            let save = note(
                fields.merging(["n": .int64(number)]) { $1 }, changeTag: record.system.changeTag)
            guard let error = try errors([save], policy, by: peer)[0] else { return true }
            guard isRefusal(error) else { throw error }
            return false
        }
        for policy in [SavePolicy.changedKeys, .allKeys, .ifServerRecordUnchanged] {
            #expect(try isKept(["k": .asset(old[0]), "l": .assets([old[1], old[2], old[0]])], policy))
        }
        #expect(try isKept([:]) && isKept(["k": .asset(assets[0])]), "with its receipt, too")
        // Elsewhere, and beside what is there, each of them is new, and so is each that comes to a list.
        for fields: DecodedFields in [
            ["j": .asset(old[0])], ["z": .asset(old[0])], ["k": .asset(old[1])], ["k": .asset(assets[3])],
            ["k": .asset(old[0]), "m": .asset(assets[3])], ["k": .asset(old[0]), "l": .assets([old[1], assets[3]])],
            ["l": .assets([old[1], old[2], old[0], assets[3]])], ["l": .assets([assets[3], old[1]])],
        ] { #expect(try !isKept(fields), "\(fields)") }
        #expect(try isKept(["l": .assets([old[0], old[1], old[2]])]), "in another order")
        #expect(try isKept(["l": .assets([old[2]])]) && !isKept(["l": .assets([assets[1], old[2]])]))
        #expect(try isKept(["k": FieldValue?.none]) && !isKept(["k": .asset(assets[0])]), "what went is new")
        // What a device has encrypted is not put aside, nor is its content named as a plain one.
        #expect(try isKept(["l": EncryptedSamples.assets([assets[4]], header: header)]))
        #expect(try !isKept(["l": .assets([old[4]])]) && !isKept(["l": .assets([assets[2]])]))
        #expect(try !isKept(["k": .asset(old[4])]))
        guard case .record(let last)? = try peer.fetch(["r"], in: notes).first else { return }
        #expect(last.fields["l"] == EncryptedSamples.assets([old[4]], header: header) && last.fields["k"] == nil)
        // A record of another name has nothing of it.
        #expect(try isRefused(["k": .asset(assets[0])], as: "new", by: peer))
        #expect(try !isRefused(["k": .asset(old[0])], as: "other", by: peer))
    }

    @Test("of shares are shown to others, and stay plain") func shares() throws {
        let (_, peer) = try server()
        try peer.makeRings(in: "notes")
        let asset = try upload(1, by: peer)
        for (root, hasAsset) in [("list", false), ("photo", true)] {
            var modification = ZoneModification<DecodedFields>(
                zone: notes,
                saves: [
                    RecordSave(name: "s-\(root)", type: Names.shareType, fields: ["cover": .asset(asset)]),
                    RecordSave(name: root, type: "List", fields: hasAsset ? ["cover": .asset(asset)] : [:]),
                ])
            modification.shares["s-\(root)"] = ShareSave(root: root, edit: ShareEdit())
            let request = ModifyRecordsRequest(database: .private, savePolicy: .changedKeys, zones: [modification])
            let codes = try peer.modify(request)[0].saves.codes
            #expect(codes == (hasAsset ? [.batchRequestFailed, .accountTemporarilyUnavailable] : [nil, nil]))
        }
    }

    @Test("are refused one by one, with all of an atomic batch, and behind what else is wrong with them")
    func batches() throws {
        let (server, peer) = try server()
        var keys = try peer.makeRings(in: "notes")
        try peer.appendEntry(of: "notes", &keys)
        let asset = try upload(1, by: peer)
        let batch = (0..<400).map { note($0 % 2 == 0 ? ["n": .int64(1)] : ["m": .asset(asset)], as: "r\($0)") }
        let atomic = try errors(batch, isAtomic: true, by: peer).map(\.?.code)
        #expect(atomic == (0..<400).map { $0 % 2 == 0 ? .batchRequestFailed : .accountTemporarilyUnavailable })
        let single = try errors(batch, by: peer).map(\.?.code)
        #expect(single == (0..<400).map { $0 % 2 == 0 ? nil : .accountTemporarilyUnavailable })
        let late = note(["m": .asset(asset)], as: "r0", changeTag: "x")
        #expect(try errors([late], .ifServerRecordUnchanged, by: peer)[0]?.code == .serverRecordChanged)
        // Whoever may not name it uploads it anew, and then encrypted.
        #expect(try errors([note(["m": .asset(stored(asset))])], by: peer)[0]?.code == .assetNotAvailable)
        let old = EncryptedSamples.value(header: try keys.header(in: "notes", keyNumber: 1))
        #expect(try errors([note(["e": old, "m": .asset(asset)])], by: peer)[0]?.detail == .keysChanged)
        #expect(server.core.health(at: server.nowNanoseconds).isDamageFound == false)
    }

    @Test("of those who take part are refused as the owner's, and tell them of no ring but that it is there")
    func participants() throws {
        let server = try SteppedServer(disk: disk)
        let (a, b, c) = (
            try server.connect(account: "a"), try server.connect(account: "b"), try server.connect(account: "c")
        )
        try a.makeZone("notes")
        try b.accept(try a.shareRecord("list", in: "notes", with: [b.user]))
        #expect(try a.save(["below"], below: "list", in: notes, of: .private) == [nil])
        let theirs = ZoneID(name: "notes", owner: a.user)
        let asset = try upload(1, in: theirs, of: .shared, by: b)
        let early = try upload(2, in: theirs, of: .shared, by: b)
        #expect(try !isRefused(["k": .asset(early)], as: "below", in: theirs, of: .shared, by: b))
        var keys = try a.makeRings(in: "notes")
        for hasTree in [false, true] {
            if hasTree { try a.appendEntry(of: "notes", root: "list", &keys) }
            for fields: DecodedFields in [["m": .asset(asset)], ["l": .assets([asset])]] {
                #expect(try isRefused(fields, as: "below", in: theirs, of: .shared, by: b))
                #expect(try isRefused(fields, as: "list", in: theirs, of: .shared, by: b))
            }
            #expect(try !isRefused(["k": .asset(stored(early))], as: "below", in: theirs, of: .shared, by: b))
        }
        // What they may not see is told first.
        try a.save(["hidden"], zone: notes) { _ in ["n": .int64(1)] }
        let hidden = try errors([note(["m": .asset(asset)], as: "hidden")], in: theirs, of: .shared, by: b)
        #expect(hidden[0]?.code == .permissionFailure)
        let none = try errors([note(["m": .asset(asset)], as: "below")], in: theirs, of: .shared, by: c)
        #expect(none[0]?.code == .zoneNotFound)
        try b.accept(try a.shareZone("whole", with: [b.user]))
        let whole = ZoneID(name: "whole", owner: a.user)
        let there = try upload(3, in: whole, of: .shared, by: b)
        #expect(try !isRefused(["m": .asset(there)], in: whole, of: .shared, by: b))
        try a.appendEntry(of: "whole", &keys)
        #expect(try isRefused(["m": .asset(there)], as: "new", in: whole, of: .shared, by: b))
    }

    @Test("cost who saves none no look at a ring, and others one") func costs() throws {
        let (server, peer) = try server()
        try peer.makeRings(in: "notes")
        let asset = try upload(1, by: peer)
        func reads() throws -> Int { try loaded(server, peer).ringHeads.testOnly_readCount }
        let start = try reads()
        try peer.save(["plain"], zone: notes) { _ in ["n": .int64(1)] }
        #expect(try reads() == start)
        let batch = (0..<100).map { note(["m": .asset(asset)], as: "r\($0)") }
        for _ in 0..<3 {
            #expect(try errors(batch, by: peer).allSatisfy(isRefusal))
            #expect(try reads() == start + 1)
        }
    }

    @Test("fail where the ring is not as it was, and the server's health says so") func damage() throws {
        let (server, peer) = try server()
        _ = try peer.makeKeys()
        let asset = try upload(1, by: peer)
        _ = try loaded(server, peer).database.append(
            ringEntry: SharedBytes([1, 2, 3]), number: 1, root: "", zone: notes, quota: nil, nowMilliseconds: 1)
        let found = try errors([note(["m": .asset(asset)]), note(["n": .int64(1)], as: "n")], by: peer)
        #expect(found.map(\.?.code) == [.internalError, nil])
        #expect(server.core.health(at: server.nowNanoseconds).isDamageFound)
    }
}
