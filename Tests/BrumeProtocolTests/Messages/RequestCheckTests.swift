import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeTestKit
import Testing

/// What is wrong with a request as a whole is thrown; what is wrong with one record is that record's.
struct RequestCheckTests {
    private let coder = MessageCoder()

    // MARK: Whole requests

    private func failure(_ bytes: [UInt8]) -> ErrorCode? {
        do throws(ServiceError) {
            _ = try bytes.decoded(coder.decodeModifyRecordsRequest)
            return nil
        } catch {
            #expect(error.message.contains { $0 == ";" || $0 == ":" }, "says what to do: \(error.message)")
            return error.code
        }
    }

    private func request(_ zones: [ProtoBytes]) -> ProtoBytes {
        zones.reduce(ProtoBytes().varint(1, 2)) { $0.message(5, $1) }
    }

    private func zone(_ name: String = "Notes", owner: String = "") -> ProtoBytes {
        ProtoBytes().message(1, ProtoBytes().text(1, name).text(2, owner))
    }

    private func save(_ name: String) -> ProtoBytes { ProtoBytes().text(1, name).text(2, "Note") }

    @Test("bytes that are no protobuf message are invalid arguments")
    func garbage() {
        #expect(failure([0xFF, 0xFF]) == .invalidArguments)
        #expect(failure([0x2A, 0x05, 0x00]) == .invalidArguments)
    }

    @Test("a database scope has to be given and known")
    func scope() {
        #expect(failure([]) == .invalidArguments)
        for scope: UInt64 in [0, 4, 5, 300, UInt64(UInt32.max)] {
            #expect(failure(ProtoBytes().varint(1, scope).bytes) == .invalidArguments)
        }
        #expect(failure(request([]).bytes) == nil)
    }

    @Test("an unknown save policy is refused")
    func savePolicy() {
        #expect(failure(request([]).varint(2, 3).bytes) == .invalidArguments)
        #expect(failure(request([]).varint(2, 258).bytes) == .invalidArguments)
    }

    @Test("an operation id has 16 bytes or none", arguments: [0, 1, 15, 16, 17, 1000])
    func operationID(count: Int) {
        let bytes = request([]).bytes(4, [UInt8](repeating: 1, count: count)).bytes
        #expect(failure(bytes) == ([0, 16].contains(count) ? nil : .invalidArguments))
    }

    @Test("a client token has at most 1,024 bytes", arguments: [0, 1, 1_024, 1_025, 100_000])
    func clientToken(count: Int) {
        let bytes = request([]).bytes(6, [UInt8](repeating: 1, count: count)).bytes
        #expect(failure(bytes) == (count <= 1_024 ? nil : .invalidArguments))
    }

    @Test("a record named twice in one zone fails the request, in two zones it doesn't")
    func duplicates() {
        #expect(failure(request([zone().message(2, save("a")).message(2, save("a"))]).bytes) == .invalidArguments)
        #expect(failure(request([zone().message(2, save("a")).text(3, "a")]).bytes) == .invalidArguments)
        #expect(failure(request([zone().text(3, "a").text(3, "a")]).bytes) == .invalidArguments)
        #expect(failure(request([zone("A").text(3, "a"), zone("B").text(3, "a")]).bytes) == nil)
        // Two names that no record can have are two items' failures.
        #expect(failure(request([zone().bytes(3, [0xFF]).bytes(3, [0xFE])]).bytes) == nil)
        #expect(failure(request([zone().message(2, save("")).message(2, save(""))]).bytes) == nil)
    }

    @Test("a zone named twice fails the request, however its owner is written")
    func duplicateZones() {
        #expect(failure(request([zone(), zone()]).bytes) == .invalidArguments)
        #expect(failure(request([zone(), zone(owner: "__defaultOwner__")]).bytes) == .invalidArguments)
        #expect(failure(request([zone(), zone(owner: RecordSamples.userName)]).bytes) == nil)
    }

