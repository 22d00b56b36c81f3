import BrumeModel
import BrumeRandom
import BrumeRecord
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("Predicates over stored records")
struct PredicateEvaluatorTests {
    private func stored(_ fields: [String: FieldValue], name: String = "r1", parent: String? = nil) -> [UInt8] {
        StoredRecord.encode(
            SystemFields(
                name: name, type: "Note", changeTag: "1-1", creator: "_owner", createdMilliseconds: 1500,
                modifier: "_other",
                modifiedMilliseconds: 2000, parent: parent),
            fields: fields.map { StoredRecord.encodeField(key: $0.key, value: $0.value) })
    }

    @Test("an evaluator says what the definition says of any record", arguments: 0..<16)
    func againstTheDefinition(seed: UInt64) {
        var random = RandomQueries(generator: SeededGenerator(seed: seed))
        let records = (0..<60).map { _ in
            stored(
                random.fields(), name: random.generator.pick(RandomQueries.names),
                parent: random.generator.oneIn(2) ? random.generator.pick(RandomQueries.names) : nil)
        }
        var matches = 0
        for _ in 0..<150 {
            let predicate = random.predicate()
            let evaluator = PredicateEvaluator(predicate)
            for bytes in records {
                let expected = NaivePredicate.holds(predicate, Record(stored: bytes)) == true
                let answer = evaluator.matches(bytes)
                #expect(answer == expected, "seed \(seed): \(predicate) of \(Record(stored: bytes))")
                if answer { matches += 1 }
            }
        }
        #expect(matches > 100, "seed \(seed)")
    }

    @Test("an evaluation that stops within a record and goes on says the same", arguments: 0..<8)
    func interrupted(seed: UInt64) {
        var random = RandomQueries(generator: SeededGenerator(seed: seed))
        let records = (0..<30).map { _ in
            var fields = random.fields()
            fields["l1"] = .int64s((0..<50).map { _ in random.generator.pick(RandomQueries.integers) })
            fields["body"] = .strings((0..<8).map { _ in random.generator.pick(RandomQueries.words) })
            return stored(fields)
        }
        var stops = 0
        for _ in 0..<100 {
            let evaluator = PredicateEvaluator(random.predicate())
            for bytes in records {
                let expected = evaluator.matches(bytes)
                let given = Int.random(in: 1...20, using: &random.generator)
                let verdict = bytes.withUnsafeBytes { record in
                    evaluator.load(record)
                    while true {
                        var units = given
                        let verdict = evaluator.evaluate(record, units: &units)
                        if verdict != .unfinished { return verdict }
                        stops += 1
                    }
                }
                #expect(verdict == (expected ? .matches : .fails), "seed \(seed), \(given) units a time")
            }
        }
        #expect(stops > 100, "seed \(seed)")
    }

    @Test("a record costs the units that it is given and little more, however many terms and elements meet")
    func bounded() {
        let list = stored([
            "n": .int64s(Array(repeating: 1, count: 200_000)), "t": .string(String(repeating: "日", count: 100_000)),
        ])
        let terms = Predicate.or((0..<1_000).map { .anyElement(.field("n"), .equal, .int64($0 + 2)) })
        let values = Predicate.anyElementIsIn(.field("n"), (0..<10_000).map { .int64($0 + 2) })
        for predicate in [terms, values, .text("nothing", .anyWord), .not(terms)] {
            let evaluator = PredicateEvaluator(predicate)
            list.withUnsafeBytes { record in
                evaluator.load(record)
                for _ in 0..<5 {
                    var units = 10_000
                    #expect(evaluator.evaluate(record, units: &units) == .unfinished)
                    // The last part of a text is read to its end.
                    #expect(units > -9 * WordBreaker.partBytes)
                }
            }
        }
    }

    @Test("a missing field matches neither a comparison nor its negation")
    func missingField() {
        let bytes = stored(["n": .int64(5)])
        for predicate in [
            Predicate.comparison(.field("x"), .notEqual, .int64(5)),
            .not(.comparison(.field("x"), .equal, .int64(5))), .not(.isIn(.field("x"), [])),
            .not(.anyElement(.field("x"), .equal, .int64(1))),
        ] {
            #expect(!PredicateEvaluator(predicate).matches(bytes), "\(predicate)")
        }
        #expect(PredicateEvaluator(.not(.comparison(.field("n"), .equal, .int64(4)))).matches(bytes))
    }

