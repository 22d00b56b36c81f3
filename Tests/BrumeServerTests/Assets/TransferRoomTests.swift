import BrumeModel
import BrumeProtocol
import BrumeSystem
import BrumeTestKit
import Testing

@Suite("Downloads on a slow line", .timeLimit(.minutes(1)))
struct TransferRoomTests {
    private let coder = MessageCoder()

    /// Saves a record with a content, and begins so many downloads of it while the output is busy.
    private func begin(_ count: Int, of content: [UInt8], by peer: FramePeer) throws -> [UInt32] {
        let checksum = AssetChecksum(SHA256.digest(content))!
        let id = UploadID([UInt8](repeating: 1, count: 16))!
        let asset = try peer.upload(content, checksum: checksum, id: id)
        let save = RecordSave(name: "photo", type: "Photo", fields: ["file": Optional(FieldValue.asset(asset))])
        _ = try peer.call(
            .recordsModify,
            coder.encodeModifyRecordsRequest(
                ModifyRecordsRequest<DecodedFields>(
                    database: .private, zones: [ZoneModification(zone: .defaultZone, saves: [save])])))
        peer.isOutputBusy = true
        let request = DownloadRequest(
            database: .private, zone: .defaultZone, recordName: "photo", field: "file", listIndex: 0,
            checksum: checksum, offset: 0, byteCount: 0)
        let streams = (0..<count).map { _ in peer.beginDownload(request) }
        peer.server.settle()
        // The size alone, with which a download begins.
        for stream in streams { #expect(try peer.takeContent(stream) == [.byteCount(UInt64(content.count))]) }
        return streams
    }

    @Test("send nothing while much waits to be sent: answers leave meanwhile, and then the downloads go on")
    func answersGoFirst() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let content = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 % 251) }
        let streams = try begin(8, of: content, by: peer)
        #expect(!peer.isReadingPaused)
        _ = try peer.call(.zonesList, coder.encodeListZonesRequest(.private))

        peer.isOutputBusy = false
        var received = [[UInt8]](repeating: [], count: streams.count)
        for _ in 0..<100 where received.contains(where: { $0.count < content.count }) {
            server.settle()
            for (index, stream) in streams.enumerated() {
                for case .content(let bytes) in try peer.takeContent(stream) {
                    bytes.withUnsafeBytes { received[index] += $0 }
                }
            }
        }
        #expect(received.allSatisfy { $0 == content })
    }

    @Test(
        "take turns where there is room for few messages at a time, whenever credit comes",
        arguments: [2, 3, 4, 8], [1, 2])
    func turns(count: Int, frames: Int) throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let streams = try begin(count, of: [UInt8](repeating: 7, count: 4_000_000), by: peer)
        var received = [Int](repeating: 0, count: count)
        for round in 1...48 {
            peer.makeRoom(frames: frames)
            // The output is busy again, and what was taken is granted anew meanwhile.
            for (index, stream) in streams.enumerated() {
                server.settle()
                for case .content(let bytes) in try peer.takeContent(stream) { received[index] += bytes.count }
            }
            let ahead = received.max()! - received.min()!
            // A stream sends what its turn has room for, and its piece of the file may end within a turn.
            #expect(ahead <= 6 * Limits.assetChunkBytes, "round \(round): \(received)")
        }
        #expect(received.min()! > 0)
    }
}
