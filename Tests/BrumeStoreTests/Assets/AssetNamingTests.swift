import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("A record names an asset")
struct AssetNamingTests {
    private let desk = Desk()
    private let photo = RecordSamples.asset(1, byteCount: 100)
    private let other = RecordSamples.asset(2, byteCount: 200)

    private func save(
        _ name: String, _ fields: [String: FieldValue?], grants: [Asset] = [], zone: ZoneID = Desk.zone
    ) -> ErrorCode? {
        desk.modify(zone, policy: .changedKeys, saves: [.of(name, fields)], grants: grants).result.saveCodes[0]
    }

    @Test("with a receipt, and none without, whatever else names it")
    func receipts() throws {
        #expect(save("a", ["photo": .asset(photo)]) == .assetNotAvailable)
        #expect(save("a", ["photo": .asset(photo)], grants: [other]) == .assetNotAvailable)
        #expect(desk.database.recordCount == 0 && desk.database.blobs.count == 0)
        #expect(save("a", ["photo": .asset(photo)], grants: [photo]) == nil)
        #expect(try #require(desk.record("a")).fields["photo"] == .asset(photo))
        // That this record names it is no help for another one.
        #expect(save("b", ["photo": .asset(photo)]) == .assetNotAvailable)
        // All assets of a list count.
        #expect(save("b", ["photos": .assets([photo, other])], grants: [photo]) == .assetNotAvailable)
        #expect(save("b", ["photos": .assets([photo, other, photo])], grants: [photo, other]) == nil)
        #expect(try #require(desk.record("b")).fields["photos"] == .assets([photo, other, photo]))
        #expect(desk.database.blobs.referenceCount(of: BlobName(photo)) == 3)
    }

    @Test("that its version on the server names already, in whatever field, until it does no more")
    func versions() {
        #expect(save("a", ["photo": .asset(photo), "n": .int64(1)], grants: [photo]) == nil)
        #expect(save("a", ["n": .int64(2)]) == nil)
        #expect(save("a", ["photo": .asset(photo)]) == nil)
        #expect(save("a", ["others": .assets([photo, photo])]) == nil)
        #expect(save("a", ["photo": .asset(other)], grants: [other]) == nil)
        #expect(save("a", ["photo": .asset(photo)]) == nil)
        #expect(save("a", ["photo": nil, "others": nil]) == nil)
        #expect(save("a", ["photo": .asset(photo)]) == .assetNotAvailable)
        #expect(save("a", ["photo": .asset(photo)], grants: [photo]) == nil)
        #expect(desk.modify(deletions: ["a"]).result.deletionCodes == [nil])
        #expect(save("a", ["photo": .asset(photo)]) == .assetNotAvailable)
    }

    @Test("in an encrypted field as in any: with a receipt, or where its version on the server names it already")
    func encrypted() throws {
        for value in [EncryptedSamples.asset(photo), EncryptedSamples.assets([photo])] {
            #expect(save("a", ["photo": value]) == .assetNotAvailable)
            #expect(save("a", ["photo": value], grants: [other]) == .assetNotAvailable)
        }
        #expect(save("a", ["photo": EncryptedSamples.assets([photo, other])], grants: [photo]) == .assetNotAvailable)
        #expect(desk.database.recordCount == 0 && desk.database.blobs.count == 0)
        #expect(save("a", ["photo": EncryptedSamples.asset(photo)], grants: [photo]) == nil)
        #expect(try #require(desk.record("a")).fields["photo"] == EncryptedSamples.asset(photo))
        #expect(desk.database.blobs.referenceCount(of: BlobName(photo)) == 1)
        // Encrypted anew, in another field, in a list, and plain: which of these it is the device decides.
        let keyed = EncryptedSamples.asset(photo, header: EncryptedSamples.header(keyNumber: 2))
        for value in [keyed, EncryptedSamples.assets([photo, photo]), .asset(photo), EncryptedSamples.asset(photo)] {
            #expect(save("a", ["photo": value]) == nil)
            #expect(save("a", ["others": EncryptedSamples.assets([photo])]) == nil)
        }
        #expect(save("b", ["photo": EncryptedSamples.asset(photo)]) == .assetNotAvailable)
        #expect(save("a", ["photo": nil, "others": nil]) == nil)
        #expect(save("a", ["photo": EncryptedSamples.asset(photo)]) == .assetNotAvailable)
    }

    @Test("of exactly the checksum, size and copy that was granted, in the zone that it was granted for")
    func exactness() {
        let others = [
            Asset(checksum: photo.checksum, byteCount: photo.byteCount + 1, generation: photo.generation),
            Asset(checksum: photo.checksum, byteCount: photo.byteCount, generation: photo.generation ^ 1),
            Asset(checksum: other.checksum, byteCount: photo.byteCount, generation: photo.generation),
        ]
        for asset in others { #expect(save("a", ["x": .asset(asset)], grants: [photo]) == .assetNotAvailable) }
        #expect(save("a", ["x": .asset(photo)], grants: [photo]) == nil)
        for asset in others { #expect(save("a", ["x": .asset(asset)]) == .assetNotAvailable) }
        desk.makeZone("elsewhere")
        var grants = AssetGrants()
        grants.add(photo, inZone: "notes")
        let saves = [RecordSave<CheckedFields>.of("a", ["x": .asset(photo)])]
        let decision = desk.database.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .changedKeys,
                zones: [
                    ZoneModification(zone: ZoneID(name: "elsewhere"), saves: saves),
                    ZoneModification(zone: .defaultZone, saves: saves), ZoneModification(zone: Desk.zone, saves: saves),
                ]), caller: desk.caller, nowMilliseconds: 1, grants: grants)
        #expect(decision.answer.map(\.saveCodes) == [[.assetNotAvailable], [.assetNotAvailable], [nil]])
    }

