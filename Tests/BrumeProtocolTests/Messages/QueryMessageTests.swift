import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeTestKit
import Testing

/// Requests for queries, and their answers.
struct QueryMessageTests {
    private let client = MessageCoder()
    private let server = MessageCoder()

    private func arrived(_ request: QueryRequest) throws -> QueryRequest {
        try client.encodeQueryRequest(request).decoded(server.decodeQueryRequest)
    }

    @Test("a query arrives with its order, cursor, limit and keys")
    func request() throws {
        let query = Query(
            recordType: "Note", predicate: .constant(true),
            sortDescriptors: [
                QuerySort(key: .field("title")), QuerySort(key: .creationDate, isAscending: false),
                QuerySort(key: .field("place"), relativeTo: .init(latitude: -90, longitude: 180)),
            ])
        for keys in [nil, [], ["a", "b"]] as [DesiredKeys?] {
            for zone in [nil, ZoneID.defaultZone, MessageSamples.zone] {
                let request = QueryRequest(
                    database: .public, zone: zone, query: query, cursor: [1, 0, 2], resultsLimit: 17, desiredKeys: keys)
                #expect(try arrived(request) == request)
            }
        }
    }

    @Test("records of an answer arrive with their zones, in their order")
    func response() throws {
        let zones = [MessageSamples.zone, .defaultZone, .defaultZone, MessageSamples.zone]
        let bytes = server.encodeQueryResponse(
            QueryPage(
                matches: zones.map { QueryMatch(zone: $0, record: RecordSamples.storedRecord) }, cursor: [0, 9]))
        let page = try bytes.decoded(client.decodeQueryResponse)
        #expect(page.matches == zones.map { QueryMatch(zone: $0, record: RecordSamples.record) })
        #expect(page.cursor == [0, 9])
        let none = try server.encodeQueryResponse(QueryPage(matches: [], cursor: [])).decoded(
            client.decodeQueryResponse)
        #expect(none == QueryPage(matches: [], cursor: []))
    }

    @Test("a plan arrives")
    func explanation() throws {
        let plan = QueryPlan(
            steps: ["index Note.title", "sort"], entriesRead: 1, recordsRead: 2, matches: 3, microseconds: 4, slices: 5)
        #expect(try server.encodeExplainResponse(plan).decoded(client.decodeExplainResponse) == plan)
    }

    @Test("a query's type has to be named as one can be")
    func recordType() {
        for type in ["_x", "a b", "ä", String(repeating: "x", count: 256)] {
            let query = Query(recordType: type, predicate: .constant(true))
            #expect(throws: ServiceError.self) {
                try arrived(QueryRequest(database: .private, zone: nil, query: query))
            }
        }
    }

    @Test("a query without a type is for all records, and for nothing else")
    func everything() throws {
        let all = QueryRequest(database: .private, zone: .defaultZone, query: .everything)
        #expect(try arrived(all) == all)
        let term = Predicate.comparison(.field("n"), .equal, .int64(1))
        let sort = QuerySort(key: .creationDate)
        for query in [
            Query(recordType: "", predicate: term), Query(recordType: "", predicate: .constant(false)),
            Query(recordType: "", predicate: .constant(true), sortDescriptors: [sort]),
        ] {
            #expect(throws: ServiceError.self) {
                try arrived(QueryRequest(database: .private, zone: nil, query: query))
            }
        }
    }

    @Test("a query sorts by 16 keys at most, and by distances of places on Earth")
    func sort() throws {
        func failure(_ sort: [QuerySort]) -> ErrorCode? {
            let query = Query(recordType: "Note", predicate: .constant(true), sortDescriptors: sort)
            do throws(ServiceError) {
                _ = try client.encodeQueryRequest(QueryRequest(database: .private, zone: nil, query: query))
                    .decoded(server.decodeQueryRequest)
                return nil
            } catch { return error.code }
        }
        let key = QuerySort(key: .field("a"))
        let again = Query(
            recordType: "Note", predicate: .constant(true),
            sortDescriptors: [key, QuerySort(key: .field("a"), isAscending: false), QuerySort(key: .recordID)])
        let arrived = try arrived(QueryRequest(database: .private, zone: nil, query: again)).query
        #expect(arrived.sortDescriptors == [key, QuerySort(key: .recordID)], "a key counts once")
        #expect(failure(Array(repeating: key, count: 16)) == nil)
        #expect(failure(Array(repeating: key, count: 17)) == .limitExceeded)
        #expect(failure([QuerySort(key: .field("_"))]) == .invalidArguments)
        for place in [(91, 0), (0, 181), (.nan, 0)] as [(Double, Double)] {
            let sort = QuerySort(key: .field("a"), relativeTo: .init(latitude: place.0, longitude: place.1))
            #expect(failure([sort]) == .invalidArguments)
        }
        let date = QuerySort(key: .creationDate, relativeTo: .init(latitude: 0, longitude: 0))
        #expect(failure([date]) == .invalidArguments)
    }

    @Test("a cursor longer than any is refused before anybody looks into it")
    func cursorLength() {
        var request = QuerySamples.query(.constant(true))
        request.cursor = Array(repeating: 1, count: Limits.queryCursorBytes + 1)
        #expect(throws: ServiceError.self) { try arrived(request) }
    }

    @Test("a request whose bytes are cut or changed is read or refused")
    func damage() {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var bytes = client.encodeQueryRequest(QuerySamples.query(QuerySamples.tree(&generator)))
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                if Bool.random(using: &generator) {
                    bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
                } else {
                    bytes.removeLast(Int.random(in: 0...min(5, bytes.count - 1), using: &generator))
                }
            }
            guard let request = try? bytes.decoded(server.decodeQueryRequest) else { continue }
            // What was let through can be sent again.
            #expect((try? arrived(request)) == request, "seed \(seed)")
        }
    }
}
