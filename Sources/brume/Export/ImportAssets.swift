internal import BrumeKit
internal import BrumeModel
internal import BrumeSystem
internal import Foundation

/// Uploads the contents of an export's assets, each once for a zone.
struct ImportAssets {
    private let folder: String
    private let database: CKDatabase
    private var uploaded: [String: [AssetChecksum: Asset]] = [:]
    /// Files that hold what they are named by.
    private var checked: Set<AssetChecksum> = []

    init(_ folder: String, to database: CKDatabase) {
        self.folder = FolderCopier.path(folder)
        self.database = database
    }

    /// The record with assets that its save may name.
    ///
    /// - Throws: ``ValueError`` where a content is missing, or another one than it is named; errors of the server.
    mutating func uploaded(_ record: Record, to zone: String) async throws -> Record {
        var record = record
        for (key, value) in record.fields where !value.assets.isEmpty {
            var assets: [Asset] = []
            for asset in value.assets { assets.append(try await uploaded(asset, to: zone)) }
            record.fields[key] = value.naming(assets)
        }
        return record
    }

    /// The plain file of an asset that was encrypted.
    ///
    /// - Throws: ``ValueError`` where it is missing, or another one than it is named.
    mutating func file(of asset: Asset) throws -> URL {
        let path = try path(of: asset, in: folder + "/" + ExportAssets.decryptedFolder)
        if checked.contains(asset.checksum) { return URL(fileURLWithPath: path) }
        guard try FileChecksum.of(path) == asset.checksum else { throw Self.otherContent(path) }
        checked.insert(asset.checksum)
        return URL(fileURLWithPath: path)
    }

    private func path(of asset: Asset, in folder: String) throws(ValueError) -> String {
        let path = folder + "/" + asset.checksum.description
        guard FileSystem.exists(path) else {
            throw ValueError(message: "the content of an asset is missing: there is no file \(path)")
        }
        return path
    }

    private static func otherContent(_ path: String) -> ValueError {
        ValueError(message: "\(path) holds another content than it is named by: it was changed, or damaged")
    }

    private mutating func uploaded(_ asset: Asset, to zone: String) async throws -> Asset {
        if let known = uploaded[zone]?[asset.checksum] { return known }
        let path = try path(of: asset, in: folder)
        let zoneID = zone == Names.defaultZone ? CKRecordZone.ID.default : CKRecordZone.ID(zoneName: zone)
        let made = try await database.upload(URL(fileURLWithPath: path), to: zoneID)
        guard made.checksum == asset.checksum else { throw Self.otherContent(path) }
        uploaded[zone, default: [:]][asset.checksum] = made
        return made
    }
}
