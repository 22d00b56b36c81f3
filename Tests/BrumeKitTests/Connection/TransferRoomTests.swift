@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import Testing

@Suite("A client's uploads on a slow line", .timeLimit(.minutes(1)))
struct TransferRoomTests {
    private let transport = FakeTransport()

    private func session() -> ClientSession {
        ClientSession(
            key: ClientSession.Key(
                endpoint: ServerEndpoint(host: "example.com", port: 7440, caPath: nil), accountToken: "token",
                container: "iCloud.test", environment: 1, deviceID: Array(0..<16)),
            transport: transport, seed: 1)
    }

    /// Opens uploads, the first of which connects.
    private func open(_ count: Int, of session: ClientSession) async throws -> ([TransferStream], FakeConnection) {
        var streams: [TransferStream] = []
        var connection: FakeConnection?
        for _ in 0..<count {
            let opening = Task {
                try await session.openTransfer(
                    .assetsUpload, opening: [], timeoutNanoseconds: 60_000_000_000, patience: .untilDeadline,
                    owner: nil)
            }
            if connection == nil { connection = try await transport.welcomed() }
            _ = try await transport.call()
            streams.append(try await opening.value)
        }
        return (streams, connection!)
    }

    @Test("pause while much waits to leave, and calls go on meanwhile")
    func pause() async throws {
        let session = session()
        let (streams, connection) = try await open(4, of: session)
        #expect(try await streams[0].send([10]))
        #expect(try await transport.message(.message).payload == [10])

        connection.setOutputBusy(true)
        var sends: [Task<Bool, any Error>] = []
        for (index, stream) in streams.enumerated() {
            sends.append(Task { try await stream.send([UInt8(index)]) })
        }
        try await session.untilWaiting(4)
        let call = Task {
            try await session.unary(
                UnaryCall(method: .recordsFetch, payload: [99], effect: .none, requestID: "r"),
                timeoutNanoseconds: 60_000_000_000)
        }
        // The call alone is sent, though the uploads asked before it.
        let sent = try await transport.call()
        #expect(sent.payload == [99])
        connection.answer(sent.stream, [1])
        #expect(try await call.value == [1])

        connection.setOutputBusy(false)
        var payloads: Set<[UInt8]> = []
        for _ in 0..<4 { payloads.insert(try await transport.message(.message).payload) }
        #expect(payloads == [[0], [1], [2], [3]])
        for send in sends { #expect(try await send.value) }
    }

    @Test("take turns where there is room for few of their messages at a time")
    func turns() async throws {
        let session = session()
        let (streams, connection) = try await open(5, of: session)
        connection.setOutputBusy(true)
        let sends = streams.enumerated().map { index, stream in
            Task {
                for _ in 0..<8 {
                    let isSent = try await stream.send([UInt8(index)])
                    #expect(isSent)
                }
            }
        }
        var sent = [0, 0, 0, 0, 0]
        for round in 1...20 {
            try await session.untilWaiting(sent.count { $0 < 8 })
            connection.makeRoom(frames: 2)
            for _ in 0..<2 { sent[Int(try await transport.message(.message).payload[0])] += 1 }
            #expect(sent.max()! - sent.min()! <= 1, "round \(round): \(sent)")
        }
        for send in sends { try await send.value }
    }

    @Test("end with their task, or with the connection, also while they wait for room")
    func ends() async throws {
        let session = session()
        let (streams, connection) = try await open(1, of: session)
        connection.setOutputBusy(true)
        let cancelled = Task { try await streams[0].send([1]) }
        try await session.untilWaiting(1)
        cancelled.cancel()
        #expect(await cancelled.result.isFailure)
        let broken = Task { try await streams[0].send([2]) }
        try await session.untilWaiting(1)
        connection.fail()
        // The stream ended with its connection, and says so to who reads from it.
        #expect(try await broken.value == false)
    }
}

extension ClientSession {
    /// Returns when so many transfers wait; the test's time limit ends a wait in vain.
    fileprivate func untilWaiting(_ count: Int) async throws {
        while transfers.values.count(where: { $0.waiter != nil }) < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

extension Result {
    fileprivate var isFailure: Bool {
        if case .failure = self { true } else { false }
    }
}
