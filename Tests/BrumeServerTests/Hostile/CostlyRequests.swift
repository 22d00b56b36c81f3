import BrumeRandom
import BrumeTestKit
/// Legal requests that cost a server as much as one may, by chance: each kind is a product of two numbers, and the
/// sizes are drawn so that their product is near what a message can carry.
struct CostlyRequests {
    typealias Method = HostileRequests.Method

    enum Kind: CaseIterable {
        case references, orphans, terms, words, matching, grapheme, locations, indexes, parts, fragments, events,
            lessons
    }

    struct Request {
        let kind: Kind
        let method: UInt64
        let payload: [UInt8]
    }

    private static let recordsQuery: UInt64 = 35
    private static let zone = HostileRequests.zone("_defaultZone")

    private var random: SeededGenerator
    private var round = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// What a later request finds: made of several, in the order in which they have to go out.
    mutating func next() -> [Request] {
        round += 1
        let kind = Kind.allCases.randomElement(using: &random)!
        // Public and private.
        let scope = UInt64.random(in: 1...2, using: &random)
        func request(_ method: UInt64, _ payload: [UInt8]) -> Request {
            Request(kind: kind, method: method, payload: payload)
        }
        func saving(_ items: [ProtobufField]) -> Request {
            request(
                Method.recordsModify,
                ProtobufField.encode([
                    .varint(1, scope), .varint(2, 2), .message(5, [.message(1, Self.zone)] + items),
                ]))
        }
        switch kind {
        case .references:
            let perRecord = [2_000, 450, 50].randomElement(using: &random)!
            let targets = ProtobufField.bytes(
                14,
                ProtobufField.encode(
                    (0..<perRecord).map { .message(1, [.text(1, "t\(round % 2)-\($0)"), .varint(2, 1)]) }))
            return [
                saving(
                    (0..<min(400, 10_000 / perRecord)).map {
                        HostileRequests.save("r\($0)", type: "Ref", fields: [Self.field("to", [targets])])
                    })
            ]
        case .orphans:
            // Each is the child of the next, whose parent is missing in the end.
            return [
                saving(
                    (0..<400).map {
                        HostileRequests.save("o\($0)", type: "Orphan", fields: [.text(4, "o\($0 + 1)")])
                    })
            ]
        case .terms:
            let elements = Int.random(in: 10_000...400_000, using: &random)
            let terms = Int.random(in: 10...1_000, using: &random)
            return [
                saving([HostileRequests.save("big", type: "Big", fields: [Self.numbers(elements)])]),
                request(Self.recordsQuery, Self.query("Big", scope, Self.anyOf(terms))),
            ]
        case .words:
            let text = Array(String(repeating: "日本語テキスト", count: 40_000).utf8)
            return [
                saving([HostileRequests.save("w", type: "Text", fields: [HostileRequests.field("t", text: text)])]),
                request(
                    Self.recordsQuery, Self.query("Text", scope, [[.message(5, [.text(1, "nothing"), .varint(2, 1)])]])
                ),
            ]
        case .matching:
            let elements = Int.random(in: 10_000...400_000, using: &random)
            let terms = Int.random(in: 10...400, using: &random)
            return (0..<5).map { subscribe("m\($0)", kind, "Match", Self.anyOf(terms)) } + [
                saving([
                    HostileRequests.save("m\(round % 4)", type: "Match", fields: [Self.numbers(elements)])
                ])
            ]
        case .grapheme:
            let text = Array(("e" + String(repeating: "\u{301}", count: 200_000)).utf8)
            return (0..<20).map { subscribe("g\($0)", kind, "Grapheme", [[.varint(7, 0)]], key: "t") } + [
                saving([
                    HostileRequests.save(
                        "g\(round % 4)", type: "Grapheme", fields: [HostileRequests.field("t", text: text)])
                ])
            ]
        case .locations:
            let list = [10, 0].cycled(times: Int.random(in: 10_000...230_000, using: &random)) as [UInt8]
            return [
                subscribe("l", kind, "Places", [[.varint(7, 0)]], key: "p"),
                saving([
                    HostileRequests.save(
                        "l\(round % 4)", type: "Places", fields: [Self.field("p", [.bytes(13, list)])])
                ]),
            ]
        case .indexes:
            let elements = Int.random(in: 1_000...100_000, using: &random)
            let names = (0..<4).map { "heavy\($0)" }
            return [request(Self.recordsQuery, Self.query("Indexed", scope, Self.anyOf(1)))]
                + names.map {
                    saving([HostileRequests.save($0, type: "Indexed", fields: [Self.numbers(elements, distinct: true)])]
                    )
                } + [saving(names.map { .text(3, $0) })]
        case .parts:
            let records = (0..<10).map { index in
                HostileRequests.save(
                    "p\(index)", type: "Parts", fields: (0..<400).map { Self.field("f\($0)", [.varint(2, 2)]) })
            }
            return [
                saving(records),
                request(Self.recordsQuery, Self.query("Parts", scope, [[.varint(7, 0)]], keys: ["zz"])),
            ]
        case .fragments:
            let fields = (0..<Int.random(in: 100...400, using: &random)).map {
                Self.field("f\($0)", [.varint(2, UInt64(round) << 1)])
            }
            return [saving((0..<30).map { HostileRequests.save("s\($0)", type: "Parts", fields: fields) })]
        case .events:
            // Each record fires each of them.
            let subscriptions = Int.random(in: 10...40, using: &random)
            return (0..<subscriptions).map { subscribe("e\($0)", kind, "Event", [[.varint(7, 0)]]) } + [
                saving((0..<400).map { HostileRequests.save("e\($0)-\(round)", type: "Event") })
            ]
        case .lessons:
            // Types that no schema knows: the records are looked through for each.
            return (0..<20).map { request(Self.recordsQuery, Self.query("U\(round)x\($0)", scope, [[.varint(7, 0)]])) }
        }
    }

