import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeSystem
import BrumeTestKit
import Testing

/// One account sends the costliest requests that it may, and another one's calls wait for them on the same loop.
///
/// This finds what stops a server, by the processor time that the loop spends before a call is answered: a loaded
/// machine makes it no longer. How long others wait in an optimised build is measured by
/// `Benchmarks/isolation/waits.py`.
@Suite("Hostile requests of great cost", .timeLimit(.minutes(4)))
struct HostileCostTests {
    typealias Method = HostileRequests.Method

    /// The processor time of the loop during the longest small call. What was found before costs were bounded took 14 s
    /// and more in an optimised build.
    static let loopMillisecondsMax: UInt64 = 2_000

    @Test("no call of another account waits long for them, and each of them is answered")
    func othersAreServed() async throws {
        let seed = UInt64.random(in: .min ... .max)
        try await RunningServer.running(adjust: { $0.loopCount = 1 }) { server in
            let attacker = try server.addAccount("eve")
            let token = try server.addAccount("ada")
            let end = MonotonicClock.nowNanoseconds + 4_000_000_000
            try await withThrowingTaskGroup { group in
                for number in 0..<2 {
                    group.addTask {
                        try await Self.attack(server, token: attacker, seed: seed &+ UInt64(number), until: end)
                    }
                }
                let victim = try await FrameClient.welcomed(server, token: token, device: 9)
                let zone = HostileRequests.zone("_defaultZone")
                let calls = [
                    (Method.recordsFetch, HostileRequests.fetch(zone: zone, names: ["mine"])),
                    (
                        Method.recordsFetch,
                        ProtobufField.encode([.varint(1, 1), .message(2, [.message(1, zone), .text(2, "big")])])
                    ),
                    (
                        Method.recordsModify,
                        ProtobufField.encode([
                            .varint(1, 2), .varint(2, 2),
                            .message(5, [.message(1, zone), HostileRequests.save("mine")]),
                        ])
                    ),
                ]
                var longest: UInt64 = 0
                while MonotonicClock.nowNanoseconds < end {
                    for (method, request) in calls {
                        let before = server.server.loopProcessorNanoseconds[0]
                        _ = try await victim.succeed(method, request)
                        let spent = server.server.loopProcessorNanoseconds[0] - before
                        longest = max(longest, spent / 1_000_000)
                    }
                }
                #expect(longest > 0, "the loop's time stands still")
                #expect(longest < Self.loopMillisecondsMax, "the loop spent \(longest) ms before a call was answered")
                victim.abort()
                while let answered = try await group.next() { #expect(answered > 0) }
            }
            try await server.expectServes(token: token)
        } onFailure: {
            "seed \(seed)"
        }
    }

    /// Sends until a time of the monotonic clock, and something in any case. Returns how many requests were answered.
    private static func attack(
        _ server: RunningServer, token: String, seed: UInt64, until end: UInt64
    ) async throws -> Int {
        var requests = CostlyRequests(seed: seed)
        let peer = try await FrameClient.welcomed(server, token: token, device: UInt8(truncatingIfNeeded: seed))
        var answered = 0
        // One at least: on a loaded machine the first one may take all the time.
        while answered == 0 || MonotonicClock.nowNanoseconds < end {
            for request in requests.next() where answered == 0 || MonotonicClock.nowNanoseconds < end {
                // The deadline has to hold within whatever it is that takes long.
                let stream = peer.startCall(request.method, request.payload, timeoutMilliseconds: 1_000)
                switch try await peer.answer(to: stream) {
                case .success: break
                case .failure(let status):
                    let expected: [ErrorCode] = [
                        // A query for a type that nobody has saved.
                        .invalidArguments, .limitExceeded, .requestRateLimited, .zoneBusy, .unknownItem,
                        .serviceUnavailable,
                        .networkFailure,
                    ]
                    guard expected.contains(status.code) else {
                        throw TestFailure("\(request.kind), seed \(seed): \(status)")
                    }
                }
                answered += 1
            }
        }
        peer.abort()
        return answered
    }
}
