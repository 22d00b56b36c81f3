package import BrumeModel
internal import Foundation

/// Single contents, for who moves records as the server has them.
extension CKDatabase {
    /// The content of an asset that a record's field names, as a file of the cache. It stays there as long as the
    /// result lives.
    ///
    /// - Parameter index: The place in a list; 0 for a field that is none.
    /// - Throws: `assetNotAvailable` when it is damaged, gone, or the field's no more.
    package func file(
        of asset: Asset, named recordName: String, in zoneID: CKRecordZone.ID, key: String, index: Int
    ) async throws(CKError) -> CKAsset {
        let request = DownloadRequest(
            database: try requestScope(), zone: zoneID.modelID, recordName: recordName, field: key, listIndex: index,
            checksum: asset.checksum)
        let lease = try await file(of: .plain(asset), request, core.account, callOptions) { _ in }
        return CKAsset(asset, file: AssetContents.File(url: lease.fileURL, lease: lease))
    }

    /// Uploads a file for records of a zone, encrypted where the zone's assets are.
    func uploadedFile(_ url: URL, to zoneID: CKRecordZone.ID) async throws(CKError) -> UploadedFile {
        let account = core.account
        let isEncrypted = try await encryptsUpload(to: zoneID, account, callOptions)
        return try await account.upload(
            url, to: zoneID.modelID, of: try requestScope(), isEncrypted: isEncrypted, options: callOptions
        ) { _ in }
    }

    /// Uploads a file for records of a zone as it is.
    ///
    /// - Returns: The asset, with the receipt by which a save names it: good for a day.
    package func upload(_ url: URL, to zoneID: CKRecordZone.ID) async throws(CKError) -> Asset {
        try await core.account.upload(
            url, to: zoneID.modelID, of: try requestScope(), options: callOptions
        ) { _ in }.asset
    }
}
