internal import BrumeModel
internal import BrumeRandom
internal import BrumeRecord
internal import BrumeStore

/// Queries of one zone with many records of about 1 KiB, in the engine alone: time for a page of 100, the longest step,
/// what the index took to make, and what a save costs with indexes and without.
enum Queries {
    private static let type = "Note"
    private static let words = (0..<20_000).map { "word\($0)" }

    /// The same numbers in every run.
    private struct Numbers {
        private var generator = SeededGenerator(seed: 1)

        mutating func next(_ bound: Int) -> Int { Int(generator.next() % UInt64(bound)) }
    }

    private static func fields(_ number: Int, _ numbers: inout Numbers) -> CheckedFields {
        // Zipf, about: small numbers are common.
        let text = (0..<40).map { _ in
            words[min(numbers.next(words.count), numbers.next(words.count), numbers.next(words.count))]
        }.joined(separator: " ")
        return CheckedFields(
            puts: EncodedFields([
                StoredRecord.encodeField(
                    key: "at",
                    value: .location(
                        Location(
                            latitude: Double(numbers.next(20_000)) / 1000 + 40,
                            longitude: Double(numbers.next(20_000)) / 1000))),
                StoredRecord.encodeField(key: "body", value: .string(text)),
                StoredRecord.encodeField(key: "count", value: .int64(Int64(numbers.next(1_000_000)))),
                StoredRecord.encodeField(
                    key: "filler", value: .bytes((0..<500).map { _ in UInt8(truncatingIfNeeded: numbers.next(256)) })),
                StoredRecord.encodeField(key: "state", value: .string("state \(number % 10)")),
                StoredRecord.encodeField(
                    key: "tags", value: .strings(["tag\(numbers.next(1000))", "group\(number % 5)"])),
                StoredRecord.encodeField(key: "title", value: .string("Title \(numbers.next(1_000_000))")),
            ]))
    }

    private static func save(_ subject: Subject, _ range: Range<Int>, _ numbers: inout Numbers) {
        var saves: [RecordSave<CheckedFields>] = []
        for number in range {
            saves.append(
                RecordSave(name: Subject.name(number), type: type, fields: fields(number, &numbers)))
        }
        let decision = subject.database.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .allKeys,
                zones: [ZoneModification(zone: Subject.zone, saves: saves)]), caller: subject.caller,
            nowMilliseconds: 2000)
        precondition(decision.commit != nil, "a commit failed: \(decision.answer)")
    }

    private static func saveOne(_ subject: Subject, _ title: String, _ from: Int, _ numbers: inout Numbers) {
        var times: [UInt64] = []
        for number in from..<from + 5_000 {
            let began = nanoseconds()
            save(subject, number..<number + 1, &numbers)
            times.append(nanoseconds() - began)
        }
        report(title, times)
    }

    static func run(_ records: Int) throws {
        var numbers = Numbers()
        let subject = Subject(owner: "_owner")
        let database = subject.database
        for first in stride(from: 0, to: records, by: 400) {
            save(subject, first..<min(first + 400, records), &numbers)
        }
        let stored = Double(database.storedBytes) / Double(records)
        print("\(records) records of \(Int(stored)) bytes")
        saveOne(subject, "save without indexes", records, &numbers)

        let place = Predicate.distance(.field("at"), latitude: 50, longitude: 10, metres: 5_000, isInclusive: true)
        let queries: [(String, Predicate, [QuerySort])] = [
            ("all, oldest first", .constant(true), []),
            ("state == (a tenth)", .comparison(.field("state"), .equal, .string("state 3")), []),
            ("title == (few)", .comparison(.field("title"), .equal, .string("Title 4711")), []),
            ("count range (1,000)", .between(.field("count"), .int64(5_000), .int64(6_000)), []),
            ("title BEGINSWITH (100)", .comparison(.field("title"), .beginsWith, .string("Title 471")), []),
            ("tags CONTAINS (thousandth)", .anyElement(.field("tags"), .equal, .string("tag77")), []),
            ("within 5 km", place, []),
            ("sort by count", .constant(true), [QuerySort(key: .field("count"), isAscending: false)]),
            (
                "state ==, sort by count", .comparison(.field("state"), .equal, .string("state 3")),
                [QuerySort(key: .field("count"))]
            ),
            ("word, rare", .text("word19000", .anyWord), []), ("word, common", .text("word10", .anyWord), []),
            ("two words", .text("word10 word500", .allWords), []),
        ]
        for (title, predicate, sort) in queries {
            let query = Query(recordType: type, predicate: predicate, sortDescriptors: sort)
            let before = database.approximateBytes
            var longest: UInt64 = 0
            func page() throws -> (run: QueryRun, time: UInt64) {
                let began = nanoseconds()
                let run = try database.startQuery(query, zone: Subject.zone)
                var isFinished = false
                while !isFinished {
                    let stepped = nanoseconds()
                    isFinished = run.step()
                    longest = max(longest, nanoseconds() - stepped)
                }
                return (run, nanoseconds() - began)
            }
            let first = try page()
            let indexBytes = Double(database.approximateBytes - before) / Double(records)
            print(
                "\(title): first \(first.time / 1_000_000) ms in \(first.run.plan.slices) steps, longest \(longest / 1000) us, "
                    + "index \(Int(indexBytes)) bytes a record")
            var times: [UInt64] = []
            let began = nanoseconds()
            while times.count < 200, nanoseconds() - began < 2_000_000_000 { times.append(try page().time) }
            let plan = try page().run.plan
            report(
                "    \(plan.matches) matches, \(plan.recordsRead) records and \(plan.entriesRead) entries read", times)
        }
        saveOne(subject, "save with indexes", records + 5_000, &numbers)
    }
}
