@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import Foundation
import Testing

@Suite("An operation's configuration", .timeLimit(.minutes(1)))
struct OperationConfigurationTests {
    let transport = FakeTransport()
    let transcript = Transcript()
    let id = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Notes"))

    private func fetch() -> CKFetchRecordsOperation {
        let operation = CKFetchRecordsOperation(recordIDs: [id])
        operation.fetchRecordsResultBlock = { [transcript] in transcript.add("end", $0) }
        return operation
    }

    @Test("has CloudKit's defaults, and tells those that were set from those that were not")
    func defaults() {
        let configuration = CKOperation.Configuration()
        #expect(configuration.container == nil)
        #expect(configuration.qualityOfService == .default)
        #expect(configuration.allowsCellularAccess)
        #expect(!configuration.isLongLived)
        #expect(configuration.timeoutIntervalForRequest == 60)
        #expect(configuration.timeoutIntervalForResource == 604_800)
        let explicit = CKOperation.Configuration()
        explicit.qualityOfService = .default
        explicit.timeoutIntervalForRequest = 60
        let group = CKOperation.Configuration()
        group.qualityOfService = .background
        group.timeoutIntervalForRequest = 5
        group.timeoutIntervalForResource = 9
        let merged = explicit.settings.over(group.settings)
        #expect(merged.qualityOfService == .default)
        #expect(merged.timeoutIntervalForRequest == 60)
        #expect(merged.timeoutIntervalForResource == 9)
        #expect(merged.isLongLived == nil)
    }

    @Test("is copied when it is set, changed in place afterwards, and empty again with nil")
    func copies() {
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 5
        let operation = CKQueryOperation()
        operation.configuration = configuration
        configuration.timeoutIntervalForRequest = 6
        #expect(operation.configuration.timeoutIntervalForRequest == 5)
        operation.configuration.timeoutIntervalForRequest = 7
        #expect(operation.configuration.timeoutIntervalForRequest == 7)
        operation.qualityOfService = .utility
        #expect(operation.configuration.qualityOfService == .utility)
        operation.configuration = nil
        #expect(operation.configuration.timeoutIntervalForRequest == 60)
        #expect(operation.qualityOfService == .default)
        #expect(operation.operationID != CKQueryOperation().operationID)
    }

    @Test("and its group's travel with the call: the group's name and the time that is left")
    func travels() async throws {
        let (container, folder) = try fakeContainer(transport)
        let group = CKOperationGroup()
        group.name = "first launch"
        group.defaultConfiguration.timeoutIntervalForRequest = 5
        let operation = fetch()
        operation.group = group
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        let call = try await transport.call()
        #expect(call.header.operationGroup == "first launch")
        #expect(call.header.timeoutMilliseconds == 5_000)
        transport.advance(seconds: 4.9)
        #expect(transcript.lines.isEmpty)
        transport.advance(seconds: 0.2)
        await end.value
        #expect(transcript.lines == ["end: networkFailure"])

        let own = fetch()
        own.group = group
        own.configuration.timeoutIntervalForRequest = 30
        let ownEnd = own.started { container.privateCloudDatabase.add(own) }
        _ = try await transport.message(.cancel)
        #expect(try await transport.call().header.timeoutMilliseconds == 30_000)
        own.cancel()
        await ownEnd.value
        withExtendedLifetime((folder, connection)) {}
    }

