import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeRecord
import BrumeTestKit
import Testing

/// Predicates travel as a flat list of nodes, which a stranger may have made.
struct PredicateCoderTests {
    private let client = MessageCoder()
    private let server = MessageCoder()

    private func arrived(_ predicate: Predicate) throws -> Predicate {
        try client.encodeQueryRequest(QuerySamples.query(predicate)).decoded(server.decodeQueryRequest).query.predicate
    }

    /// What becomes of a list of nodes, each the bytes of a `PredicateNode`.
    private func failure(_ nodes: [ProtoBytes]) -> ServiceError? {
        let predicate = nodes.reduce(ProtoBytes()) { $0.message(1, $1) }
        let query = ProtoBytes().text(1, "Note").message(2, predicate)
        let request = ProtoBytes().varint(1, 2).message(3, query)
        do throws(ServiceError) {
            _ = try request.bytes.decoded(server.decodeQueryRequest)
            return nil
        } catch {
            #expect(error.message.contains { $0 == ";" || $0 == ":" }, "says what to do: \(error.message)")
            return error
        }
    }

    private let leaf = ProtoBytes().varint(1, 1)

    private func node(and count: UInt64) -> ProtoBytes { ProtoBytes().varint(7, count) }

    private func key(_ name: String = "title") -> ProtoBytes { ProtoBytes().text(1, name) }

    private func system(_ number: UInt64) -> ProtoBytes { ProtoBytes().varint(2, number) }

    private func comparison(_ key: ProtoBytes?, _ comparison: UInt64 = 1, _ value: ProtoBytes?) -> ProtoBytes {
        var message = ProtoBytes()
        if let key { message = message.message(1, key) }
        message = message.varint(2, comparison)
        if let value { message = message.message(3, value) }
        return ProtoBytes().message(2, message)
    }

    private func value(_ value: FieldValue) -> ProtoBytes {
        // A field is its key and its value, number 2.
        let field = StoredRecord.encodeField(key: "k", value: value).bytes.dropFirst(3)
        return ProtoBytes().raw(Array(field.dropFirst(field[field.startIndex + 1] < 0x80 ? 2 : 3)))
    }

    // MARK: What arrives

    @Test("each kind of term arrives as it was sent", arguments: QuerySamples.terms)
    func terms(term: Predicate) throws {
        #expect(try arrived(term) == term)
    }

