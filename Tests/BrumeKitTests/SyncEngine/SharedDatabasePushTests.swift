@testable import BrumeKit
import BrumeModel
import BrumeTestKit
import Testing

@Suite("A sync engine's pushes")
struct SharedDatabasePushTests {
    private enum Push: Equatable {
        case opened
        case database
        case zone
    }

    private func pushes(_ database: (CKContainer) -> CKDatabase) throws -> [Push?] {
        let (container, folder) = try fakeContainer(FakeTransport())
        let device = NotesDevice(container, begins: false)
        device.launch(isAutomatic: false) { $0.database = database(container) }
        let kinds: [NotificationEvent.Kind] = [
            .ready(resumed: false), .databaseChanged(.private), .databaseChanged(.shared), .databaseChanged(.public),
            .fetchFromToken(.private), .fetchFromToken(.shared), .zoneChanged(ZoneID(name: "Notes")), .unknown,
        ]
        defer { withExtendedLifetime((device, folder)) {} }
        return kinds.map { kind in
            let event = NotificationEvent(
                position: [], notificationID: "", subscriptionID: "CKSyncEngine", notificationInfo: nil, kind: kind,
                committedMilliseconds: 0)
            return switch device.engine.driver.push(event, currentUser: RandomShare.user(1)) {
            case .opened: .opened
            case .databaseChanged: .database
            case .zoneChanged: .zone
            case nil: nil
            }
        }
    }

    @Test("are those of its own database: the device's stream tells of all of them")
    func ownDatabase() throws {
        #expect(
            try pushes(\.privateCloudDatabase) == [.opened, .database, nil, nil, .database, nil, .zone, nil])
        #expect(try pushes(\.sharedCloudDatabase) == [.opened, nil, .database, nil, nil, .database, nil, nil])
    }
}
