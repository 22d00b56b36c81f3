import BrumeModel
import BrumeProtocol
import BrumeRandom
import Testing

@testable import BrumeStore

@Suite("Plans of queries")
struct QueryPlanTests {
    /// 3,000 notes: `n` counts, `tens` has ten values, `even` two; `body` has a word that all have and one of its own.
    private func desk() -> Desk {
        let desk = Desk()
        for start in stride(from: 0, to: 3_000, by: 300) {
            var saves: [RecordSave<CheckedFields>] = []
            for number in start..<start + 300 {
                let place = Location(latitude: Double(number) / 100, longitude: Double(number % 50) / 10)
                var fields: [String: FieldValue?] = [:]
                fields["n"] = .int64(Int64(number))
                fields["tens"] = .string("value \(number % 10)")
                fields["even"] = .int64(number % 2 == 0 ? 1 : 0)
                fields["body"] = .string("common w\(number) text")
                fields["tags"] = .strings(["t\(number % 100)", "all"])
                fields["at"] = .location(place)
                saves.append(.of("r\(number)", fields))
            }
            _ = desk.modify(saves: saves)
        }
        return desk
    }

    private func run(
        _ desk: Desk, _ predicate: Predicate, sort: [QuerySort] = [], limit: Int = 10
    ) throws -> (names: [String], plan: QueryPlan) {
        let run = try desk.database.startQuery(
            Query(recordType: "Note", predicate: predicate, sortDescriptors: sort), zone: Desk.zone, resultsLimit: limit
        )
        while !run.step() {}
        return (try #require(run.results).matches.map { Record(stored: $0.record).system.name }, run.plan)
    }

    @Test("each kind of term has its index, and no more records are read than there are matches, or a page")
    func indexes() throws {
        let desk = desk()
        let place = Predicate.distance(.field("at"), latitude: 15, longitude: 0, metres: 5_000, isInclusive: true)
        let terms: [(Predicate, expected: [String], read: Int)] = [
            (.comparison(.field("n"), .equal, .int64(77)), ["r77"], 1),
            (.comparison(.field("n"), .greaterOrEqual, .double(2_998)), ["r2998", "r2999"], 2),
            (.between(.field("n"), .int64(5), .int64(6)), ["r5", "r6"], 2),
            (.isIn(.field("n"), [.int64(9), .int64(4)]), ["r4", "r9"], 2),
            (.comparison(.field("tens"), .equal, .string("value 3")), (0..<10).map { "r\($0 * 10 + 3)" }, 11),
            (.comparison(.field("tens"), .beginsWith, .string("none")), [], 0),
            (.anyElement(.field("tags"), .equal, .string("t5")), (0..<10).map { "r\($0 * 100 + 5)" }, 11),
            (.text("w1234", .anyWord), ["r1234"], 1),
            (.text("common w1234", .allWords), ["r1234"], 1),
            (.comparison(.recordID, .equal, .reference(Reference(recordName: "r8", deletesSelf: false))), ["r8"], 1),
            (place, ["r1500"], 20),
            (.or([.comparison(.field("n"), .equal, .int64(1)), .text("w2", .anyWord)]), ["r1", "r2"], 2),
            (
                .and([
                    .comparison(.field("n"), .greater, .int64(1_000)),
                    .comparison(.field("n"), .less, .double(1_002.5)),
                ]), ["r1001", "r1002"], 3
            ),
            (
                .and([.comparison(.field("n"), .less, .int64(5)), .comparison(.field("n"), .greater, .int64(9))]), [], 0
            ),
            (.constant(true), (0..<10).map { "r\($0)" }, 11),
            (.constant(false), [], 0),
        ]
        for (predicate, expected, read) in terms {
            let answer = try run(desk, predicate)
            #expect(answer.names == expected, "\(predicate)")
            #expect(answer.plan.recordsRead <= read, "\(predicate): \(answer.plan)")
        }
    }

    @Test("an indexed sort reads a page, in both directions")
    func sortedPage() throws {
        let desk = desk()
        let falling = try run(desk, .constant(true), sort: [QuerySort(key: .field("n"), isAscending: false)])
        #expect(falling.names == (0..<10).map { "r\(2_999 - $0)" } && falling.plan.recordsRead <= 12)
        let rising = try run(
            desk, .comparison(.field("even"), .equal, .int64(0)), sort: [QuerySort(key: .field("n"))])
        #expect(rising.names == (0..<10).map { "r\($0 * 2 + 1)" } && rising.plan.recordsRead <= 30)
    }

    @Test("a condition on one field and a sort by another read a page of records, not all that match")
    func filteredSort() throws {
        let desk = desk()
        let rising = [QuerySort(key: .field("n"))]
        let falling = [QuerySort(key: .field("n"), isAscending: false)]
        let tens = Predicate.comparison(.field("tens"), .equal, .string("value 3"))
        let queries: [(Predicate, [QuerySort], expected: [Int], read: Int)] = [
            (tens, rising, (0..<10).map { $0 * 10 + 3 }, 11),
            (tens, falling, (0..<10).map { 2_993 - $0 * 10 }, 11),
            (.isIn(.field("tens"), [.string("value 1"), .string("value 4")]), falling, [2994, 2991, 2984, 2981], 11),
            (.comparison(.field("tens"), .beginsWith, .string("value 7")), rising, [7, 17, 27], 11),
            (.text("common text", .allWords), falling, [2_999, 2_998], 11),
            (.anyElement(.field("tags"), .equal, .string("t5")), falling, [2_905, 2_805], 30),
            // What no index decides is asked of those that are gathered alone.
            (.and([tens, .not(.comparison(.field("n"), .less, .int64(1_000)))]), rising, [1_003, 1_013], 112),
            (
                .and([.anyElement(.field("tags"), .equal, .string("t5")), .text("w1405", .anyWord)]), rising, [1_405], 1
            ),
            // A range of the sort key itself, and a filter.
            (
                .and([tens, .comparison(.field("n"), .greaterOrEqual, .int64(2_000))]), rising, [2_003, 2_013, 2_023],
                11
            ),
        ]
        // The index of the sort key is there: few matches alone are not worth making it.
        _ = try run(desk, .constant(true), sort: rising)
        for (predicate, sort, expected, read) in queries {
            let answer = try run(desk, predicate, sort: sort)
            #expect(Array(answer.names.prefix(expected.count)) == expected.map { "r\($0)" }, "\(predicate)")
            #expect(answer.plan.recordsRead <= read, "\(predicate): \(answer.plan)")
        }
        // A second page does not begin at the front.
        let query = Query(recordType: "Note", predicate: tens, sortDescriptors: falling)
        var names: [String] = []
        var cursor: QueryCursor?
        repeat {
            let run = try desk.database.startQuery(query, zone: Desk.zone, after: cursor, resultsLimit: 50)
            while !run.step(7) {}
            let results = try #require(run.results)
            #expect(run.plan.recordsRead <= 52, "\(run.plan)")
            names += results.matches.map { Record(stored: $0.record).system.name }
            cursor = results.next
        } while cursor != nil
        #expect(names == (0..<300).map { "r\(2_993 - $0 * 10)" })
    }

    @Test("a plan tells the query with its values, the index, and how many records it promised")
    func explanation() throws {
        let desk = desk()
        let plan = try run(
            desk,
            .and([
                .comparison(.field("tens"), .equal, .string("value \"3\"\n")),
                .or([.comparison(.field("n"), .notEqual, .int64(4)), .constant(false)]),
            ]), sort: [QuerySort(key: .field("n"), isAscending: false)]
        ).plan
        #expect(
            plan.query
                == "Note WHERE tens == \"value \\\"3\\\"\\u{a}\" AND (n != 4 OR FALSEPREDICATE) SORTED BY n downwards")
        #expect(
            plan.steps.contains("filter: each record against n != 4 OR FALSEPREDICATE (1 of 2 parts)"), "\(plan.steps)")
        #expect(plan.recordsEstimated == 0 && plan.recordsRead == 0)
        let sorted = try run(desk, .constant(true), sort: [QuerySort(key: .field("n"))]).plan
        #expect((11...12).contains(sorted.recordsEstimated) && sorted.recordsRead <= 12, "\(sorted)")
        #expect(!sorted.steps.contains { $0.contains("begin alike") })
        _ = desk.modify(
            saves: (0..<150).map { .of("t\($0)", ["title": .string("https://example.com/\(999 - $0)")]) })
        let tied = try run(desk, .constant(true), sort: [QuerySort(key: .field("title"))])
        #expect(tied.names == (0..<10).map { "t\(149 - $0)" })
        #expect(
            tied.plan.steps.contains { $0.hasPrefix("150 entries begin alike in title, with 14 bytes") }, "\(tied.plan)"
        )
        let many = try run(desk, .isIn(.field("n"), (0..<1_000).map { .int64($0) })).plan
        #expect(
            many.query.hasPrefix("Note WHERE n IN {0, 1, 2, ") && many.query.hasSuffix("…") && many.query.count < 410)
    }

    @Test("the nearest places are found in growing circles, page by page, and what is nowhere comes last")
    func nearest() throws {
        let desk = desk()
        _ = desk.modify(saves: [.of("nowhere"), .of("far", ["at": .location(Location(latitude: -40, longitude: 170))])])
        let query = Query(
            recordType: "Note", predicate: .constant(true),
            sortDescriptors: [
                QuerySort(key: .field("at"), relativeTo: QuerySort.Place(latitude: 15, longitude: 2))
            ])
        // Beyond the last page's last record but two.
        let all = try checkPages(of: query, on: desk, step: "in growing circles")
        #expect(all.suffix(2).map { Record(stored: $0.record).system.name } == ["far", "nowhere"])
    }

    /// Reads the 3,002 records in the query's order, in small pages and in large ones, and expects what a scan of all
    /// gives.
    ///
    /// - Parameters:
    ///   - step: What the plan says of the way that is taken by itself.
    ///   - slice: What a step of the run looks at.
    /// - Returns: All of them in order.
    private func checkPages(
        of query: Query, on desk: Desk, step: String, slice: Int = QueryRun.stepUnits
    ) throws -> [QueryMatch<SharedBytes>] {
        func page(_ limit: Int, after: QueryCursor? = nil, way: Int? = nil) throws -> (QueryResults, QueryPlan) {
            let run = try desk.database.startQuery(query, zone: Desk.zone, after: after, resultsLimit: limit)
            run.testOnly_choice = way
            while !run.step(slice) {}
            return (try #require(run.results), run.plan)
        }
        let scanned = try page(400, way: 0).0.matches
        var found: [QueryMatch<SharedBytes>] = []
        var cursor: QueryCursor?
        for _ in 0..<4 {
            let (results, plan) = try page(20, after: cursor)
            #expect(plan.recordsRead < 600 && plan.steps[0].contains(step), "\(plan)")
            found += results.matches
            cursor = results.next
        }
        #expect(found == Array(scanned.prefix(80)))
        var all: [QueryMatch<SharedBytes>] = []
        cursor = nil
        repeat {
            let (results, _) = try page(400, after: cursor, way: 1)
            all += results.matches
            cursor = results.next
        } while cursor != nil
        #expect(all.count == 3_002 && Array(all.prefix(400)) == scanned)
        return all
    }

    @Test("the farthest places are found square by square, page by page, and what is nowhere comes last")
    func farthest() throws {
        let desk = desk()
        _ = desk.modify(saves: [.of("nowhere"), .of("far", ["at": .location(Location(latitude: -40, longitude: 170))])])
        // Near all but one of the records, and on the other side of the Earth.
        for place in [QuerySort.Place(latitude: 15, longitude: 2), .init(latitude: -14, longitude: -176)] {
            let query = Query(
                recordType: "Note", predicate: .constant(true),
                sortDescriptors: [QuerySort(key: .field("at"), isAscending: false, relativeTo: place)])
            let all = try checkPages(of: query, on: desk, step: "farthest squares first", slice: 20)
            #expect(Record(stored: try #require(all.last).record).system.name == "nowhere")
        }
    }

    @Test("an atomic batch that commits between two steps is seen whole or not at all, and the sequence says which")
    func atomicity() throws {
        let desk = desk()
        let run = try desk.database.startQuery(
            Query(recordType: "Note", predicate: .comparison(.field("even"), .equal, .int64(7))), zone: Desk.zone)
        while !run.isReading { _ = run.step(50) }
        let sequence = desk.database.sequence
        _ = desk.modify(policy: .allKeys, saves: (0..<300).map { .of("r\($0 * 10)", ["even": .int64(7)]) })
        while !run.step(5) {}
        #expect(run.results?.matches.isEmpty == true && run.sequence == sequence)
        let later = try self.run(desk, .comparison(.field("even"), .equal, .int64(7)), limit: 400)
        #expect(later.names.count == 300)
    }

    @Test("what an index decides is not asked again, and what it can't decide is")
    func filters() throws {
        let desk = desk()
        _ = desk.modify(saves: [
            .of("x1", ["title": .string("fourteen bytes and one"), "n": .double(.nan)]),
            .of("x2", ["title": .string("fourteen bytes and two"), "n": .int64(1 << 53)]),
            .of("x3", ["title": .string("fourteen bytes"), "n": .int64(1 << 53 + 1)]),
        ])
        let none = "filter: none, the index decides"
        let terms: [(Predicate, expected: [String], filter: String)] = [
            (.comparison(.field("tens"), .equal, .string("value 3")), (0..<3).map { "r\($0 * 10 + 3)" }, none),
            (.text("common", .anyWord), ["r0", "r1", "r2"], none),
            (.text("COMMON w7 text", .allWords), ["r7"], none),
            (.anyElement(.field("tags"), .equal, .string("t7")), ["r7", "r107", "r207"], none),
            (.comparison(.field("title"), .beginsWith, .string("fourteen bytes")), ["x1", "x2", "x3"], none),
            (.comparison(.field("title"), .greater, .string("fourteen bytes and one")), ["x2"], none),
            (.comparison(.field("n"), .greater, .int64(1 << 53)), ["x3"], none),
            (.comparison(.field("n"), .greaterOrEqual, .int64(3_000)), ["x2", "x3"], none),
            (
                .comparison(.field("title"), .beginsWith, .string("fourteen bytes and o")), ["x1"],
                "filter: each record against title BEGINSWITH \"fourteen bytes and o\""
            ),
            (
                .and([.comparison(.field("n"), .less, .int64(50)), .not(.comparison(.field("n"), .less, .int64(48)))]),
                ["r48", "r49"], "filter: each record against NOT n < 48 (1 of 2 parts)"
            ),
        ]
        for (predicate, expected, filter) in terms {
            let answer = try run(desk, predicate, limit: 3)
            #expect(answer.names == expected && answer.plan.steps.contains(filter), "\(predicate): \(answer.plan)")
        }
    }

    @Test("an index that is made while records come, change and go holds what one made afterwards does")
    func buildingBesideWrites() throws {
        for (predicate, wanted) in [
            (Predicate.text("changed common", .allWords), "changed"),
            (.anyElement(.field("tags"), .equal, .string("changed")), "changed"),
            (.comparison(.field("tens"), .equal, .string("changed")), "changed"),
            (.comparison(.field("n"), .equal, .int64(-1)), "changed"),
        ] {
            let desk = desk()
            var generator = SeededGenerator(seed: 5)
            let run = try desk.database.startQuery(
                Query(recordType: "Note", predicate: predicate), zone: Desk.zone, resultsLimit: 400)
            var changed = Set<String>()
            var step = 0
            while !run.isReading {
                _ = run.step(200)
                step += 1
                if run.isReading || step > 150 { continue }
                let number = Int.random(in: 0..<3_000, using: &generator)
                let names = ["r\(number)", "new \(step)"]
                let saves: [RecordSave<CheckedFields>] = names.map {
                    .of(
                        $0,
                        [
                            "n": .int64(-1), "tens": .string(wanted), "body": .string("Common \(wanted)"),
                            "tags": .strings([wanted, "all", wanted]),
                        ])
                }
                let gone = "r\((number + 1) % 3_000)"
                _ = desk.modify(policy: .allKeys, saves: saves, deletions: [gone])
                changed.formUnion(names)
                changed.remove(gone)
            }
            #expect(step > 30)
            while !run.step() {}
            let found = Set(try #require(run.results).matches.map { Record(stored: $0.record).system.name })
            #expect(found == changed, "\(predicate)")
            let zone = desk.database.zoneStates[try desk.database.zoneIndex(of: Desk.zone).get()]
            let indexes = try #require(desk.database.zoneIndexes[zone.incarnation])
            #expect(indexes.testOnly_differences(zone.slots).isEmpty, "\(predicate)")
        }
    }

    @Test("indexes count in the database's memory, and go with their zone")
    func memory() throws {
        let desk = desk()
        let before = desk.database.approximateBytes
        _ = try run(desk, .text("common", .anyWord))
        let after = desk.database.approximateBytes
        #expect(after - before > 3_000 * 16 && after - before < 3_000 * 200)
        _ = desk.deleteZone("notes")
        #expect(desk.database.approximateBytes < 64 * 1024)
    }

    @Test("a page ends at its bytes, and the cursor goes on from there")
    func largeRecords() throws {
        let desk = Desk()
        for number in 0..<5 { try desk.save("r\(number)", ["text": .string(String(repeating: "x", count: 400_000))]) }
        let query = Query(recordType: "Note", predicate: .constant(true))
        var names: [[String]] = []
        var cursor: QueryCursor?
        repeat {
            let run = try desk.database.startQuery(query, zone: Desk.zone, after: cursor)
            while !run.step() {}
            let results = try #require(run.results)
            names.append(results.matches.map { Record(stored: $0.record).system.name })
            cursor = results.next
        } while cursor != nil
        #expect(names == [["r0", "r1"], ["r2", "r3"], ["r4"]])
    }

    @Test("a cursor of another query, and a zone that is not there, are refused")
    func refusals() {
        let query = Query(recordType: "Note", predicate: .constant(true))
        let desk = Desk()
        #expect(throws: ServiceError.self) {
            try desk.database.startQuery(
                query, zone: nil, after: QueryCursor(values: [.missing], created: .start))
        }
        #expect(throws: ServiceError.self) { try desk.database.startQuery(query, zone: ZoneID(name: "none")) }
    }
}
