@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Foundation
import Testing

/// A container on a fake transport.
func fakeContainer(
    _ transport: FakeTransport, token: String? = "token", registry: SessionRegistry = SessionRegistry()
) throws -> (CKContainer, folder: TestFolder) {
    let folder = try TestFolder()
    let configuration = BrumeConfiguration(
        server: "example.com:7440", token: token, container: "iCloud.test", stateFolder: folder.path)
    let container = CKContainer(
        configuration: configuration, transport: .success(transport), registry: registry)
    return (container, folder)
}

private func event(_ number: UInt8, _ kind: NotificationEvent.Kind = .databaseChanged(.private)) -> NotificationEvent {
    NotificationEvent(
        position: [number], notificationID: "n\(number)", subscriptionID: "s", notificationInfo: nil, kind: kind,
        committedMilliseconds: 0)
}

private func position(_ message: ClientMessage) throws -> [UInt8] {
    try message.payload.withUnsafeBytes { try MessageCoder().decodeNotificationsRequest($0) }
}

private func position(_ payload: [UInt8]) throws -> [UInt8] {
    try payload.withUnsafeBytes { try MessageCoder().decodeNotificationsRequest($0) }
}

@Suite("A container's notifications", .timeLimit(.minutes(1)))
struct NotificationStreamTests {
    let transport = FakeTransport()

    /// Takes elements in a task and hands them on one by one.
    private func listen(_ container: CKContainer, count: Int) -> Task<[CKNotification], any Error> {
        Task {
            var received: [CKNotification] = []
            for try await notification in container.notifications {
                received.append(notification)
                if received.count == count { break }
            }
            return received
        }
    }

    @Test("open the device's stream, come in order, and are acknowledged once handled")
    func stream() async throws {
        let (container, folder) = try fakeContainer(transport)
        let listening = listen(container, count: 2)
        let connection = try await transport.welcomed()
        let call = try await transport.call()
        #expect(call.header.method == .notificationsOpen)
        #expect(try position(call.payload) == [])
        connection.event(call.stream, event(1, .ready(resumed: false)))
        // The event that says "ready" is for no app, and so handled at once.
        #expect(try position(try await transport.message(.message)) == [1])
        connection.event(call.stream, event(2, .zoneChanged(ZoneID(name: "Notes", owner: "_me"))))
        #expect(try position(try await transport.message(.message)) == [2])
        connection.event(call.stream, event(3, .fetchFromToken(.private)))
        let received = try await listening.value
        let zone = try #require(received.first as? CKRecordZoneNotification)
        #expect(zone.recordZoneID == CKRecordZone.ID(zoneName: "Notes"))
        let database = try #require(received.last as? CKDatabaseNotification)
        #expect(database.isPruned)
        // The iteration ended: what it took last is handled, and the stream closes.
        #expect(try position(try await transport.message(.message)) == [3])
        #expect(try await transport.message(.cancel).header.stream == call.stream)
        withExtendedLifetime(folder) {}
    }

    @Test("are acknowledged also when the session goes with the iterator")
    func lastUse() async throws {
        let registry = SessionRegistry()
        var (container, folder): (CKContainer?, _) = try fakeContainer(transport, registry: registry)
        var iterator = container?.notificationEvents.makeAsyncIterator()
        let playing = Task {
            let connection = try await transport.welcomed()
            connection.event(try await transport.call().stream, event(1))
        }
        _ = try await iterator?.next()
        try await playing.value
        if let session = try container?.core.openSession() { registry.forget(session) }
        // Nothing happens on the executor until all of them are gone.
        transport.queue.suspend()
        (container, iterator) = (nil, nil)
        transport.queue.resume()
        #expect(try position(try await transport.message(.message)) == [1])
        _ = try await transport.message(.cancel)
        try await transport.closed()
        withExtendedLifetime(folder) {}
    }

    @Test("go on behind the last one that came when the connection breaks")
    func resume() async throws {
        let (container, folder) = try fakeContainer(transport)
        let listening = listen(container, count: 2)
        let first = try await transport.welcomed()
        let stream = try await transport.call().stream
        first.event(stream, event(1))
        #expect(try position(try await transport.message(.message)) == [1])
        first.fail()
        transport.advance(seconds: 1)
        let second = try await transport.welcomed()
        let call = try await transport.call()
        #expect(try position(call.payload) == [1])
        second.event(call.stream, event(2))
        #expect(try await listening.value.map(\.notificationID?.description).count == 2)
        withExtendedLifetime(folder) {}
    }