    @Test("limits the whole operation's time by timeoutIntervalForResource")
    func resourceTimeout() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = fetch()
        operation.configuration.timeoutIntervalForResource = 20
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        let call = try await transport.call()
        #expect(call.header.timeoutMilliseconds > 10_000 && call.header.timeoutMilliseconds <= 20_000)
        transport.advance(seconds: 21)
        await end.value
        #expect(transcript.lines == ["end: networkFailure"])
        withExtendedLifetime((folder, connection)) {}
    }

    @Test("counts the operation's time by the configuration's clock")
    func clock() throws {
        let clock = ManualClientClock()
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForResource = 90
        let options = configuration.settings.callOptions(group: nil, clock: clock)
        #expect(try options.timeoutNanoseconds() == 60_000_000_000)
        clock.advance(byMilliseconds: 80_000)
        #expect(try options.timeoutNanoseconds() == 10_000_000_000)
        clock.advance(byMilliseconds: 10_000)
        let error = #expect(throws: CKError.self) { try options.timeoutNanoseconds() }
        #expect(error?.code == .networkFailure)
        #expect(error?.localizedDescription.contains("timeoutIntervalForResource") == true)
    }

    @Test("takes any interval: none is too short, too long or no number")
    func intervals() throws {
        for seconds in [-1, 0, .nan, .infinity, -.infinity, 1e300, 1e-300, .greatestFiniteMagnitude] as [TimeInterval] {
            let configuration = CKOperation.Configuration()
            configuration.timeoutIntervalForRequest = seconds
            let options = configuration.settings.callOptions(group: nil, clock: SystemClientClock.shared)
            #expect(try options.timeoutNanoseconds() >= 1_000_000)
            configuration.timeoutIntervalForResource = seconds
            _ = configuration.settings.callOptions(group: nil, clock: SystemClientClock.shared)
        }
    }

    @Test("of a call through configuredWith is the inner one's, then the outer one's")
    func configuredWith() async throws {
        let (container, folder) = try fakeContainer(transport)
        let (outer, inner) = (CKOperation.Configuration(), CKOperation.Configuration())
        outer.timeoutIntervalForRequest = 20
        inner.timeoutIntervalForRequest = 10
        let group = CKOperationGroup()
        group.name = "sync"
        let id = id
        let task = Task {
            try await container.configuredWith(configuration: outer, group: group) { container in
                let database = container.privateCloudDatabase
                _ = try await database.record(for: id)
                return try await database.configuredWith(configuration: inner) { try await $0.record(for: id) }
            }
        }
        let connection = try await transport.welcomed()
        let answer = MessageCoder().encodeFetchRecordsResponse([[.record(stored("a"))]])
        let first = try await transport.call()
        #expect(first.header.timeoutMilliseconds == 20_000)
        #expect(first.header.operationGroup == "sync")
        connection.answer(first.stream, answer)
        let second = try await transport.call()
        #expect(second.header.timeoutMilliseconds == 10_000)
        #expect(second.header.operationGroup == "sync")
        connection.answer(second.stream, answer)
        #expect(try await task.value.recordID == id)
        let scope = container.publicCloudDatabase.configuredWith(configuration: inner) { $0.databaseScope }
        #expect(scope == .public)
        #expect(container.configuredWith(group: group) { $0.containerIdentifier } == "iCloud.test")
        withExtendedLifetime(folder) {}
    }

    @Test("of a group keeps its values in an archive and a copy, and its name fits the wire")
    func groups() throws {
        let group = CKOperationGroup()
        #expect(group.wireName == group.operationGroupID)
        group.name = "täglich"
        group.quantity = 12
        group.expectedSendSize = .megabytes
        group.expectedReceiveSize = .hundredsOfGigabytes
        group.defaultConfiguration.qualityOfService = .userInitiated
        group.defaultConfiguration.timeoutIntervalForResource = 30
        let data = try NSKeyedArchiver.archivedData(withRootObject: group, requiringSecureCoding: true)
        let unarchived = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKOperationGroup.self, from: data)
        let copy = try #require(group.copy() as? CKOperationGroup)
        for read in [try #require(unarchived), copy] {
            #expect(read.operationGroupID == group.operationGroupID)
            #expect(read.name == "täglich")
            #expect(read.quantity == 12)
            #expect(read.expectedSendSize == .megabytes)
            #expect(read.expectedReceiveSize == .hundredsOfGigabytes)
            #expect(read.defaultConfiguration.settings.qualityOfService == .userInitiated)
            #expect(read.defaultConfiguration.settings.timeoutIntervalForResource == 30)
            #expect(read.defaultConfiguration.settings.timeoutIntervalForRequest == nil)
        }
        copy.name = "once"
        copy.defaultConfiguration.timeoutIntervalForResource = 5
        #expect(group.name == "täglich")
        #expect(group.defaultConfiguration.settings.timeoutIntervalForResource == 30)
        group.name = String(repeating: "ä", count: 200)
        #expect(group.wireName == String(repeating: "ä", count: 127))
        group.defaultConfiguration = nil
        #expect(group.defaultConfiguration.settings.qualityOfService == nil)
    }

    @Test("of a zone's changes keeps its values in an archive")
    func zoneConfiguration() throws {
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            previousServerChangeToken: CKServerChangeToken(bytes: [1, 2]), resultsLimit: 5, desiredKeys: ["text"])
        let data = try NSKeyedArchiver.archivedData(withRootObject: configuration, requiringSecureCoding: true)
        let read = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKFetchRecordZoneChangesConfiguration.self, from: data))
        #expect(read.previousServerChangeToken == CKServerChangeToken(bytes: [1, 2]))
        #expect(read.resultsLimit == 5)
        #expect(read.desiredKeys == ["text"])
    }
}
