internal import BrumeKit
internal import BrumeModel
internal import BrumeSystem
internal import Foundation

/// The contents of an export's assets: files in a folder beside it, each named by the SHA-256 of what is in it. The
/// folder gets its name when the export is complete.
final class ExportAssets {
    /// Beside the file of an export.
    static func folder(of path: String) -> String { path + ".assets" }

    /// In that folder, for files that were encrypted. Were they beside the others, a server that adds a plain asset
    /// with the checksum of a file that it guesses would see by what is fetched, or imported, that the guess is right.
    static let decryptedFolder = "decrypted"

    private let path: String
    private let partial: String
    private let database: CKDatabase
    private(set) var fileCount = 0
    private var isRenamed = false
    private(set) var byteCount = 0
    /// Records of which a content could not be had, and why: one that changed meanwhile has another line further down.
    private var failures: [Key: any Error] = [:]

    private struct Key: Hashable {
        let zone: String
        let name: String
    }

    /// The folder is made with the first content.
    init(_ path: String, from database: CKDatabase) throws(CommandError) {
        self.path = FolderCopier.path(path)
        partial = self.path + ".partial"
        self.database = database
        for path in [self.path, partial] where FileSystem.exists(path) {
            throw CommandError(
                .conflict, "\(path) exists",
                hint: path == partial
                    ? "an interrupted export left it, or another one makes it now; remove it if none does"
                    : "choose another name: nothing is overwritten")
        }
    }

    /// Fetches the contents of a record's assets that are not here yet.
    func take(_ record: Record, in zone: String) async throws {
        let key = Key(zone: zone, name: record.system.name)
        failures[key] = nil
        let zoneID = zone == Names.defaultZone ? CKRecordZone.ID.default : CKRecordZone.ID(zoneName: zone)
        for (field, value) in record.fields.sorted(by: { $0.key < $1.key }) {
            for (index, asset) in value.assets.enumerated() {
                let target = partial + "/" + asset.checksum.description
                if FileSystem.exists(target) { continue }
                do throws(CKError) {
                    let file = try await database.file(
                        of: asset, named: record.system.name, in: zoneID, key: field, index: index)
                    try copy(file, to: target)
                    byteCount += Int(clamping: asset.byteCount)
                } catch {
                    guard error.code == .assetNotAvailable else { throw error }
                    failures[key] = error
                }
            }
        }
    }

    /// Fetches an encrypted asset, and writes the plain file.
    ///
    /// - Returns: The asset that the export names, with the checksum and the size of the plain file.
    /// - Throws: `assetNotAvailable` where the server does not have it, or where it is damaged.
    func takeFile(
        of opened: OpenedRecord, in zoneID: CKRecordZone.ID, key: String, index: Int, _ asset: Asset
    ) async throws(CKError) -> Asset {
        let file = try await database.file(of: opened, in: zoneID, key: key, index: index)
        let folder = partial + "/" + Self.decryptedFolder
        let incoming = folder + "/incoming"
        do {
            try FileSystem.makeDirectory(partial)
            try FileSystem.makeDirectory(folder)
            try? FileSystem.remove(incoming)
            let (checksum, count) = try FileChecksum.copying(file.fileURL?.path ?? "", to: incoming)
            let target = folder + "/" + checksum.description
            if FileSystem.exists(target) {
                try FileSystem.remove(incoming)
            } else {
                try FileSystem.rename(incoming, to: target)
                fileCount += 1
                byteCount += count
            }
            return Asset(checksum: checksum, byteCount: UInt64(count), generation: asset.generation)
        } catch {
            throw CKError(.internalError, message: "\(incoming) can't be written: \(error)")
        }
    }

    private func copy(_ asset: CKAsset, to target: String) throws(CKError) {
        do {
            try FileSystem.makeDirectory(partial)
            try FileManager.default.copyItem(atPath: asset.fileURL?.path ?? "", toPath: target)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: target)
            fileCount += 1
        } catch {
            throw CKError(.internalError, message: "\(target) can't be written: \(error)")
        }
    }

    /// A record is gone, and what could not be had of it.
    func forget(_ name: String, in zone: String) { failures[Key(zone: zone, name: name)] = nil }

    /// What could not be had, a sentence for each record.
    var problems: [String] {
        failures.sorted { ($0.key.zone, $0.key.name) < ($1.key.zone, $1.key.name) }.map { key, error in
            "\(key.name) of \(key.zone): \(error.localizedDescription)"
        }
    }

    func finish() throws {
        if fileCount == 0 { return }
        let decrypted = partial + "/" + Self.decryptedFolder
        if FileSystem.exists(decrypted) { try FileSystem.syncDirectory(decrypted) }
        try FileSystem.syncDirectory(partial)
        try FileSystem.rename(partial, to: path)
        isRenamed = true
        try FileSystem.syncDirectory(FileSystem.directory(of: path))
    }

    /// Removes what was written: an export that fails leaves no secrets behind.
    func discard() {
        try? FileSystem.removeTree(partial)
        if isRenamed { try? FileSystem.removeTree(path) }
    }
}

extension Record {
    var holdsAssets: Bool { fields.values.contains { !$0.assets.isEmpty } }
}
