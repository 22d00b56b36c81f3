import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeServer
import BrumeTestKit
import Testing

/// Bytes that break the frame layer, and what the server says before it closes.
struct HostileBytes: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    /// What the server says of them.
    let code: ErrorCode

    init(_ description: String, _ bytes: [UInt8], code: ErrorCode = .invalidArguments) {
        testDescription = description
        self.bytes = bytes
        self.code = code
    }
}

@Suite("Hostile frames", .timeLimit(.minutes(4)))
struct HostileFrameTests {
    static let beforeTheHello = [
        HostileBytes("type 0", FrameClient.header(length: 0, type: 0)),
        HostileBytes("type 11", FrameClient.header(length: 0, type: 11)),
        HostileBytes("type 255", FrameClient.header(length: 0, type: 255)),
        HostileBytes("flag 2", FrameClient.header(length: 0, type: 1, flags: 2)),
        HostileBytes("all flags", FrameClient.header(length: 0, type: 1, flags: 255)),
        HostileBytes(
            "a payload above 64 KiB", FrameClient.header(length: 64 * 1024 + 1, type: 1), code: .limitExceeded),
        HostileBytes("a payload of 4 GiB", FrameClient.header(length: .max, type: 1), code: .limitExceeded),
        HostileBytes("a call first", FrameWriter.frame(.call, stream: 1, payload: FrameClient.call(1))),
        HostileBytes("a message first", FrameWriter.frame(.message, stream: 1, isLast: true)),
        HostileBytes("a ping first", FrameWriter.frame(.ping, payload: [UInt8](repeating: 0, count: 8))),
        HostileBytes("a cancel first", FrameWriter.frame(.cancel, stream: 1)),
        HostileBytes("a welcome", FrameWriter.frame(.welcome)),
        HostileBytes("a goaway", FrameWriter.frame(.goaway)),
        HostileBytes(
            "a hello on stream 3", FrameWriter.frame(.hello, stream: 3, payload: FrameClient.hello(token: nil))),
        HostileBytes("a hello that is no protobuf", FrameWriter.frame(.hello, payload: [0xff, 0xff, 0xff, 0xff])),
        HostileBytes(
            "a hello cut short",
            FrameWriter.frame(.hello, payload: Array(FrameClient.hello(token: nil).dropLast(3)))),
        HostileBytes(
            "a device id of 15 bytes",
            FrameWriter.frame(
                .hello, payload: FrameClient.hello(token: nil, device: [UInt8](repeating: 1, count: 15)))),
        HostileBytes(
            "an environment that does not exist",
            FrameWriter.frame(.hello, payload: FrameClient.hello(token: nil, environment: 9))),
        HostileBytes(
            "a token of 60,000 characters",
            FrameWriter.frame(
                .hello, payload: FrameClient.hello(token: String(repeating: "A", count: 60_000)))),
        HostileBytes(
            "a container of 257 characters",
            FrameWriter.frame(
                .hello,
                payload: FrameClient.hello(token: nil, container: "iCloud." + String(repeating: "a", count: 250))),
            code: .badContainer),
        HostileBytes(
            "a container that is no UTF-8",
            FrameWriter.frame(
                .hello,
                payload: ProtobufField.encode([
                    .varint(1, 1), .bytes(3, [UInt8](repeating: 1, count: 16)), .bytes(4, [0xff, 0xfe]), .varint(5, 1),
                ])), code: .badContainer),
    ]