    @Test("a thousand times at most, over all its fields")
    func limit() throws {
        let many = [Asset](repeating: photo, count: Limits.assetsPerRecord)
        #expect(save("a", ["x": .assets(many)], grants: [photo]) == nil)
        #expect(save("a", ["y": .asset(photo)]) == .limitExceeded)
        #expect(save("a", ["n": .int64(1)]) == nil)
        #expect(save("a", ["y": EncryptedSamples.asset(photo)]) == .limitExceeded)
        #expect(save("b", ["x": .assets(many + [photo])], grants: [photo]) == .limitExceeded)
        #expect(save("b", ["x": EncryptedSamples.assets(many + [photo])], grants: [photo]) == .limitExceeded)
        let half = EncryptedSamples.assets([Asset](repeating: photo, count: Limits.assetsPerRecord / 2))
        #expect(save("b", ["x": half, "y": half, "z": .asset(photo)], grants: [photo]) == .limitExceeded)
        #expect(desk.database.blobs.referenceCount(of: BlobName(photo)) == Limits.assetsPerRecord)
        #expect(!desk.database.hasAssetReleases)
    }

    @Test("ten thousand times in one request, and a record more", arguments: [false, true])
    func requestLimit(isEncrypted: Bool) {
        func list(_ count: Int) -> FieldValue {
            let list = [Asset](repeating: photo, count: count)
            return isEncrypted ? EncryptedSamples.assets(list) : .assets(list)
        }
        let many = list(Limits.assetsPerRecord)
        func saves(_ value: FieldValue?) -> [RecordSave<CheckedFields>] {
            (0..<12).map { number in .of("r\(number)", value.map { ["x": $0] } ?? ["n": .int64(1)]) }
        }
        let expected: [ErrorCode?] = (0..<12).map { $0 < 10 ? nil : .limitExceeded }
        let sent = desk.modify(policy: .changedKeys, isAtomic: false, saves: saves(many), grants: [photo]).result
        #expect(sent.saveCodes == expected)
        // The versions that the server has count too, where they have to be looked at.
        let fewer = list(Limits.assetsPerRecord - 1)
        let again = desk.modify(policy: .changedKeys, isAtomic: false, saves: saves(fewer)).result
        #expect(again.saveCodes.filter { $0 == nil }.count == 5)
    }

    @Test("that a caller may not read by a receipt alone, so that nobody learns by saving what a record names")
    func hidden() throws {
        let schema = """
            DEFINE SCHEMA
            RECORD TYPE Blind (x ASSET, y ASSET, GRANT CREATE, WRITE TO "_icloud");
            """
        let database = Database(id: Desk.publicID, epoch: 1)
        let author = Desk(database, caller: Caller(user: "_author", isOwner: false))
        let save = RecordSave<CheckedFields>.of("a", ["x": .asset(photo)], type: "Blind")
        #expect(
            author.modify(.defaultZone, policy: .changedKeys, saves: [save], grants: [photo]).result.saveCodes == [nil])
        let access = PublicAccess(
            schema: try SchemaParser.parse(schema),
            place: SchemaPlace(container: "iCloud.app", environment: .production), user: "_other", roles: [])
        let other = Desk(database, caller: Caller(user: "_other", isOwner: false, access: access))
        for asset in [photo, self.other] {
            let probe = RecordSave<CheckedFields>.of("a", ["y": .asset(asset)], type: "Blind")
            let codes = other.modify(.defaultZone, policy: .changedKeys, saves: [probe]).result.saveCodes
            #expect(codes == [.assetNotAvailable])
            #expect(
                other.modify(.defaultZone, policy: .changedKeys, saves: [probe], grants: [asset]).result.saveCodes == [
                    nil
                ])
        }
    }

    @Test("and a refused save leaves nothing, and takes the rest of an atomic batch with it")
    func batches() {
        let saves = [RecordSave<CheckedFields>.of("a", ["x": .asset(photo)]), .of("b", ["x": .asset(other)]), .of("c")]
        let codes = desk.modify(policy: .changedKeys, saves: saves, grants: [photo]).result.saveCodes
        #expect(codes == [.batchRequestFailed, .assetNotAvailable, .batchRequestFailed])
        #expect(desk.database.blobs.count == 0 && !desk.database.hasAssetReleases)
        let others = desk.modify(policy: .changedKeys, isAtomic: false, saves: saves, grants: [photo]).result
        #expect(others.saveCodes == [nil, .assetNotAvailable, nil])
    }
}
