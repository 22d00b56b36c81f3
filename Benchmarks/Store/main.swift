internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore
internal import BrumeSystem
internal import BrumeTestKit
internal import Glibc

/// Figures of the store that no test can promise; needs a release build. `brume-bench` says how.
func usage() -> Never {
    print(
        """
        usage: brume-bench load [RECORDS]     time to load a database from its snapshot
               brume-bench grow [RECORDS]     longest single put, change and deletion in a zone that grows to RECORDS
               brume-bench beside [RECORDS]   requests to a small database while a large one of its loop is loaded
               brume-bench queries [RECORDS] pages of queries in a zone of that many records, and what their indexes cost
               brume-bench folder [DATABASES] start with so many databases on disk, and memory with 100 in use
               brume-bench start [DATABASES] [BYTES]
                                              time of a start with snapshots of that many databases, of BYTES each
               brume-bench subscriptions [COUNT]   a commit where COUNT query subscriptions are to be matched
               brume-bench references         the costliest requests that the limits on references let through
               brume-bench encryption [RECORDS]   what encrypting values and files costs a device, beside plain ones
               brume-bench asset [MEGABYTES]  a large file from device to device, encrypted and plain
               brume-bench middle [RECORDS]   time until what is below a record with a parent that is shared is encrypted anew
               brume-bench calls [COUNT]      calls through the SDK to the server that BRUME_SERVER, BRUME_CA and BRUME_TOKEN name
        """)
    exit(64)
}

func nanoseconds() -> UInt64 { MonotonicClock.nowNanoseconds }

func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Of this thread: what else the machine does is not counted.
func processorNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) }

func report(_ title: String, _ times: [UInt64]) {
    let sorted = times.sorted()
    func at(_ part: Double) -> Double { Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]) / 1000 }
    print(
        "\(title): \(sorted.count) times, p50 \(at(0.5)) us, p99 \(at(0.99)) us, p99.9 \(at(0.999)) us, "
            + "p99.99 \(at(0.9999)) us, max \(at(1)) us")
}

/// A database with one zone, and short ways to change it.
struct Subject {
    static let zone = ZoneID(name: "notes")
    let database: Database
    let caller: Caller

    init(owner: String, container: String = "iCloud.bench") {
        database = Database(
            id: DatabaseID(container: container, environment: .development, scope: .private, owner: owner), epoch: 7)
        caller = Caller(user: owner, isOwner: true)
        _ = database.ensureUserRecord(named: owner, nowMilliseconds: 1)
        _ = database.modifyZones(
            ModifyZonesRequest(database: .private, saves: [Subject.zone]), caller: caller, nowMilliseconds: 1000)
    }

    static func name(_ number: Int) -> String {
        let text = String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text + "-record-name-36-char"
    }

    static func fields(_ number: Int, round: Int) -> CheckedFields {
        CheckedFields(
            puts: EncodedFields([
                StoredRecord.encodeField(key: "count", value: .int64(Int64(number))),
                StoredRecord.encodeField(key: "done", value: .int64(Int64(round))),
                StoredRecord.encodeField(
                    key: "text", value: .string(String(repeating: "some words ", count: 8) + String(number &* 7919))),
                StoredRecord.encodeField(key: "title", value: .string("Note number \(number)")),
            ]))
    }

    func modify(_ saves: [Int], round: Int = 0, deletions: [Int] = []) {
        let decision = database.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .allKeys,
                zones: [
                    ZoneModification(
                        zone: Subject.zone,
                        saves: saves.map {
                            RecordSave(name: Subject.name($0), type: "Note", fields: Subject.fields($0, round: round))
                        }, deletions: deletions.map(Subject.name))
                ]), caller: caller, nowMilliseconds: 2000)
        precondition(decision.commit != nil, "a commit failed: \(decision.answer)")
    }

    func fill(_ records: Int) {
        for first in stride(from: 0, to: records, by: 400) { modify(Array(first..<min(first + 400, records))) }
    }
}

func load(_ records: Int) throws {
    let subject = Subject(owner: "_owner")
    subject.fill(records)
    let disk = SimulatedDisk()
    try disk.makeDirectory("snapshots")
    let bytes = try SnapshotWriter.write(subject.database.capture(), to: disk)
    var best = UInt64.max
    for _ in 0..<5 {
        let began = processorNanoseconds()
        let loaded = try SnapshotReader.load(subject.database.id, epoch: 7, from: disk)
        best = min(best, processorNanoseconds() - began)
        precondition(loaded?.recordCount == records + 1, "a record was lost")
    }
    print(
        "load: \(records) records, \(bytes) bytes: \(Double(best) / 1e6) ms, "
            + "\(Double(best) / Double(records)) ns a record (best of 5)")
}

func grow(_ records: Int) {
    let subject = Subject(owner: "_owner")
    func times(_ count: Int, _ body: (Int) -> Void) -> [UInt64] {
        var times: [UInt64] = []
        times.reserveCapacity(count)
        for number in 0..<count {
            let began = processorNanoseconds()
            body(number)
            times.append(processorNanoseconds() - began)
        }
        return times
    }
    report("new records", times(records) { subject.modify([$0]) })
    report("changed records", times(records) { subject.modify([($0 &* 7919) % records], round: 1) })
    report("deleted records", times(records) { subject.modify([], deletions: [$0]) })
}

let arguments = Array(CommandLine.arguments.dropFirst())
let records = arguments.count > 1 ? Int(arguments[1]) ?? 0 : 500_000
guard records > 0 else { usage() }
switch arguments.first {
case "load": try load(records)
case "grow": grow(records)
case "beside": try await Beside.run(records)
case "queries": try Queries.run(records)
case "start":
    try Start.run(databases: records, bytes: arguments.count > 2 ? Int(arguments[2]) ?? 0 : 0)
case "subscriptions": QuerySubscriptionFigures.run(arguments.count > 1 ? records : 10_000)
case "references": References.run()
case "calls": try await Calls.run(arguments.count > 1 ? records : 5_000)
case "encryption": try await Encryption.run(arguments.count > 1 ? records : 2_000)
case "asset": try await WholeFile.run(megabytes: arguments.count > 1 ? records : 1024)
case "middle": try await MiddleShare.run(arguments.count > 1 ? records : 10_000)
case "folder": try await Folder.run(records)
default: usage()
}