    @Test(
        "a zone's name and owner have to be usable",
        arguments: ["", "_x", "a\0b", "é", String(repeating: "x", count: 256)])
    func zoneNames(name: String) {
        #expect(failure(request([zone(name)]).bytes) == .invalidArguments)
        #expect(failure(request([ProtoBytes()]).bytes) == .invalidArguments)
        if !name.isEmpty { #expect(failure(request([zone(owner: name)]).bytes) == .invalidArguments) }
        #expect(failure(request([zone("_defaultZone")]).bytes) == nil)
    }

    @Test("400 items are allowed in a request, 401 are not")
    func itemLimit() throws {
        let names = (0..<401).map { "r\($0)" }
        func modify(_ count: Int) -> [UInt8] {
            let saves = names.prefix(count / 2).map { RecordSave<DecodedFields>(name: $0, type: "T", fields: [:]) }
            return coder.encodeModifyRecordsRequest(
                ModifyRecordsRequest(
                    database: .private,
                    zones: [
                        ZoneModification(zone: ZoneID(name: "Z"), saves: saves),
                        ZoneModification(zone: .defaultZone, deletions: Array(names[(count / 2)..<count])),
                    ]))
        }
        #expect(failure(modify(400)) == nil)
        #expect(failure(modify(401)) == .limitExceeded)

        let zones = names.map { ZoneID(name: $0) }
        expectLimit(401) { count in
            _ = try coder.encodeFetchRecordsRequest(
                FetchRecordsRequest(
                    database: .public, zones: [.init(zone: .defaultZone, names: Array(names.prefix(count)))])
            ).decoded(coder.decodeFetchRecordsRequest)
        }
        expectLimit(401) { count in
            let some = Array(zones.prefix(count))
            _ = try coder.encodeFetchZonesRequest(database: .public, zones: some).decoded(coder.decodeFetchZonesRequest)
        }
        expectLimit(401) { count in
            let request = ModifyZonesRequest(
                database: .private, saves: Array(zones[..<200]), deletions: Array(zones[200..<count]))
            _ = try coder.encodeModifyZonesRequest(request).decoded(coder.decodeModifyZonesRequest)
        }
        expectLimit(401) { count in
            let request = ModifySubscriptionsRequest(database: .private, deletions: Array(names.prefix(count)))
            _ = try coder.encodeModifySubscriptionsRequest(request).decoded(coder.decodeModifySubscriptionsRequest)
        }
        expectLimit(401) { count in
            let ids = Array(names.prefix(count))
            _ = try coder.encodeFetchSubscriptionsRequest(database: .private, ids: ids)
                .decoded(coder.decodeFetchSubscriptionsRequest)
        }
    }

    private func expectLimit(_ count: Int, _ decode: (Int) throws -> Void) {
        #expect(throws: Never.self) { try decode(count - 1) }
        let error = #expect(throws: ServiceError.self) { try decode(count) }
        #expect(error?.code == .limitExceeded)
    }

    @Test("a request of 2 MB is read, one byte more is refused unread")
    func requestBytes() {
        // An unknown field fills the message: two bytes before it, five for its tag and its length.
        let bytes = request([]).bytes(100, [UInt8](repeating: 0, count: Limits.requestBytes - 7)).bytes
        #expect(bytes.count == Limits.requestBytes)
        #expect(failure(bytes) == nil)
        #expect(failure(bytes + [0]) == .limitExceeded)
    }

    @Test("zones and subscriptions named twice fail the request")
    func otherDuplicates() {
        let zones = [ZoneID(name: "a"), ZoneID(name: "a")]
        expectInvalid {
            try coder.encodeModifyZonesRequest(ModifyZonesRequest(database: .private, saves: zones))
                .decoded(coder.decodeModifyZonesRequest)
        }
        expectInvalid {
            try coder.encodeModifyZonesRequest(
                ModifyZonesRequest(database: .private, saves: [zones[0]], deletions: [zones[1]])
            ).decoded(coder.decodeModifyZonesRequest)
        }
        expectInvalid {
            try coder.encodeFetchZonesRequest(database: .private, zones: zones).decoded(coder.decodeFetchZonesRequest)
        }
        expectInvalid {
            try coder.encodeModifySubscriptionsRequest(
                ModifySubscriptionsRequest(database: .private, saves: MessageSamples.subscriptions, deletions: ["db"])
            ).decoded(coder.decodeModifySubscriptionsRequest)
        }
    }

    @Test("a subscription that can't be kept fails the request")
    func subscriptions() {
        func expectCode(_ code: ErrorCode, _ change: (inout Subscription) -> Void) {
            var subscription = MessageSamples.subscriptions[0]
            change(&subscription)
            let error = #expect(throws: ServiceError.self) {
                try coder.encodeModifySubscriptionsRequest(
                    ModifySubscriptionsRequest(database: .private, saves: [subscription])
                ).decoded(coder.decodeModifySubscriptionsRequest)
            }
            #expect(error?.code == code)
        }
        expectCode(.invalidArguments) { $0.id = "" }
        expectCode(.invalidArguments) { $0.id = String(repeating: "x", count: 256) }
        expectCode(.invalidArguments) { $0.kind = .zone(ZoneID(name: "_x"), recordType: "") }
        expectCode(.invalidArguments) { $0.kind = .database(recordType: "1") }
        expectCode(.invalidArguments) { $0.notificationInfo?.desiredKeys = ["a", "b", "c", "d"] }
        expectCode(.limitExceeded) { $0.notificationInfo?.title = String(repeating: "x", count: 17_000) }
        let noKind = ProtoBytes().varint(1, 2).message(2, ProtoBytes().text(1, "id"))
        expectInvalid { try noKind.bytes.decoded(coder.decodeModifySubscriptionsRequest) }
        let noText = ProtoBytes().varint(1, 2).message(
            2, ProtoBytes().text(1, "id").message(3, ProtoBytes()).message(5, ProtoBytes().bytes(1, [0xC0])))
        expectInvalid { try noText.bytes.decoded(coder.decodeModifySubscriptionsRequest) }
    }

