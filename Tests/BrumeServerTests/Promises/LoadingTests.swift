import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeService
import BrumeStore
import BrumeTestKit
import Foundation
import Synchronization
import Testing

/// Alice's database is on the disk and not in memory, the loader stands at a gate before it, and the server has one
/// loop.
@Suite("Databases that are loaded beside their loop", .timeLimit(.minutes(3)))
struct LoadingTests {
    private typealias Method = HostileRequests.Method
    private static let zone = HostileRequests.zone("Notes")

    private struct Scene {
        let server: RunningServer
        let disk: GatedDisk
        let token: String
        let dataFolder: String
    }

    private static func running(
        adjust: (inout ServerConfiguration) -> Void = { _ in }, _ body: (Scene) async throws -> Void
    ) async throws {
        nonisolated(unsafe) var gate: GatedDisk?
        nonisolated(unsafe) var folder = ""
        try await RunningServer.running(
            adjust: {
                $0.loopCount = 1
                $0.memoryBudgetBytes = 1
                $0.shortLoadBytes = 0
                adjust(&$0)
            },
            disk: {
                folder = $0
                let disk = GatedDisk(folder: $0)
                gate = disk
                return disk
            },
            { server in
                let disk = try #require(gate)
                // The test ends, whatever happened in it.
                defer { disk.open() }
                let token = try server.addAccount("alice")
                let peer = try await FrameClient.welcomed(server, token: token)
                try await peer.makeZone("Notes")
                try await peer.mustSave("r0", in: zone)
                peer.abort()
                try await memoryIsEmpty(server)
                disk.shut()
                try await body(Scene(server: server, disk: disk, token: token, dataFolder: folder))
            })
    }

    private static func memoryIsEmpty(_ server: RunningServer) async throws {
        try await waitUntil("no database is in memory") { server.server.databaseBytes == 0 }
    }

    private static func fetch(_ name: String) -> [UInt8] { HostileRequests.fetch(zone: zone, names: [name]) }

    private static func save(_ name: String) -> [UInt8] {
        HostileRequests.modifyRecords(zone: zone, [HostileRequests.save(name)])
    }

    private static func names(_ page: Result<[UInt8], ReceivedStatus>) throws -> [String] {
        try #require(ProtobufReader(try page.get())).messages(1).map { $0.text(1) }
    }

    @Test("a database of the same loop is answered while another is loaded, and calls for that one keep their order")
    func besideOthers() async throws {
        try await Self.running { scene in
            let alice = try await FrameClient.welcomed(scene.server, token: scene.token)
            let calls = [
                alice.startCall(Method.recordsChanges, HostileRequests.changes(zone: Self.zone)),
                alice.startCall(Method.recordsModify, Self.save("r1")),
                alice.startCall(Method.recordsChanges, HostileRequests.changes(zone: Self.zone)),
                alice.startCall(Method.recordsModify, Self.save("r2")),
                alice.startCall(Method.recordsChanges, HostileRequests.changes(zone: Self.zone)),
            ]
            try await scene.disk.someoneWaits()
            let bob = try await FrameClient.welcomed(scene.server, token: try scene.server.addAccount("bob"))
            try await bob.makeZone("Notes")
            try await bob.mustSave("b", in: Self.zone)
            #expect(scene.disk.waiting == 1, "the load has ended: nothing was proven")
            bob.abort()
            scene.disk.open()
            var pages: [[String]] = []
            for (index, call) in calls.enumerated() {
                let answer = try await alice.answer(to: call)
                if index % 2 == 0 { pages.append(try Self.names(answer)) }
            }
            #expect(pages == [["r0"], ["r0", "r1"], ["r0", "r1", "r2"]])
            alice.abort()
        }
    }

    @Test("a session sends no more than its part while it waits, and all of it is answered in order")
    func flowControl() async throws {
        try await Self.running { scene in
            let alice = try await FrameClient.welcomed(scene.server, token: scene.token)
            let calls = (0..<40).map { alice.startCall(Method.recordsModify, Self.save("w\($0)")) }
            try await scene.disk.someoneWaits()
            scene.disk.open()
            for call in calls { _ = try await alice.answer(to: call).get() }
            let page = try await alice.call(Method.recordsChanges, HostileRequests.changes(zone: Self.zone))
            #expect(try Self.names(page) == ["r0"] + (0..<40).map { "w\($0)" })
            alice.abort()
        }
    }

    @Test("a session that waits may end, and its database leaves memory again")
    func ends() async throws {
        try await Self.running { scene in
            for device in 0..<3 {
                let gone = try await FrameClient.welcomed(scene.server, token: scene.token, device: UInt8(device))
                _ = gone.startCall(Method.recordsModify, Self.save("g\(device)"))
                try await scene.disk.someoneWaits()
                _ = try await gone.succeed(Method.healthCheck, [])
                gone.abort()
            }
            let alice = try await FrameClient.welcomed(scene.server, token: scene.token)
            let call = alice.startCall(Method.recordsFetch, Self.fetch("r0"))
            scene.disk.open()
            _ = try await alice.answer(to: call).get()
            #expect(scene.server.server.databaseBytes > 0)
            alice.abort()
            try await Self.memoryIsEmpty(scene.server)
        }
    }