    // MARK: Parts of requests

    private static func field(_ key: String, _ value: [ProtobufField]) -> ProtobufField {
        .message(15, [.text(1, key), .message(2, value)])
    }

    private static func numbers(_ count: Int, distinct: Bool = false) -> ProtobufField {
        // Packed; zigzag, so that twice the number stands for it.
        var values: [UInt8] = []
        for index in 0..<count {
            var number = distinct ? UInt64(index) << 1 : 2
            while number >= 0x80 {
                values.append(UInt8(truncatingIfNeeded: number) | 0x80)
                number >>= 7
            }
            values.append(UInt8(number))
        }
        return field("n", [.bytes(9, ProtobufField.encode([.bytes(1, values)]))])
    }

    /// `ANY n = 2 OR ANY n = 3 …`, of which none holds.
    private static func anyOf(_ terms: Int) -> [[ProtobufField]] {
        let comparisons = (0..<terms).map { term -> [ProtobufField] in
            [
                .message(
                    2,
                    [
                        .message(1, [.text(1, "n")]), .varint(2, 1), .message(3, [.varint(2, UInt64(term + 2) << 1)]),
                        .varint(4, 1),
                    ])
            ]
        }
        return [[.varint(8, UInt64(terms))]] + comparisons
    }

    private static func query(
        _ type: String, _ scope: UInt64, _ nodes: [[ProtobufField]], keys: [String] = []
    ) -> [UInt8] {
        var fields: [ProtobufField] = [
            .varint(1, scope), .message(3, [.text(1, type), .message(2, nodes.map { .message(1, $0) })]),
        ]
        if !keys.isEmpty { fields.append(.message(6, keys.map { .text(1, $0) })) }
        return ProtobufField.encode(fields)
    }

    private func subscribe(
        _ id: String, _ kind: Kind, _ type: String, _ nodes: [[ProtobufField]], key: String? = nil
    ) -> Request {
        let query: [ProtobufField] = [.text(1, type), .message(2, nodes.map { .message(1, $0) }), .varint(3, 7)]
        var fields: [ProtobufField] = [.text(1, id), .message(4, query)]
        if let key { fields.append(.message(5, [.text(13, key)])) }
        return Request(
            kind: kind, method: Method.subscriptionsModify,
            payload: ProtobufField.encode([.varint(1, 1), .message(2, fields)]))
    }
}

extension Collection {
    fileprivate func cycled(times count: Int) -> [Element] { (0..<count).flatMap { _ in self } }
}
