import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

/// What a newer peer adds within version 1 of the protocol (`proto/README.md`, Versions).
@Suite("Messages of a newer peer")
struct NewerPeerTests {
    private let coder = MessageCoder()
    private let zone = ProtoBytes().text(1, "Notes")

    /// What a record is in an answer: one with a known value, one of a kind that there is none of, and one more.
    private var record: ProtoBytes {
        [
            ("new", ProtoBytes().varint(100, 1)), ("newer", ProtoBytes().message(101, ProtoBytes().text(1, "x"))),
            ("old", ProtoBytes().text(1, "x")),
        ].reduce(ProtoBytes().text(1, "name").text(2, "Note")) {
            $0.message(15, ProtoBytes().text(1, $1.0).message(2, $1.1))
        }
    }

    // MARK: What a client reads

    @Test("a zone that was deleted for an unknown reason is deleted", arguments: [4, 255, 256, 1 << 31] as [UInt64])
    func deletionReason(number: UInt64) throws {
        let deletion = ProtoBytes().message(1, zone).varint(2, number)
        let page = try ProtoBytes().message(2, deletion).bytes(3, [7]).message(5, deletion).bytes
            .decoded(coder.decodeDatabaseChangesResponse)
        #expect(page.deletions == [.init(zone: ZoneID(name: "Notes"), reason: .deleted)])
        #expect(page.earlierDeletions == page.deletions)
        #expect(page.token == [7])
    }

    @Test("an error with an unknown detail has its code alone", arguments: [6, 255, 256, 1 << 31] as [UInt64])
    func statusDetail(number: UInt64) throws {
        let status = try ProtoBytes().varint(1, 52).text(2, "m").varint(4, number).bytes.decoded(coder.decodeStatus)
        #expect(status == CallStatus(code: 26, message: "m"))
        let item = ProtoBytes().varint(1, 52).text(2, "m").varint(5, number)
        let results = try ProtoBytes().message(1, ProtoBytes().message(2, item)).bytes
            .decoded(coder.decodeModifyZonesResponse)
        guard case .failure(let error) = results.saves[0] else {
            Issue.record("the item did not fail")
            return
        }
        #expect(error == ServiceError(.zoneNotFound, "m"))
    }

    @Test("a record's value of an unknown kind is left out, and the record's other values are read")
    func valueKinds() throws {
        let fetched = try ProtoBytes()
            .message(1, ProtoBytes().message(1, ProtoBytes().message(1, record))).bytes
            .decoded(coder.decodeFetchRecordsResponse)
        guard case .record(let answer) = fetched[0][0] else {
            Issue.record("the fetched record is none")
            return
        }
        #expect(answer.fields == ["old": .string("x")])
        let changes = try ProtoBytes().message(1, record).bytes(3, [7]).bytes.decoded(coder.decodeZoneChangesResponse)
        #expect(changes.records.map(\.fields) == [["old": .string("x")]])
    }

    @Test("a result without an outcome that is known is its item's failure, and the others count")
    func outcomes() throws {
        let unknown = ProtoBytes().message(100, ProtoBytes())
        let saves = try ProtoBytes()
            .message(1, ProtoBytes().message(1, unknown).message(1, ProtoBytes().message(1, record))).bytes
            .decoded(coder.decodeModifyRecordsResponse)[0].saves.map(\.outcome)
        let fetches = try ProtoBytes()
            .message(1, ProtoBytes().message(1, unknown).message(1, ProtoBytes().message(1, record))).bytes
            .decoded(coder.decodeFetchRecordsResponse)[0]
        for outcomes in [saves, fetches] {
            try #require(outcomes.count == 2)
            guard case (.failure(let error), .record) = (outcomes[0], outcomes[1]) else {
                Issue.record("\(outcomes)")
                continue
            }
            #expect(error.code == .internalError)
        }
        let zones = try ProtoBytes()
            .message(1, unknown).message(1, ProtoBytes().message(1, ProtoBytes().message(1, zone))).bytes
            .decoded(coder.decodeModifyZonesResponse).saves
        #expect(zones.map { (try? $0.get()) != nil } == [false, true])
        let subscriptions = try ProtoBytes()
            .message(1, unknown).message(1, ProtoBytes().message(2, ProtoBytes().varint(1, 54))).bytes
            .decoded(coder.decodeModifySubscriptionsResponse).saves
        #expect(subscriptions.count == 2 && subscriptions.allSatisfy { (try? $0.get()) == nil })
    }

    // MARK: What a server reads

    @Test("a save with a value of an unknown kind is its item's failure")
    func savedValueKinds() throws {
        let save = ProtoBytes().text(1, "name").text(2, "Note")
            .message(15, ProtoBytes().text(1, "new").message(2, ProtoBytes().varint(100, 1)))
        let request = try ProtoBytes().varint(1, 2)
            .message(5, ProtoBytes().message(1, zone).message(2, save)).bytes
            .decoded(coder.decodeModifyRecordsRequest)
        #expect(request.zones[0].saves[0].fields.problem?.code == .invalidArguments)
    }
}