    @Test("go on after a goodbye of the server")
    func goaway() async throws {
        let (container, folder) = try fakeContainer(transport)
        let listening = listen(container, count: 1)
        let first = try await transport.welcomed()
        let stream = try await transport.call().stream
        first.goaway(reconnectAfterMilliseconds: 100)
        #expect(try await transport.message(.cancel).header.stream == stream)
        try await transport.closed()
        transport.advance(seconds: 2)
        let second = try await transport.welcomed()
        second.event(try await transport.call().stream, event(1))
        #expect(try await listening.value.count == 1)
        withExtendedLifetime(folder) {}
    }

    @Test(
        "go on after the last one that came, with no error, when the server stops and ends the stream",
        arguments: [true, false])
    func statusAtGoodbye(goawayIsFirst: Bool) async throws {
        let (container, folder) = try fakeContainer(transport)
        let listening = listen(container, count: 2)
        let first = try await transport.welcomed()
        let stream = try await transport.call().stream
        first.event(stream, event(1))
        #expect(try position(try await transport.message(.message)) == [1])
        if goawayIsFirst { first.goaway(reconnectAfterMilliseconds: 100) }
        first.status(stream, .serviceUnavailable, "the server is about to stop", retryAfterMilliseconds: 100)
        if goawayIsFirst {
            #expect(try await transport.message(.cancel).header.stream == stream)
        } else {
            first.goaway(reconnectAfterMilliseconds: 100)
        }
        try await transport.closed()
        transport.advance(seconds: 2)
        let second = try await transport.welcomed()
        let call = try await transport.call()
        #expect(try position(call.payload) == [1])
        second.event(call.stream, event(2))
        #expect(try await listening.value.map(\.notificationID?.text) == ["n1", "n2"])
        withExtendedLifetime(folder) {}
    }

    @Test("that a newer server alone knows are acknowledged and ignored")
    func unknownKind() async throws {
        let (container, folder) = try fakeContainer(transport)
        let listening = listen(container, count: 1)
        let connection = try await transport.welcomed()
        let stream = try await transport.call().stream
        connection.event(stream, event(1, .unknown))
        #expect(try position(try await transport.message(.message)) == [1])
        connection.event(stream, event(2))
        #expect(try await listening.value.map(\.notificationID?.text) == ["n2"])
        withExtendedLifetime(folder) {}
    }

    @Test("reach every iterator")
    func twoConsumers() async throws {
        let (container, folder) = try fakeContainer(transport)
        let first = listen(container, count: 1)
        let connection = try await transport.welcomed()
        let stream = try await transport.call().stream
        let second = listen(container, count: 1)
        let session = try container.core.openSession()
        while await session.consumerCount < 2 { await Task.yield() }
        connection.event(stream, event(1))
        let received = try await first.value + second.value
        #expect(received.count == 2)
        #expect(received.first?.notificationID == received.last?.notificationID)
        // Acknowledged when the later of the two is done.
        #expect(try position(try await transport.message(.message)) == [1])
        #expect(try await transport.message(.cancel).header.stream == stream)
        withExtendedLifetime(folder) {}
    }

    @Test("end with the error when the account is refused")
    func refused() async throws {
        let (container, folder) = try fakeContainer(transport)
        let listening = listen(container, count: 1)
        let connection = try await transport.connecting()
        connection.accept()
        _ = try await transport.message(.hello)
        connection.status(0, .notAuthenticated, "revoked")
        await #expect(throws: CKError.self) { try await listening.value }
        await #expect(performing: { try await listening.value }, throws: { CKError.notAuthenticated ~= $0 })
        withExtendedLifetime(folder) {}
    }

    @Test("end with the error when the account is refused in the middle")
    func revoked() async throws {
        let (container, folder) = try fakeContainer(transport)
        let listening = listen(container, count: 1)
        let connection = try await transport.welcomed()
        connection.status(try await transport.call().stream, .notAuthenticated, "revoked")
        await #expect(performing: { try await listening.value }, throws: { CKError.notAuthenticated ~= $0 })
        withExtendedLifetime(folder) {}
    }

