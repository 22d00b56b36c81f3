import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeSystem

@Suite("Downloads on a slow line", .timeLimit(.minutes(1)))
struct TransferRoomTests {
    @Test("send nothing while much waits to be sent: answers leave meanwhile, and then the downloads go on")
    func answersGoFirst() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let coder = MessageCoder()
        let content = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 % 251) }
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
        let streams = (0..<8).map { _ in peer.beginDownload(request) }
        server.settle()
        // The size alone, with which a download begins.
        for stream in streams { #expect(try peer.takeContent(stream) == [.byteCount(1_000_000)]) }
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
}