    @Test("a first frame that is not a good hello is refused with a sentence", arguments: beforeTheHello)
    func beforeWelcome(bad: HostileBytes) async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.connect(server)
            peer.send(bad.bytes)
            let status = try await peer.endingStatus()
            #expect(status.code == bad.code)
            #expect(status.isSentence, "\(status)")
            try await server.expectServes()
        }
    }

    @Test("another protocol version is refused as incompatible", arguments: [0, 2, 4_000_000_000] as [UInt64])
    func version(version: UInt64) async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.connect(server)
            peer.sendFrame(.hello, payload: FrameClient.hello(token: nil, version: version))
            let status = try await peer.endingStatus()
            #expect(status.code == .incompatibleVersion)
            #expect(status.isSentence, "\(status)")
        }
    }

    @Test(
        "a container's name outside of the rules is refused as a bad container",
        arguments: [
            "", "Cloud.com.example", "iCloud.", "iCloud.über", "iCloud.a b", "iCloud.a\u{0}",
            "iCloud." + String(repeating: "a", count: 249),
        ])
    func container(name: String) async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.connect(server)
            peer.sendFrame(.hello, payload: FrameClient.hello(token: nil, container: name))
            let status = try await peer.endingStatus()
            #expect(status.code == .badContainer)
            #expect(status.isSentence, "\(status)")
        }
    }

    static let eightBytes = [UInt8](repeating: 1, count: 8)

    static let behindTheWelcome = [
        HostileBytes("type 0", FrameClient.header(length: 0, type: 0)),
        HostileBytes("flag 4 on a call", FrameClient.header(length: 0, type: 3, flags: 4, stream: 9)),
        HostileBytes(
            "a payload above the limit", FrameClient.header(length: UInt32(Limits.frameBytes) + 1, type: 4, stream: 1),
            code: .limitExceeded),
        HostileBytes("a second hello", FrameWriter.frame(.hello, payload: FrameClient.hello(token: nil))),
        HostileBytes("a welcome", FrameWriter.frame(.welcome)),
        HostileBytes("a goaway", FrameWriter.frame(.goaway)),
        HostileBytes("a status", FrameWriter.frame(.status, stream: 1)),
        HostileBytes("a call on stream 0", FrameWriter.frame(.call, payload: FrameClient.call(1))),
        HostileBytes("a message on stream 0", FrameWriter.frame(.message, isLast: true)),
        HostileBytes(
            "a message on a stream that was never opened", FrameWriter.frame(.message, stream: 77, isLast: true)),
        HostileBytes("a cancel of stream 0", FrameWriter.frame(.cancel)),
        HostileBytes("a cancel of a stream that was never opened", FrameWriter.frame(.cancel, stream: 77)),
        HostileBytes(
            "credit for stream 0",
            FrameWriter.frame(.credit, payload: FrameWriter.creditPayload(StreamCredit(messages: 1, bytes: 1 << 16)))),
        HostileBytes(
            "credit for a stream that was never opened",
            FrameWriter.frame(
                .credit, stream: 77, payload: FrameWriter.creditPayload(StreamCredit(messages: 1, bytes: 1 << 16)))),
        HostileBytes("credit of four bytes", FrameWriter.frame(.credit, stream: 77, payload: [0, 0, 0, 1])),
        HostileBytes("a ping of seven bytes", FrameWriter.frame(.ping, payload: Array(eightBytes.dropLast()))),
        HostileBytes("a ping on a stream", FrameWriter.frame(.ping, stream: 2, payload: eightBytes)),
        HostileBytes(
            "a stream id used twice",
            FrameWriter.frame(.call, stream: 5, payload: FrameClient.call(1))
                + FrameWriter.frame(.call, stream: 5, payload: FrameClient.call(1))),
        HostileBytes(
            "a stream id below an earlier one",
            FrameWriter.frame(.call, stream: 5, payload: FrameClient.call(1))
                + FrameWriter.frame(.call, stream: 4, payload: FrameClient.call(1))),
    ]

    @Test("a frame that breaks the protocol ends the connection with a sentence", arguments: behindTheWelcome)
    func violation(bad: HostileBytes) async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            peer.send(bad.bytes)
            let status = try await peer.endingStatus()
            #expect(status.code == bad.code)
            #expect(status.isSentence, "\(status)")
            try await server.expectServes()
        }
    }

    @Test("a frame that is not whole at the deadline ends the connection", arguments: [1, 9, 10, 500])
    func frameStops(byteCount: Int) async throws {
        try await RunningServer.running(adjust: RunningServer.shortDeadlines) { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            let frame = FrameClient.header(length: 1_000, type: 3, stream: 1) + [UInt8](repeating: 0, count: 990)
            peer.send(Array(frame.prefix(byteCount)))
            let status = try await peer.endingStatus()
            #expect(status.code == .networkFailure)
            #expect(status.isSentence, "\(status)")
            try await server.expectServes()
        }
    }

    @Test("a hello that is not whole at the deadline ends the connection")
    func helloStops() async throws {
        try await RunningServer.running(adjust: RunningServer.shortDeadlines) { server in
            let peer = try await FrameClient.connect(server)
            peer.send(Array(FrameWriter.frame(.hello, payload: FrameClient.hello(token: nil)).dropLast()))
            let status = try await peer.endingStatus()
            #expect(status.code == .networkFailure)
            try await server.expectServes()
        }
    }

    @Test("a call whose request never comes fails at its deadline, and the connection goes on")
    func callStops() async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            let stream = peer.openCall(HostileRequests.Method.healthCheck, timeoutMilliseconds: 50)
            guard case .failure(let status) = try await peer.answer(to: stream) else {
                Issue.record("a call without a request was answered")
                return
            }
            #expect(status.code == .networkFailure)
            #expect(status.isSentence, "\(status)")
            _ = try await peer.succeed(HostileRequests.Method.healthCheck, [])
        }
    }

    @Test("a silent connection is pinged, and closed when nothing comes back")
    func silentPeer() async throws {
        try await RunningServer.running(adjust: { $0.connectionLimits.idleMilliseconds = 300 }) { server in
            let peer = try await FrameClient.welcomed(server, token: nil, answersPings: false)
            var pings = 0
            waiting: while let event = await peer.next() {
                switch event {
                case .frame(let frame) where frame.type == .ping: pings += 1
                case .closed: break waiting
                default: continue
                }
            }
            #expect(pings == 1)
            try await server.expectServes()
        }
    }

    @Test("an unknown method fails its call alone", arguments: [0, 2, 80 + 1, 999, 0xffff_ffff] as [UInt64])
    func unknownMethod(method: UInt64) async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            let status = try await peer.fail(method, [])
            #expect(status.code == .invalidArguments)
            #expect(status.isSentence, "\(status)")
            _ = try await peer.succeed(HostileRequests.Method.healthCheck, [])
        }
    }

    @Test(
        "a message that is no protobuf fails its call alone, a call frame the connection",
        arguments: [
            [0xff], [0x08], [0x0a, 0x05, 1], [0x0f], [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
        ] as [[UInt8]])
    func invalidProtobuf(bytes: [UInt8]) async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            // Stream 1 by hand: the peer counts from there.
            for method in [
                HostileRequests.Method.zonesModify, HostileRequests.Method.zonesFetch,
                HostileRequests.Method.recordsModify,
                HostileRequests.Method.recordsFetch, HostileRequests.Method.recordsChanges,
                HostileRequests.Method.databasesChanges, HostileRequests.Method.subscriptionsModify,
                HostileRequests.Method.subscriptionsFetch, HostileRequests.Method.subscriptionsList,
                HostileRequests.Method.notificationsOpen,
            ] {
                let status = try await peer.fail(method, bytes)
                #expect(status.code == .invalidArguments, "method \(method)")
                #expect(status.isSentence, "\(status)")
            }
            // Which call was meant, nobody knows: that ends the connection.
            peer.sendFrame(.call, stream: 5_000, payload: bytes)
            #expect(try await peer.endingStatus().code == .invalidArguments)
            try await server.expectServes()
        }
    }

    @Test("the server ignores what a pong and a cancel hold, pongs that nobody asked for, and last on other frames")
    func ignoredParts() async throws {
        try await RunningServer.running { server in
            let hello = FrameWriter.frame(.hello, payload: FrameClient.hello(token: nil))
            let peer = try await FrameClient.connect(
                server, first: FrameWriter.frame(.pong, payload: [1, 2, 3]) + hello)
            #expect(try await peer.nextFrame().type == .welcome)
            for count in [0, 3, 8, 1_000] {
                peer.sendFrame(.pong, isLast: count == 3, payload: [UInt8](repeating: 7, count: count))
            }
            let stream = peer.openCall(HostileRequests.Method.recordsFetch)
            peer.sendFrame(.cancel, stream: stream, isLast: true, payload: [1, 2, 3])
            peer.sendFrame(
                .call, stream: stream + 2, isLast: true,
                payload: FrameClient.call(HostileRequests.Method.healthCheck))
            peer.sendFrame(.message, stream: stream + 2, isLast: true)
            let answer = try await peer.nextFrame()
            #expect(answer.type == .message && answer.stream == stream + 2, "\(answer)")
        }
    }

    @Test(
        "a request id or a group's name that is too long or no UTF-8 fails its call alone",
        arguments: [
            ProtobufField.bytes(3, [UInt8](repeating: 0x61, count: 65)), .bytes(3, [0xff]),
            .bytes(4, [UInt8](repeating: 0x61, count: 256)), .bytes(4, [0xff]),
        ].map { ByteArgument(ProtobufField.encode([.varint(1, HostileRequests.Method.healthCheck), $0])) })
    func callTexts(call: ByteArgument) async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            let other = peer.openCall(HostileRequests.Method.healthCheck)
            let stream: UInt32 = 5_000
            peer.sendFrame(.call, stream: stream, payload: call.bytes)
            peer.sendFrame(.message, stream: stream, isLast: true)
            guard case .failure(let status) = try await peer.answer(to: stream) else {
                Issue.record("the call was answered")
                return
            }
            #expect(status.code == .invalidArguments)
            #expect(status.isSentence, "\(status)")
            peer.sendFrame(.message, stream: other, isLast: true)
            _ = try await peer.answer(to: other).get()
        }
    }

    @Test("a request in several messages fails its call alone")
    func unaryInPieces() async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            let stream = peer.openCall(HostileRequests.Method.healthCheck)
            peer.sendFrame(.message, stream: stream)
            peer.sendFrame(.message, stream: stream, isLast: true)
            guard case .failure(let status) = try await peer.answer(to: stream) else {
                Issue.record("a unary call took two messages")
                return
            }
            #expect(status.code == .invalidArguments)
            _ = try await peer.succeed(HostileRequests.Method.healthCheck, [])
        }
    }

    @Test("frames of a call that was cancelled are let pass: they crossed")
    func crossing() async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            let stream = peer.openCall(HostileRequests.Method.healthCheck)
            peer.sendFrame(.cancel, stream: stream)
            peer.sendFrame(.cancel, stream: stream)
            peer.sendFrame(.message, stream: stream, isLast: true)
            peer.sendFrame(
                .credit, stream: stream, payload: FrameWriter.creditPayload(StreamCredit(messages: 3, bytes: 1 << 16)))
            _ = try await peer.succeed(HostileRequests.Method.healthCheck, [])
        }
    }

    @Test("a welcomed peer's random frames never end more than its connection")
    func randomFrames() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            for _ in 0..<60 {
                let peer = try await FrameClient.welcomed(server, token: token)
                var stream: UInt32 = 1
                for _ in 0..<Int.random(in: 1...30, using: &random) {
                    let payload = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                        UInt8.random(in: .min ... .max, using: &random)
                    }
                    // Mostly well-formed headers, so that the bytes get as far as they can.
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0:
                        peer.send(
                            FrameClient.header(
                                length: UInt32(payload.count), type: UInt8.random(in: 0...12, using: &random),
                                flags: UInt8.random(in: 0...2, using: &random),
                                stream: UInt32.random(in: 0...stream, using: &random)) + payload)
                    case 1: peer.sendFrame(.cancel, stream: UInt32.random(in: 1...stream, using: &random))
                    default:
                        let methods: [UInt64] = [1, 16, 17, 18, 32, 33, 34, 48, 64, 65, 66, 80, 256, 257, 258]
                        stream += 1
                        peer.sendFrame(
                            .call, stream: stream,
                            payload: FrameClient.call(methods.randomElement(using: &random)!))
                        // A scope that exists, and then noise.
                        peer.sendFrame(.message, stream: stream, isLast: true, payload: [8, 2] + payload)
                    }
                }
                _ = await peer.pendingOutputBytes()
                peer.abort()
            }
            try await server.expectServes(token: token)
        } onFailure: {
            "seed \(seed)"
        }
    }
}
