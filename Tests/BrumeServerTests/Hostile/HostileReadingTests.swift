import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

/// What others may not read is told as what is not there, to the byte.
@Suite("What is not there, and what is not yours", .timeLimit(.minutes(2)))
struct HostileReadingTests {
    private static let importSchema: UInt64 = 263
    private static let publicScope: UInt64 = 1
    private static let schema = """
        DEFINE SCHEMA
        RECORD TYPE Note (GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator");
        RECORD TYPE Diary (GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator");
        """

    private static func modify(_ items: [ProtobufField]) -> [UInt8] {
        HostileRequests.modifyRecords(
            scope: publicScope, zone: HostileRequests.zone("_defaultZone"), items)
    }

    @Test("a fetch, a deletion and a child of a record that may not be read are answered as those of a missing one")
    func answers() async throws {
        try await RunningServer.running { server in
            let admin = try await server.adminClient()
            _ = try await admin.succeed(Self.importSchema, ProtobufField.encode([.text(1, Self.schema)]))
            let ada = try await FrameClient.welcomed(server, token: try server.addAccount("ada"))
            let eve = try await FrameClient.welcomed(server, token: try server.addAccount("eve"), device: 8)
            _ = try await ada.succeed(
                HostileRequests.Method.recordsModify,
                Self.modify([
                    HostileRequests.save("hidden", type: "Diary"), HostileRequests.save("shown", type: "Note"),
                ]))
            func answers(_ name: String) async throws -> [Result<[UInt8], ReceivedStatus>] {
                let fetch = ProtobufField.encode([
                    .varint(1, Self.publicScope),
                    .message(2, [.message(1, HostileRequests.zone("_defaultZone")), .text(2, name)]),
                ])
                let child = ProtobufField.message(2, [.text(1, "child"), .text(2, "Note"), .text(4, name)])
                return [
                    try await eve.call(HostileRequests.Method.recordsFetch, fetch),
                    try await eve.call(HostileRequests.Method.recordsModify, Self.modify([.text(3, name)])),
                    try await eve.call(HostileRequests.Method.recordsModify, Self.modify([child])),
                ]
            }
            let missing = try await answers("absent").map { try $0.get() }
            #expect(try await answers("hidden").map { try $0.get() } == missing)
            #expect(try await answers("shown").map { try $0.get() } != missing)
            // It is there still, and its name is taken.
            let save = Self.modify([HostileRequests.save("hidden", type: "Diary")])
            guard case .success(let taken) = try await eve.call(HostileRequests.Method.recordsModify, save) else {
                Issue.record("the call failed as a whole")
                return
            }
            #expect(!taken.contains(Array("Diary".utf8)), "the answer tells the type")
            _ = try await ada.succeed(HostileRequests.Method.recordsModify, Self.modify([.text(3, "hidden")]))
            ada.abort()
            eve.abort()
            admin.abort()
        }
    }
}