    @Test("int64 and double compare without rounding")
    func exactNumbers() {
        let bytes = stored(["n": .int64(1 << 53 + 1)])
        #expect(PredicateEvaluator(.comparison(.field("n"), .greater, .double(9_007_199_254_740_992))).matches(bytes))
        #expect(!PredicateEvaluator(.comparison(.field("n"), .equal, .double(9_007_199_254_740_992))).matches(bytes))
        let largest = stored(["n": .int64(.max)])
        #expect(
            PredicateEvaluator(.comparison(.field("n"), .less, .double(9_223_372_036_854_775_808))).matches(largest))
    }

    @Test("a search looks into searchable fields only, and folds case and diacritics")
    func searchableFields() {
        let bytes = stored(["title": .string("Crème Brûlée"), "tags": .strings(["Dessert", "日本語"]), "n": .int64(1)])
        func finds(_ text: String, _ match: TextMatch = .anyWord, in fields: SearchableFields = .all) -> Bool {
            PredicateEvaluator(.text(text, match), searchableFields: fields).matches(bytes)
        }
        #expect(finds("creme") && finds("BRÛLÉE") && finds("dessert") && finds("日本語") && finds("creme unknown"))
        #expect(finds("brulee dessert", .allWords) && !finds("creme unknown", .allWords))
        #expect(!finds("creme", in: .only(["tags"])) && finds("creme", in: .only(["title"])))
        #expect(!finds("") && !finds("the") && !finds("the", .allWords) && finds("the creme", .allWords))
        #expect(!finds("crem"))
    }

    @Test("distances are those of the ellipsoid, to the metre")
    func distances() {
        // Berlin to Paris.
        let metres = Distance.metres(52.52, 13.405, 48.8566, 2.3522)
        #expect(abs(metres - 879_700) < 1_000)
        let bytes = stored(["at": .location(Location(latitude: 48.8566, longitude: 2.3522))])
        func isWithin(_ metres: Double) -> Bool {
            PredicateEvaluator(
                .distance(.field("at"), latitude: 52.52, longitude: 13.405, metres: metres, isInclusive: false)
            ).matches(bytes)
        }
        #expect(isWithin(metres + 1) && !isWithin(metres - 1) && !isWithin(metres))
        // A degree of latitude at the equator and at the pole.
        #expect(abs(Distance.metres(0, 0, 1, 0) - 110_574.4) < 0.1)
        #expect(abs(Distance.metres(89, 0, 90, 0) - 111_693.9) < 0.1)
    }

    @Test("a record's own date, as a client has it, finds the record")
    func ownDate() {
        let bytes = stored([:])
        let date = FieldValue.date(Double(1500) / 1000 - 978_307_200)
        #expect(PredicateEvaluator(.comparison(.creationDate, .equal, date)).matches(bytes))
    }

    @Test("bytes that are no record match nothing and harm nothing")
    func damage() {
        var generator = SeededGenerator(seed: 1)
        let whole = stored([
            "at": .location(Location(latitude: 1, longitude: 2)), "l": .int64s([1, 2]), "s": .string("word"),
        ])
        let evaluator = PredicateEvaluator(
            .or([
                .comparison(.field("s"), .equal, .string("other")), .anyElement(.field("l"), .equal, .int64(9)),
                .text("unknown", .anyWord),
                .distance(.field("at"), latitude: 80, longitude: 0, metres: 1, isInclusive: true),
            ]))
        for _ in 0..<3_000 {
            var bytes = whole
            bytes[Int.random(in: bytes.indices, using: &generator)] ^= UInt8.random(in: 1...255, using: &generator)
            _ = evaluator.matches(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator))))
        }
        #expect(!evaluator.matches([]))
        #expect(!evaluator.matches([0xFF]))
    }
}
