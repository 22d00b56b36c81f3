internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore

/// A1: the assets that the records of a recovered database name are on the disk, whole. A2: when all is at rest,
/// nothing else is in the folders of assets.
enum AssetChecks {
    /// What is in the folders of assets that no record names: contents, what is left of uploads, and folders of
    /// databases that name none.
    static func strays(on disk: SimulatedDisk, _ history: CommitHistory) -> [String] {
        var named = Set<String>()
        var needed = Set<String>()
        for id in history.databases {
            let folder = BlobFolder(of: id, on: disk)
            for zone in (history[id].states.last?.zones ?? [:]).values {
                for version in zone.records.values {
                    for asset in version.fields.assets {
                        let path = folder.path(of: BlobName(asset))
                        named.insert(path)
                        needed.insert(String(path.split(separator: "/")[1]))
                    }
                }
            }
        }
        let files = disk.paths.filter { $0.hasPrefix(BlobFolder.root + "/") && !named.contains($0) }
        let folders = (try? disk.listFolders(BlobFolder.root)) ?? []
        return files + folders.filter { !needed.contains($0) }
    }

    /// What is wrong; nil when nothing is, and when the disk does not answer.
    static func problem(of database: Database, on disk: SimulatedDisk, _ report: inout SimulationReport) -> String? {
        let folder = BlobFolder(of: database.id, on: disk)
        var seen = Set<BlobName>()
        for zone in database.zones {
            for bytes in database.allRecords(in: zone.id) {
                guard let record = CommitHistory.decode(bytes) else { return "A1: a record can't be read" }
                for asset in record.fields.assets where seen.insert(BlobName(asset)).inserted {
                    report.assetsChecked += 1
                    if let problem = problem(of: asset, in: folder) {
                        return "A1: \(record.system.name) of \(zone.id.name) names an asset that \(problem)"
                    }
                }
            }
        }
        return nil
    }

    private static func problem(of asset: Asset, in folder: BlobFolder) -> String? {
        do throws(StoreError) {
            guard let reader = try folder.open(BlobName(asset)) else { return "is not on the disk" }
            defer { reader.close() }
            if reader.byteCount != asset.byteCount { return "has another size" }
            try reader.verify()
            return nil
        } catch {
            if case .disk = error { return nil }
            return "is damaged: \(error)"
        }
    }
}
