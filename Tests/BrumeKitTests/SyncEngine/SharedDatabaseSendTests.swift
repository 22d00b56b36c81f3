@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeTestKit
import Testing

@Suite("A sync engine's changes to the shared database", .timeLimit(.minutes(1)))
struct SharedDatabaseSendTests {
    private let transport = FakeTransport()
    private let coder = MessageCoder()
    private let ada = CKRecordZone.ID(zoneName: "Notes", ownerName: RandomShare.user(1))
    private let bob = CKRecordZone.ID(zoneName: "Notes", ownerName: RandomShare.user(2))

    private func call() async throws -> (stream: UInt32, names: [String]) {
        let call = try await transport.call()
        let request = try call.payload.withUnsafeBytes { try coder.decodeModifyRecordsRequest($0) }
        #expect(request.zones.count == 1 && request.database == .shared)
        return (call.stream, request.zones[0].saves.map(\.name))
    }

    private func saved(_ names: [String]) -> [UInt8] {
        coder.encodeModifyRecordsResponse([
            ZoneModificationResult(saves: names.map { SaveResult(outcome: .record(stored($0)), fieldsOmitted: true) })
        ])
    }

    @Test("fail with what is wrong with one of them alone, although other owners' changes succeed")
    func oneOwner() async throws {
        let (container, folder) = try fakeContainer(transport)
        let device = NotesDevice(container, begins: false)
        device.launch(isAutomatic: false) { $0.database = container.sharedCloudDatabase }
        let records = notes("a", "wrong", in: ada) + notes("b", in: bob)
        let driver = device.engine.driver
        let send = Task {
            await driver.modify(
                CKSyncEngine.RecordZoneChangeBatch(recordsToSave: records), container.sharedCloudDatabase)
        }
        let connection = try await transport.welcomed(user: RandomShare.user(9))
        let both = try await call()
        #expect(both.names == ["a", "wrong"])
        connection.status(both.stream, .invalidArguments)
        for _ in 0..<3 {
            let one = try await call()
            if one.names == ["wrong"] {
                connection.status(one.stream, .invalidArguments)
            } else {
                connection.answer(one.stream, saved(one.names))
            }
        }
        let results = try await send.value.get()
        let codes = records.map { record -> CKError.Code? in
            if case .failure(let error)? = results.saves[record.recordID] { error.code } else { nil }
        }
        #expect(codes == [nil, .invalidArguments, nil] && results.saves.count == 3)
        withExtendedLifetime((folder, device)) {}
    }

    @Test("fail as a whole when the server is away")
    func away() async throws {
        let (container, folder) = try fakeContainer(transport)
        let device = NotesDevice(container, begins: false)
        device.launch(isAutomatic: false) { $0.database = container.sharedCloudDatabase }
        let driver = device.engine.driver
        let records = notes("a", in: ada) + notes("b", in: bob)
        let send = Task {
            await driver.modify(
                CKSyncEngine.RecordZoneChangeBatch(recordsToSave: records), container.sharedCloudDatabase)
        }
        let connection = try await transport.welcomed(user: RandomShare.user(9))
        connection.status(try await call().stream, .serviceUnavailable)
        guard case .failure(let error) = await send.value else { throw TestFailure("the send succeeded") }
        #expect(error.code == .serviceUnavailable)
        withExtendedLifetime((folder, device)) {}
    }
}