    @Test("of an account half as many calls as places may wait; more are refused with a time to come back")
    func limit() async throws {
        try await Self.running(adjust: { $0.callsPerLoad = 6 }) { scene in
            let alice = try await FrameClient.welcomed(scene.server, token: scene.token)
            let calls = (0..<5).map { _ in alice.startCall(Method.recordsFetch, Self.fetch("r0")) }
            for call in calls[3...] {
                guard case .failure(let status) = try await alice.answer(to: call) else {
                    Issue.record("a call that may not wait was answered")
                    continue
                }
                #expect(status.code == .serviceUnavailable && status.retryAfterMilliseconds > 0 && status.isSentence)
            }
            scene.disk.open()
            for call in calls[..<3] { _ = try await alice.answer(to: call).get() }
            alice.abort()
        }
    }

    @Test("a damaged snapshot fails every call that waits, and is told to the operator once")
    func damage() async throws {
        try await Self.running { scene in
            let folder = scene.dataFolder + "/snapshots/"
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.contains("private") {
                var bytes = try Data(contentsOf: URL(fileURLWithPath: folder + name))
                bytes[bytes.count - 30] ^= 1
                try bytes.write(to: URL(fileURLWithPath: folder + name))
            }
            let alice = try await FrameClient.welcomed(scene.server, token: scene.token)
            let stream = alice.openCall(Method.notificationsOpen)
            alice.sendFrame(.message, stream: stream, payload: [])
            let calls =
                [stream] + (0..<3).map { _ in alice.startCall(Method.recordsFetch, Self.fetch("r0")) }
            try await scene.disk.someoneWaits()
            _ = try await alice.succeed(Method.healthCheck, [])
            scene.disk.open()
            for call in calls {
                guard case .failure(let status) = try await alice.answer(to: call) else {
                    Issue.record("a damaged database answers")
                    continue
                }
                #expect(status.code == .internalError && status.retryAfterMilliseconds == 60_000)
            }
            let later = try await alice.fail(Method.recordsFetch, Self.fetch("r0"))
            #expect(later.code == .internalError)
            let lines = scene.server.log.text.split(separator: "\n").filter {
                $0.contains("a database can't be loaded")
            }
            #expect(lines.count == 1 && lines[0].contains(".snapshot is damaged at byte"), "\(lines)")
            try await scene.server.expectServes()
            alice.abort()
        }
    }

    @Test("a stream that is opened during the load is ready behind it, and one that was cancelled stays so")
    func streams() async throws {
        try await Self.running { scene in
            let alice = try await FrameClient.welcomed(scene.server, token: scene.token)
            let cancelled = alice.openCall(Method.notificationsOpen)
            alice.sendFrame(.message, stream: cancelled, payload: [])
            let stream = alice.openCall(Method.notificationsOpen)
            alice.sendFrame(.message, stream: stream, payload: [])
            try await scene.disk.someoneWaits()
            alice.sendFrame(.cancel, stream: cancelled)
            _ = try await alice.succeed(Method.healthCheck, [])
            let call = alice.startCall(Method.recordsFetch, Self.fetch("r0"))
            scene.disk.open()
            // The call's answer, and the stream's first event: which comes first depends on the public database's loop.
            var heard: Set<UInt32> = []
            while !heard.isSuperset(of: [call, stream]) {
                let frame = try await alice.nextFrame()
                if frame.type == .message { heard.insert(frame.stream) }
            }
            #expect(heard == [call, stream])
            alice.abort()
        }
    }

    @Test("a server that drains answers the calls that wait for a load")
    func drains() async throws {
        try await Self.running { scene in
            let alice = try await FrameClient.welcomed(scene.server, token: scene.token)
            let call = alice.startCall(Method.recordsModify, Self.save("r1"))
            try await scene.disk.someoneWaits()
            // Frames are read in their order: the call waits.
            _ = try await alice.succeed(Method.healthCheck, [])
            scene.server.server.drain()
            while try await alice.nextFrame().type != .goaway {}
            scene.disk.open()
            _ = try await alice.answer(to: call).get()
        }
    }

    @Test("a server whose time to drain is over stops without the database")
    func stops() async throws {
        try await Self.running(adjust: { $0.drainTimeoutMilliseconds = 50 }) { scene in
            let alice = try await FrameClient.welcomed(scene.server, token: scene.token)
            _ = alice.startCall(Method.recordsFetch, Self.fetch("r0"))
            try await scene.disk.someoneWaits()
            // Frames are read in their order: the call waits.
            _ = try await alice.succeed(Method.healthCheck, [])
            scene.server.server.drain()
            try await alice.closeReason()
            #expect(scene.disk.waiting == 1)
        }
    }
}
