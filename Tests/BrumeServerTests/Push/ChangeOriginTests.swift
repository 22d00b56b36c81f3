import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Devices and their own changes")
struct ChangeOriginTests {
    private static func save(_ name: String) -> [UInt8] {
        MessageCoder().encodeModifyRecordsRequest(
            ModifyRecordsRequest<DecodedFields>(
                database: .public,
                zones: [
                    ZoneModification(zone: .defaultZone, saves: [RecordSave(name: name, type: "Note", fields: [:])])
                ]
            ))
    }

    private static func names(_ events: [NotificationEvent]) -> [String] {
        events.compactMap { if case .recordChanged(let change) = $0.kind { change.recordName } else { nil } }
    }

    @Test("whoever takes another user's device id for their own keeps nothing from that user's device")
    func borrowedDeviceID() throws {
        let server = try SteppedServer()
        let ada = try server.connect(account: "a", device: 1)
        let eve = try server.connect(account: "b", device: 1)
        let query = QuerySubscription(recordType: "Note", predicate: .constant(true), options: .creation)
        try ada.subscribe(Subscription(id: "notes", kind: .query(query)), in: .public)
        let stream = ada.openNotifications()
        _ = try eve.call(.recordsModify, Self.save("hers"))
        _ = try ada.call(.recordsModify, Self.save("own"))
        #expect(try Self.names(ada.events(stream)) == ["hers"], "all but what the device itself has made")
    }
}
