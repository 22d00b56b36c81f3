internal import BrumeModel
internal import BrumeRecord

/// Checks the contents of the assets that records name: that they are there, and every byte of them.
package struct AssetVerification: Equatable, Sendable {
    /// Contents that are missing or damaged, up to ``StoreLimits/assetProblems`` of them.
    package private(set) var problems: [Verification.Problem] = []
    /// How many more there are.
    package private(set) var furtherProblemCount = 0
    /// Contents that records name and that are whole, each copy once.
    package private(set) var wholeCount = 0
    /// Their bytes.
    package private(set) var wholeByteCount: UInt64 = 0
    /// How many of the whole ones were not read, but for their ends, because the caller knows them.
    package private(set) var unreadCount = 0
    /// Contents that are stored and that no record names: those of uploads whose records have not been saved, or that
    /// were removed from their records; a server keeps them for a day.
    package private(set) var unnamedCount = 0

    private var foundCount = 0

    /// Bytes of the files that a folder has, about: what a verification reads at most.
    package static func byteCount(on disk: any Disk) throws(DiskError) -> UInt64 {
        try BlobFiles(on: disk).count().byteCount
    }

    /// Checks what a database's records name.
    ///
    /// - Parameters:
    ///   - isKnown: Whether the content of a file, which is there and has the right end, need not be read.
    ///   - progress: Called with the number of bytes that have been checked, of all databases together.
    mutating func check(
        _ database: Database, on disk: any Disk, exceptContentOf isKnown: Verification.KnownAssets,
        progress: (UInt64) -> Void
    ) {
        let folder = BlobFolder(of: database.id, on: disk)
        var problems: [BlobName: (path: String, offset: UInt64, problem: String)] = [:]
        // In an order that does not depend on chance.
        for blob in database.blobs.referenced {
            let path = folder.path(of: blob.name)
            do throws(StoreError) {
                guard let reader = try folder.open(blob.name) else {
                    problems[blob.name] = (path, 0, "the file is missing")
                    continue
                }
                foundCount += 1
                defer { reader.close() }
                guard reader.byteCount == blob.byteCount else {
                    problems[blob.name] = (path, 0, "it is not as long as its record says")
                    continue
                }
                if isKnown(path) { unreadCount += 1 } else { try reader.verify() }
                wholeCount += 1
                wholeByteCount += blob.byteCount
                progress(wholeByteCount)
            } catch {
                switch error {
                case .damaged(let damage): problems[blob.name] = (path, damage.offset, damage.problem)
                case .disk, .unknownVersion: problems[blob.name] = (path, 0, "\(error)")
                }
            }
        }
        if !problems.isEmpty { note(problems, of: database) }
    }

    /// Notes problems, with the records that name each content.
    private mutating func note(
        _ problems: [BlobName: (path: String, offset: UInt64, problem: String)], of database: Database
    ) {
        let holders = database.holders(ofAssets: Set(problems.keys))
        for (name, problem) in problems.sorted(by: { $0.value.path < $1.value.path }) {
            guard self.problems.count < StoreLimits.assetProblems else {
                furtherProblemCount += 1
                continue
            }
            self.problems.append(
                Verification.Problem(
                    file: problem.path, offset: problem.offset, problem: problem.problem,
                    affects: holders[name] ?? "an asset"))
        }
    }

    /// Counts what no record names, when all databases have been checked.
    mutating func countUnnamed(on disk: any Disk) throws(DiskError) {
        var stored = 0
        try BlobFiles(on: disk).forEachBucket { stored += $0.names.count }
        unnamedCount = max(stored - foundCount, 0)
        // No longer needed.
        foundCount = 0
    }
}

extension Database {
    /// The records that name assets, in words.
    fileprivate func holders(ofAssets names: Set<BlobName>) -> [BlobName: String] {
        var holders: [BlobName: (first: String, others: Int)] = [:]
        for zone in zones {
            for record in allRecords(in: zone.id) {
                var named = Set<BlobName>()
                Database.forEachAsset(of: record) { named.insert(BlobName($0)) }
                for name in named.intersection(names) {
                    let recordName = record.withUnsafeBytes { bytes in
                        String(decoding: StoredRecord.head(of: bytes).name, as: UTF8.self)
                    }
                    let first = holders[name]?.first ?? "record \(recordName) of zone \(zone.id.name)"
                    holders[name] = (first, (holders[name]?.others ?? -1) + 1)
                }
            }
        }
        return holders.mapValues { $0.others == 0 ? $0.first : "\($0.first) and \($0.others) more" }
    }
}
