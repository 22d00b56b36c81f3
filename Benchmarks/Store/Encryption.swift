internal import BrumeEncryption
internal import BrumeKit
internal import BrumeModel
internal import BrumeRecord
internal import BrumeServer
internal import BrumeService
internal import BrumeSystem
internal import BrumeTestKit
internal import Glibc

/// What encrypting costs a device: the time of this thread for values and files, and that of the process for saves and
/// fetches with the server in it, each beside the same without encryption. Several rounds, so that the noise shows.
enum Encryption {
    private static let rounds = 7
    private static let fieldCount = 10
    private static let text = String(repeating: "some words ", count: 4)

    static func run(_ records: Int) async throws {
        print("a record has \(fieldCount) encrypted fields of \(text.utf8.count) bytes and \(fieldCount) plain ones")
        try values(records)
        try assets(megabytes: 64)
        try await calls(records)
        try Rings.run()
    }

    static func report(_ title: String, _ unit: String, _ figures: [Double]) {
        let sorted = figures.sorted()
        func text(_ figure: Double) -> String { String(Double(Int(figure * 100)) / 100) }
        print(
            "\(title): \(text(sorted[sorted.count / 2])) \(unit), least \(text(sorted[0])), most "
                + text(sorted[sorted.count - 1]))
    }

    // MARK: Values

    /// As the SDK does it: a cipher for each tree, one for each record of it, and each value encoded.
    private static func values(_ records: Int) throws {
        let place = try Place(
            container: "iCloud.bench", environment: "development", owner: "_0123456789abcdef0123456789abcdef",
            zone: "notes", ringID: Place.newRingID())
        let ringKey = SecretKey.random()
        let value = FieldValue.string(text)
        var (sealing, opening): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            let coder = ValueCoder()
            func cipher(_ number: Int) -> RecordCipher {
                let name = Subject.name(number)
                let tree = Tree(place: place, root: name, kind: .isPrivate)
                return TreeCipher(tree: tree, ringKey: ringKey, number: 1).record(named: name, type: "Note")
            }
            var sealed: [[[UInt8]]] = []
            sealed.reserveCapacity(records)
            var began = processorNanoseconds()
            for number in 0..<records {
                let cipher = cipher(number)
                sealed.append(
                    (0..<fieldCount).map { field in
                        cipher.seal(coder.encode(value), field: "secret\(field)", valueType: "STRING")
                    })
            }
            sealing.append(Double(processorNanoseconds() - began) / Double(records * fieldCount) / 1000)
            began = processorNanoseconds()
            for (number, values) in sealed.enumerated() {
                let cipher = cipher(number)
                for (field, bytes) in values.enumerated() {
                    let opened = try cipher.open(bytes, field: "secret\(field)", valueType: "STRING")
                    guard coder.decode(opened) == value else { preconditionFailure("a value is another one") }
                }
            }
            opening.append(Double(processorNanoseconds() - began) / Double(records * fieldCount) / 1000)
        }
        report("sealing, each record a tree of its own", "us a field", sealing)
        report("opening, the same", "us a field", opening)
    }

    // MARK: Files

    private static func assets(megabytes: Int) throws {
        guard let layout = AssetLayout(length: UInt64(megabytes) << 20) else {
            preconditionFailure("no file is so large")
        }
        let file = [UInt8](repeating: 7, count: megabytes << 20)
        var (encrypting, decrypting): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            var blob: [UInt8] = []
            blob.reserveCapacity(Int(layout.blobByteCount))
            var began = processorNanoseconds()
            var encryptor = AssetEncryptor(key: .random(), layout: layout)
            var offset = 0
            while let count = encryptor.nextFileByteCount {
                file.withUnsafeBytes {
                    encryptor.encrypt(
                        UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count]), appendingTo: &blob)
                }
                offset += count
            }
            let secret = encryptor.finish()
            encrypting.append(Double(processorNanoseconds() - began) / Double(megabytes) / 1e6)
            began = processorNanoseconds()
            var decryptor = AssetDecryptor(secret)
            var (opened, position) = ([UInt8](), 0)
            opened.reserveCapacity(1 << 17)
            while let count = decryptor.nextChunkByteCount {
                opened.removeAll(keepingCapacity: true)
                try blob.withUnsafeBytes {
                    try decryptor.decrypt(
                        UnsafeRawBufferPointer(rebasing: $0[position..<position + count]), appendingTo: &opened)
                }
                position += count
            }
            try decryptor.finish()
            decrypting.append(Double(processorNanoseconds() - began) / Double(megabytes) / 1e6)
        }
        report("encrypting a file of \(megabytes) MiB", "ms CPU a MiB", encrypting)
        report("decrypting it", "ms CPU a MiB", decrypting)
    }

    // MARK: Saves and fetches

    /// Records of twenty plain fields, and those of which ten are encrypted, by turns: batches of 100, saved and
    /// fetched.
    private static func calls(_ records: Int) async throws {
        let server = try RunningServer { $0.log = .none }
        defer { server.stop() }
        let database = server.device(token: try server.addAccount("ada")).privateCloudDatabase
        let zone = CKRecordZone.ID(zoneName: "notes")
        _ = try await database.save(CKRecordZone(zoneID: zone))
        let count = max(records / 100, 1) * 100
        var (saving, fetching): ([Double], [Double]) = ([], [])
        for round in 0...rounds {
            var costs: [(save: UInt64, fetch: UInt64)] = []
            for isEncrypted in [false, true] {
                var cost: (save: UInt64, fetch: UInt64) = (0, 0)
                for start in stride(from: 0, to: count, by: 100) {
                    let batch = (start..<start + 100).map { number in
                        let name = "\(isEncrypted)-\(round)-\(number)"
                        let record = CKRecord(
                            recordType: "Note\(isEncrypted)", recordID: CKRecord.ID(recordName: name, zoneID: zone))
                        for field in 0..<fieldCount {
                            record["plain\(field)"] = text
                            if isEncrypted {
                                record.encryptedValues["secret\(field)"] = text
                            } else {
                                record["secret\(field)"] = text
                            }
                        }
                        return record
                    }
                    var began = nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID)
                    let results = try await database.modifyRecords(saving: batch, deleting: [])
                    cost.save += nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) - began
                    for result in results.saveResults.values { _ = try result.get() }
                    began = nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID)
                    let fetched = try await database.records(for: batch.map(\.recordID))
                    cost.fetch += nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) - began
                    for result in fetched.values { _ = try result.get() }
                }
                costs.append(cost)
            }
            // The first one makes keys, and warms all up.
            if round == 0 { continue }
            func figure(_ cost: KeyPath<(save: UInt64, fetch: UInt64), UInt64>) -> Double {
                (Double(costs[1][keyPath: cost]) - Double(costs[0][keyPath: cost])) / Double(count * fieldCount) / 1000
            }
            saving.append(figure(\.save))
            fetching.append(figure(\.fetch))
        }
        report("saves, what encrypted fields cost more than plain ones, server included", "us CPU a field", saving)
        report("fetches, the same", "us CPU a field", fetching)
    }
}