    @Test("the text of a schema that is imported is as long as its limit says, and no longer")
    func schemaTexts() throws {
        func read(_ byteCount: Int) throws -> Int {
            let text = String(repeating: " ", count: byteCount)
            return try coder.encodeImportSchemaRequest(text: text, validatesOnly: true)
                .decoded(coder.decodeImportSchemaRequest).text.count
        }
        let limit = Limits.importedSchemaTextBytes
        #expect(try read(limit) == limit)
        for byteCount in [limit + 1, Limits.requestBytes, Limits.schemaTextBytes] {
            let error = #expect(throws: ServiceError.self) { try read(byteCount) }
            #expect(error?.code == .limitExceeded)
        }
    }

    @Test("texts of hello, call and admin requests are bounded and valid")
    func otherTexts() throws {
        func hello(_ change: (inout Hello) -> Void) -> [UInt8] {
            var hello = Hello(
                clientVersion: "", deviceID: MessageSamples.operationID, container: "c", environment: .production)
            change(&hello)
            return coder.encodeHello(hello)
        }
        expectInvalid { try hello { $0.deviceID = [1] }.decoded(coder.decodeHello) }
        expectInvalid { try ProtoBytes().varint(5, 3).bytes.decoded(coder.decodeHello) }
        // Whatever is wrong with a container's name is the server's to say.
        let long = String(repeating: "c", count: 256)
        #expect(try hello { $0.container = long }.decoded(coder.decodeHello).container == long)
        #expect(try ProtoBytes().bytes(4, [0xFF]).bytes.decoded(coder.decodeHello).container == "\u{FFFD}")
        // A call's texts fail the call, which has to be known by its stream and method.
        for call in [
            CallHeader(method: .zonesList, timeoutMilliseconds: 5, requestID: String(repeating: "r", count: 65)),
            CallHeader(method: .zonesList, timeoutMilliseconds: 5, operationGroup: String(repeating: "g", count: 256)),
        ] {
            let header = try coder.encodeCall(call).decoded(coder.decodeCall)
            #expect(header.problem?.code == .invalidArguments)
            #expect(header.method == .zonesList && header.timeoutMilliseconds == 5)
            #expect(header.requestID.isEmpty && header.operationGroup.isEmpty)
        }
        #expect(
            try ProtoBytes().varint(1, 18).bytes(3, [0xFF]).bytes.decoded(coder.decodeCall).problem?.code
                == .invalidArguments)
        // A trace that is none, or none of ours, fails nothing.
        for text in ["", "00", String(repeating: "0", count: 1 << 20)] {
            let header = try ProtoBytes().varint(1, 18).bytes(5, Array(text.utf8)).bytes.decoded(coder.decodeCall)
            #expect(header.problem == nil && header.traceParent == nil && header.method == .zonesList)
        }
        for name in ["", "a b", "é", "a\0b", String(repeating: "x", count: 65)] {
            expectInvalid {
                try coder.encodeAddAccountRequest(name: name, email: "").decoded(coder.decodeAddAccountRequest)
            }
            expectInvalid { try coder.encodeRemoveAccountRequest(name: name).decoded(coder.decodeRemoveAccountRequest) }
        }
    }

    private func expectInvalid<Value>(
        _ decode: () throws -> Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: ServiceError.self, sourceLocation: sourceLocation) { _ = try decode() }
        #expect(error?.code == .invalidArguments, sourceLocation: sourceLocation)
    }
}
