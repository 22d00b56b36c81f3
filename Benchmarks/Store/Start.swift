internal import BrumeModel
internal import BrumeRecord
internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem
internal import BrumeTestKit
internal import Glibc

/// How long a start takes to read the snapshots of databases that the journal says nothing of, on the real disk.
enum Start {
    private static let options = JournalWriter.Options(salt: 1)

    /// - Parameter bytes: Of each database: what does not compress.
    static func run(databases count: Int, bytes: Int) throws {
        let folder = try TestFolder()
        defer { withExtendedLifetime(folder) {} }
        let disk = RealDisk(folder: folder.path)
        _ = try Recovery(opening: disk, options: options, newEpoch: 7).writer.close()
        for number in 0..<count {
            let subject = Subject(owner: "_\(number)")
            subject.fill(1)
            for first in stride(from: 0, to: bytes, by: 500_000) {
                subject.save("filler-\(first)", bytes: SecureRandom.bytes(min(500_000, bytes - first)))
            }
            try SnapshotWriter.write(subject.database.capture(), to: disk)
        }
        for (name, check) in [("none", StartCheck.none), ("all", .all)] {
            var best = (wall: UInt64.max, processor: UInt64.max)
            for _ in 0..<5 {
                let began = (wall: nanoseconds(), processor: nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID))
                let recovery = try Recovery(opening: disk, options: options, newEpoch: 8, startCheck: check)
                best.wall = min(best.wall, nanoseconds() - began.wall)
                best.processor = min(best.processor, nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) - began.processor)
                recovery.writer.close()
            }
            print(
                "start: \(count) snapshots of \(bytes) bytes, \(name) checked: \(Double(best.wall) / 1e6) ms, "
                    + "\(Double(best.processor) / 1e6) ms of CPU (best of 5)")
        }
    }
}

extension Subject {
    fileprivate func save(_ name: String, bytes: [UInt8]) {
        let field = StoredRecord.encodeField(key: "filler", value: .bytes(bytes))
        let save = RecordSave(name: name, type: "Filler", fields: CheckedFields(puts: EncodedFields([field])))
        let decision = database.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .allKeys, zones: [ZoneModification(zone: Subject.zone, saves: [save])]),
            caller: caller, nowMilliseconds: 2000)
        precondition(decision.commit != nil, "a commit failed: \(decision.answer)")
    }
}