    @Test("trees arrive as they were sent")
    func trees() throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let tree = QuerySamples.tree(&generator)
            #expect(try arrived(tree) == tree, "seed \(seed)")
        }
    }

    @Test("connectives without operands are complete")
    func emptyConnectives() throws {
        for predicate in [Predicate.and([]), .or([]), .not(.or([])), .and([.or([]), .and([]), .constant(true)])] {
            #expect(try arrived(predicate) == predicate)
        }
    }

    @Test("64 levels arrive and 65 don't; a thousand are refused as well")
    func depth() throws {
        #expect(try arrived(QuerySamples.nested(64)) == QuerySamples.nested(64))
        for levels in [65, 1_000] {
            let failure = failure(Array(repeating: ProtoBytes().varint(9, 1), count: levels - 1) + [leaf])
            #expect(failure?.code == .limitExceeded)
        }
    }

    @Test("a thousand terms arrive and more don't")
    func termLimit() throws {
        let terms = Predicate.or(Array(repeating: .constant(false), count: 1_000))
        #expect(try arrived(terms) == terms)
        for count in [1_001, 3_999, 10_000] {
            let failure = failure([node(and: UInt64(count))] + Array(repeating: leaf, count: count))
            #expect(failure?.code == .limitExceeded)
        }
    }

    @Test("nodes that are no terms have a limit as well")
    func nodeLimit() {
        let empty = Array(repeating: node(and: 0), count: 4_000)
        #expect(failure([node(and: 3_999)] + empty.dropLast()) == nil)
        #expect(failure([node(and: 4_000)] + empty)?.code == .limitExceeded)
    }

    @Test("ten thousand values arrive and more don't, in one list or several")
    func valueLimit() throws {
        func list(_ count: Int) -> Predicate { .isIn(.field("n"), Array(repeating: .int64(7), count: count)) }
        #expect(try arrived(list(10_000)) == list(10_000))
        for predicate in [list(10_001), .and([list(5_000), list(5_001)]), list(100_000)] {
            #expect(throws: ServiceError.self) { try arrived(predicate) }
        }
    }

    @Test("a predicate has at most 256 KiB")
    func byteLimit() throws {
        func text(_ count: Int) -> Predicate {
            .comparison(.field("t"), .equal, .string(String(repeating: "x", count: count)))
        }
        #expect(try arrived(text(256 * 1024 - 100)) == text(256 * 1024 - 100))
        do {
            _ = try arrived(text(256 * 1024))
            Issue.record("it arrived")
        } catch let error as ServiceError {
            #expect(error.code == .limitExceeded)
        }
    }

    // MARK: Shapes that are none

    @Test("nodes that are missing or left over are refused")
    func shape() {
        #expect(failure([])?.code == .invalidArguments)
        for nodes in [
            [node(and: 1)], [node(and: 2), leaf], [leaf, leaf], [node(and: 1), leaf, leaf], [ProtoBytes().varint(9, 1)],
            [node(and: 0), leaf], [node(and: UInt64(UInt32.max)), leaf], [node(and: 2), node(and: 2), leaf, leaf],
            [ProtoBytes().varint(9, 0), leaf],
        ] {
            #expect(failure(nodes)?.code == .invalidArguments)
        }
        #expect(failure([node(and: 2), node(and: 0), leaf]) == nil)
    }

    @Test("a query without a predicate is refused and told what to send")
    func noPredicate() {
        let request = ProtoBytes().varint(1, 2).message(3, ProtoBytes().text(1, "Note"))
        #expect(throws: ServiceError.self) { try request.bytes.decoded(server.decodeQueryRequest) }
    }

    @Test("a node of an unknown kind is refused")
    func unknownKind() {
        #expect(failure([ProtoBytes()])?.code == .invalidArguments)
        #expect(failure([ProtoBytes().varint(77, 1)])?.code == .invalidArguments)
    }

    // MARK: Keys and values

    @Test("a key has to be there, known and named as a field can be")
    func keys() {
        let text = value(.string("x"))
        #expect(failure([comparison(key(), 1, text)]) == nil)
        for bad in [nil, ProtoBytes(), key(""), key("_x"), key("ä"), key("a b"), system(0), system(7), system(1 << 33)]
        {
            #expect(failure([comparison(bad, 1, text)])?.code == .invalidArguments)
        }
        let notText = ProtoBytes().bytes(1, [0xFF])
        #expect(failure([comparison(notText, 1, text)])?.code == .invalidArguments)
    }

    @Test("an operator has to be known")
    func operators() {
        for number: UInt64 in [0, 8, 257, 1 << 32] {
            #expect(failure([comparison(key(), number, value(.string("x")))])?.code == .invalidArguments)
        }
        let search = ProtoBytes().text(1, "word")
        for match: UInt64 in [0, 3] {
            #expect(failure([ProtoBytes().message(5, search.varint(2, match))])?.code == .invalidArguments)
        }
    }

    @Test("a value has to be set, of a known kind, and valid")
    func values() {
        let nan = ProtoBytes().double(3, .nan)
        for bad in [nil, ProtoBytes(), ProtoBytes().varint(99, 1), ProtoBytes().bytes(1, [0xC0]), nan] {
            #expect(failure([comparison(key(), 1, bad)])?.code == .invalidArguments)
        }
        for bad: FieldValue in [
            .double(.nan), .double(.infinity), .date(-.infinity), .location(Location(latitude: 91, longitude: 0)),
            .location(Location(latitude: 0, longitude: .nan)),
            .reference(Reference(recordName: "", deletesSelf: false)),
            .reference(Reference(recordName: "__defaultOwner__", deletesSelf: false)),
        ] {
            #expect(throws: ServiceError.self, "\(bad)") {
                try arrived(.comparison(.field("f"), .equal, bad))
            }
        }
    }

    @Test("an encrypted value is compared with nothing")
    func encrypted() {
        for kind in EncryptedSamples.kinds {
            let value = EncryptedSamples.value(kind)
            for predicate in [
                Predicate.comparison(.field("f"), .equal, value), .anyElement(.field("f"), .equal, value),
                .isIn(.field("f"), [.int64(1), value]), .between(.field("f"), value, .int64(1)),
                .comparison(.creationDate, .equal, value), .comparison(.recordID, .equal, value),
            ] {
                let error = #expect(throws: ServiceError.self) { try arrived(predicate) }
                #expect(error?.code == .invalidArguments && error?.message.contains("encrypted") == true)
            }
        }
    }

    @Test("a list is refused where one value belongs")
    func lists() {
        for list: FieldValue in [.strings(["a"]), .int64s([1]), .references([]), .emptyList] {
            for predicate in [
                Predicate.comparison(.field("f"), .equal, list), .anyElement(.field("f"), .equal, list),
                .isIn(.field("f"), [.int64(1), list]), .between(.field("f"), list, .int64(1)),
            ] {
                #expect(throws: ServiceError.self) { try arrived(predicate) }
            }
        }
    }

    @Test("values without an order are compared for equality only, and BEGINSWITH takes strings")
    func order() {
        let place = FieldValue.location(Location(latitude: 1, longitude: 2))
        let reference = FieldValue.reference(Reference(recordName: "a", deletesSelf: false))
        for bad: Predicate in [
            .comparison(.field("f"), .less, place), .comparison(.field("f"), .greaterOrEqual, reference),
            .comparison(.field("f"), .beginsWith, .int64(1)), .anyElement(.field("f"), .beginsWith, .bytes([1])),
            .between(.field("f"), .bytes([1]), .bytes([2])),
        ] {
            #expect(throws: ServiceError.self) { try arrived(bad) }
        }
    }

    @Test("the server's own fields compare with what they hold")
    func systemKeys() {
        let reference = FieldValue.reference(Reference(recordName: "a", deletesSelf: false))
        for bad: Predicate in [
            .comparison(.creationDate, .equal, .int64(1)), .comparison(.creationDate, .equal, reference),
            .comparison(.recordID, .equal, .string("a")), .comparison(.parent, .less, reference),
            .anyElement(.recordID, .equal, reference), .anyElementIsIn(.creationDate, []),
            .distance(.creationDate, latitude: 0, longitude: 0, metres: 1, isInclusive: true),
        ] {
            #expect(throws: ServiceError.self) { try arrived(bad) }
        }
    }

    @Test("a distance is a finite number of metres from a place on Earth")
    func distances() {
        for (latitude, longitude, metres) in [
            (90.1, 0, 1), (0, -180.5, 1), (.nan, 0, 1), (0, .infinity, 1), (0, 0, -1), (0, 0, .nan), (0, 0, .infinity),
        ] as [(Double, Double, Double)] {
            #expect(throws: ServiceError.self) {
                try arrived(
                    .distance(
                        .field("place"), latitude: latitude, longitude: longitude, metres: metres, isInclusive: true))
            }
        }
    }
}