    @Test("open again when the stream ends for another reason")
    func streamStatus() async throws {
        let (container, folder) = try fakeContainer(transport)
        let listening = listen(container, count: 1)
        let connection = try await transport.welcomed()
        connection.status(try await transport.call().stream, .zoneBusy, "busy", retryAfterMilliseconds: 1_000)
        connection.send(FrameWriter.frame(.ping, payload: Array(0..<8)))
        _ = try await transport.message(.pong)
        transport.advance(seconds: 3)
        connection.event(try await transport.call().stream, event(1))
        #expect(try await listening.value.count == 1)
        withExtendedLifetime(folder) {}
    }

    @Test(
        "open again without a position when the server does not take the one that it gave before",
        arguments: [ErrorCode.invalidArguments, .changeTokenExpired])
    func refusedPosition(code: ErrorCode) async throws {
        let (container, folder) = try fakeContainer(transport)
        let listening = listen(container, count: 2)
        let first = try await transport.welcomed()
        first.event(try await transport.call().stream, event(1))
        #expect(try position(try await transport.message(.message)) == [1])
        first.fail()
        transport.advance(seconds: 1)
        let second = try await transport.welcomed()
        let refused = try await transport.call()
        #expect(try position(refused.payload) == [1])
        second.status(refused.stream, code, "the position was not made by this server")
        second.send(FrameWriter.frame(.ping, payload: Array(0..<8)))
        _ = try await transport.message(.pong)
        transport.advance(seconds: 3)
        let opened = try await transport.call()
        #expect(try position(opened.payload).isEmpty)
        second.event(opened.stream, event(2))
        #expect(try await listening.value.count == 2)
        withExtendedLifetime(folder) {}
    }

    @Test("come back late when another process of the device took the stream")
    func displaced() async throws {
        let (container, folder) = try fakeContainer(transport)
        let listening = listen(container, count: 1)
        let connection = try await transport.welcomed()
        connection.status(try await transport.call().stream, .operationCancelled, "another stream was opened")
        connection.send(FrameWriter.frame(.ping, payload: Array(0..<8)))
        _ = try await transport.message(.pong)
        transport.advance(seconds: 29)
        connection.send(FrameWriter.frame(.ping, payload: Array(0..<8)))
        _ = try await transport.message(.pong)
        transport.advance(seconds: 1.1)
        connection.event(try await transport.call().stream, event(1))
        #expect(try await listening.value.count == 1)
        withExtendedLifetime(folder) {}
    }

    @Test("say once, on the standard error output, that another process with the same state folder takes the stream")
    func displacedSentence() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let transport = FakeTransport()
            let (container, folder) = try fakeContainer(transport)
            let listening = Task {
                for try await notification in container.notifications { return notification }
                throw CancellationError()
            }
            let connection = try await transport.welcomed()
            for number: UInt8 in 0..<3 {
                connection.status(try await transport.call().stream, .operationCancelled, "another stream was opened")
                connection.send(FrameWriter.frame(.ping, payload: [UInt8](repeating: number, count: 8)))
                _ = try await transport.message(.pong)
                transport.advance(seconds: 30.1)
            }
            connection.event(try await transport.call().stream, event(1))
            _ = try await listening.value
            withExtendedLifetime(folder) {}
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let sentences = said.split(separator: "\n").filter { $0.hasPrefix("Brume: ") }
        #expect(sentences.count == 1, "\(said)")
        #expect(sentences.first?.contains("another process with the same state folder") == true)
        #expect(sentences.first?.contains("BRUME_STATE") == true, "it says what to do")
    }

    @Test("need an account")
    func noAccount() async throws {
        let (container, folder) = try fakeContainer(transport, token: nil)
        let listening = listen(container, count: 1)
        await #expect(performing: { try await listening.value }, throws: { CKError.notAuthenticated ~= $0 })
        withExtendedLifetime(folder) {}
    }

    @Test("end when the listening task is cancelled, and the stream closes")
    func cancelled() async throws {
        let (container, folder) = try fakeContainer(transport)
        let listening = listen(container, count: 1)
        _ = try await transport.welcomed()
        let stream = try await transport.call().stream
        listening.cancel()
        #expect(try await listening.value.isEmpty)
        #expect(try await transport.message(.cancel).header.stream == stream)
        withExtendedLifetime(folder) {}
    }
}
