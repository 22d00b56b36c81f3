import BrumeModel
import BrumeTestKit
import BrumeWire
import Testing

@testable import BrumeServer

/// An account's part of what waits for the disk.
@Suite("Changes that are not durable yet")
struct UndurableTests {
    private func share(_ name: String) -> ClientShare {
        let budget = ByteBudget(limit: 1_000_000)
        return ClientShare(
            .account(name), callLimit: 1, streamLimit: 1, output: ByteShare(of: budget, limit: 1_000_000),
            input: ByteShare(of: budget, limit: 1_000_000))
    }

    @Test("each commit is its account's until it is durable, also where accounts take turns")
    func counting() {
        let (eve, ada) = (share("a"), share("b"))
        let limit = ServerLimits.undurableAccountBytes
        var commits = UndurableCommits()
        // A turn with four commits, of which the middle ones belong together, and another one.
        commits.append(limit / 2, of: eve, at: 1, submitted: 0)
        commits.append(1, of: ada, at: 2, submitted: 0)
        commits.append(1, of: ada, at: 3, submitted: 0)
        commits.append(limit / 2, of: eve, at: 4, submitted: 0)
        commits.append(2 * limit, of: ada, at: 5, submitted: 4)
        #expect(eve.undurableRefusal?.code == .requestRateLimited && ada.undurableRefusal != nil)
        commits.becameDurable(1)
        #expect(eve.undurableRefusal == nil && !eve.isUnused)
        commits.becameDurable(4)
        #expect(eve.isUnused, "nothing of it is counted any more")
        #expect(ada.undurableRefusal != nil, "the next turn's commit does not go with those before it")
        commits.becameDurable(5)
        #expect(ada.isUnused && ada.undurableRefusal == nil)
    }

    @Test("an account that has its part of what waits for the disk writes no more, and the others do")
    func refusal() throws {
        let server = try SteppedServer()
        let eves = try (0..<4).map { try server.connect(account: "a", device: UInt8($0 + 1)) }
        let ada = try server.connect(account: "b", device: 99)
        try eves[0].save(["r"]) { _ in ["body": .bytes([])] }
        try ada.save(["r"])
        let coder = MessageCoder()
        func save(_ name: String) -> [UInt8] {
            let fields: [String: FieldValue?] = ["body": .bytes([UInt8](repeating: 7, count: 900_000))]
            return coder.encodeModifyRecordsRequest(
                ModifyRecordsRequest<DecodedFields>(
                    database: .private,
                    zones: [
                        ZoneModification(
                            zone: .defaultZone, saves: [RecordSave(name: name, type: "Note", fields: fields)])
                    ]))
        }
        // The journal stands still.
        let calls = (0..<40).map { (eves[$0 % 4], eves[$0 % 4].start(.recordsModify, save("r\($0)"))) }
        for _ in 0..<10 { server.turn() }
        let refusals = calls.compactMap { peer, stream -> ServiceError? in
            if case .failure(let error)? = peer.outcome(stream) { error } else { nil }
        }
        #expect(calls.count - refusals.count == ServerLimits.undurableAccountBytes / 900_000 + 1)
        #expect(refusals.allSatisfy { $0.code == .requestRateLimited && $0.retryAfterMilliseconds > 0 })
        let read = eves[0].start(
            .recordsFetch,
            coder.encodeFetchRecordsRequest(
                FetchRecordsRequest(database: .public, zones: [.init(zone: .defaultZone, names: ["r"])])))
        let other = ada.start(.recordsModify, save("r"))
        server.settle()
        #expect(eves[0].isAnswered(read))
        guard case .success? = ada.outcome(other) else {
            Issue.record("another account's save was refused: \(String(describing: ada.outcome(other)))")
            return
        }
        _ = try eves[0].call(.recordsModify, save("again"))
    }
}
