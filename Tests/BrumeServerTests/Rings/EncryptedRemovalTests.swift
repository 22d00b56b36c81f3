import BrumeModel
import BrumeProtocol
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// What a device can't read it takes away by no save, whatever it knows of the record.
@Suite("What is encrypted in a record", .timeLimit(.minutes(1)))
struct EncryptedRemovalTests {
    private let disk = SimulatedDisk()
    private let notes = ZoneID(name: "notes")

    private func asset(_ number: UInt8, by peer: FramePeer) throws -> Asset {
        let content = [UInt8](repeating: number, count: 1_000)
        return try peer.upload(
            content, checksum: AssetChecksum(SHA256.digest(content))!,
            id: UploadID([UInt8](repeating: number, count: 16))!, zone: notes)
    }

    private func errors(
        _ saves: [RecordSave<DecodedFields>], _ policy: SavePolicy = .changedKeys, by peer: FramePeer
    ) throws -> [ServiceError?] {
        let request = ModifyRecordsRequest(
            database: .private, savePolicy: policy, isAtomic: false,
            zones: [ZoneModification(zone: notes, saves: saves)])
        return try peer.modify(request)[0].saves.map {
            if case .failure(let error) = $0.outcome { error } else { nil }
        }
    }

    private func fields(by peer: FramePeer) throws -> [String: FieldValue] {
        guard case .record(let record) = try peer.fetch(["r"], in: notes)[0] else { return [:] }
        return record.fields
    }

    /// A zone whose files may be plain, with a record that holds one of each kind.
    private func scene(
        _ body: (_ peer: FramePeer, _ assets: [Asset], _ header: EncryptedHeader) throws -> Void
    ) throws {
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        try peer.makeZone("notes")
        var keys = try peer.makeKeys()
        try peer.appendEntry(of: "notes", hasPlainAssets: true, &keys)
        let assets = try (1...2).map { try asset($0, by: peer) }
        let header = try keys.header(in: "notes")
        let record = RecordSave<DecodedFields>(
            name: "r", type: "Note",
            fields: [
                "n": .int64(1), "p": .asset(assets[0]), "e": EncryptedSamples.value(header: header),
                "f": EncryptedSamples.asset(assets[0], header: header),
                "l": EncryptedSamples.assets(assets, header: header),
            ])
        #expect(try errors([record], by: peer) == [nil])
        try body(peer, assets, header)
    }

    @Test("goes by no save that doesn't say that it has the keys, under any policy") func unmarked() throws {
        try scene { peer, assets, _ in
            let before = try fields(by: peer)
            let taking: [DecodedFields] = [
                ["e": FieldValue?.none], ["f": FieldValue?.none], ["l": FieldValue?.none], ["f": .asset(assets[0])],
                ["l": .assets(assets)], ["l": .assets([])], ["a": .int64(1), "l": FieldValue?.none, "n": .int64(2)],
                ["e": FieldValue?.none, "x": .int64(1)],
            ]
            for policy in [SavePolicy.changedKeys, .allKeys] {
                for fields in taking {
                    let save = RecordSave<DecodedFields>(name: "r", type: "Note", fields: fields)
                    let error = try errors([save], policy, by: peer)[0]
                    #expect(error?.code == .accountTemporarilyUnavailable, "\(fields)")
                    #expect(error?.detail == .fieldEncrypted && error?.serverRecord == nil, "\(fields)")
                }
            }
            guard case .record(let record) = try peer.fetch(["r"], in: notes)[0] else { return }
            let known = RecordSave<DecodedFields>(
                name: "r", type: "Note", changeTag: record.system.changeTag, fields: taking[0])
            #expect(try errors([known], .ifServerRecordUnchanged, by: peer)[0]?.detail == .fieldEncrypted)
            #expect(try fields(by: peer) == before)
        }
    }

    @Test("stays beside what is plain, which goes as ever") func plain() throws {
        try scene { peer, _, header in
            let before = try fields(by: peer)
            let saves: [DecodedFields] = [
                ["n": FieldValue?.none, "p": FieldValue?.none, "none": FieldValue?.none],
                ["e": .some(try #require(before["e"]))],
                ["e": EncryptedSamples.value(header: header, filler: 1), "x": .int64(1)],
            ]
            for fields in saves {
                #expect(try errors([.init(name: "r", type: "Note", fields: fields)], by: peer) == [nil], "\(fields)")
            }
            let after = try fields(by: peer)
            #expect(after["f"] == before["f"] && after["l"] == before["l"] && after["x"] == .int64(1))
            #expect(after["n"] == nil && after["p"] == nil && after["e"] != before["e"])
        }
    }

    @Test("goes by a save that says so, and with its record") func marked() throws {
        try scene { peer, assets, _ in
            let save = RecordSave<DecodedFields>(
                name: "r", type: "Note", replacesEncrypted: true,
                fields: ["e": FieldValue?.none, "f": .asset(assets[1]), "l": .assets([])])
            #expect(try errors([save], by: peer) == [nil])
            let after = try fields(by: peer)
            #expect(after["e"] == nil && after["f"]?.assets.count == 1 && after["l"] == .emptyList)
            let request = ModifyRecordsRequest<DecodedFields>(
                database: .private, zones: [ZoneModification(zone: notes, deletions: ["r"])])
            #expect(try peer.modify(request)[0].deletions == [nil])
        }
    }
}
