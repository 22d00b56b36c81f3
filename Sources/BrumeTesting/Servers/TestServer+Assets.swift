public import BrumeKit
internal import BrumeModel
internal import BrumeServer

/// Assets that a server has lost.
extension TestServer {
    /// Damages the stored content of a record's asset, as a failing disk would: one byte is another one. From then on a
    /// download of it fails with `assetNotAvailable`, and so does the fetch of that record, and of no other; a
    /// `CKSyncEngine` hands the record out without the file, and goes on.
    ///
    /// ```swift
    /// try await server.damageAsset("photo", ofRecord: note.recordID, of: "ada")
    /// ```
    ///
    /// Records of a database whose assets have the same content share what is stored of it. A device that has the
    /// content in its cache does not ask for it. Saving the record with the file anew uploads it again once the server
    /// has found out, which it does with the first download.
    ///
    /// - Parameters:
    ///   - key: The field.
    ///   - index: The place in a list; 0 for a field that is none.
    ///   - byte: Which byte. The server checks each MiB before it sends anything of it, so what is before that is sent:
    ///     with a byte further on the download breaks midway.
    ///   - account: Whose private database it is; nil: the public database.
    /// - Throws: ``TestServerError`` as ``account(_:)`` does, when no such field names an asset, and when the asset has
    ///   no such byte.
    public func damageAsset(
        _ key: CKRecord.FieldKey, at index: Int = 0, ofRecord recordID: CKRecord.ID, of account: String? = nil,
        byte: Int = 0
    ) async throws {
        let (asset, id) = try await asset(key, index, recordID, account)
        guard byte >= 0, byte < asset.byteCount else {
            throw TestServerError(
                "the asset in \(key) of \(recordID.recordName) has \(asset.byteCount) bytes, and no byte \(byte)")
        }
        try await changeDisk { server throws(ServerError) in
            try server.damage(asset, of: id, at: UInt64(byte))
        }
    }

    /// Takes the stored content of a record's asset away from the server, which does not know it: as
    /// ``damageAsset(_:at:ofRecord:of:byte:)``, from the first byte on.
    ///
    /// - Parameters:
    ///   - key: The field.
    ///   - index: The place in a list; 0 for a field that is none.
    ///   - account: Whose private database it is; nil: the public database.
    /// - Throws: ``TestServerError`` as ``account(_:)`` does, when no such field names an asset, and when it is gone
    ///   already.
    public func removeAsset(
        _ key: CKRecord.FieldKey, at index: Int = 0, ofRecord recordID: CKRecord.ID, of account: String? = nil
    ) async throws {
        let (asset, id) = try await asset(key, index, recordID, account)
        try await changeDisk { server throws(ServerError) in try server.lose(asset, of: id) }
    }

    private func changeDisk(_ change: @escaping @Sendable (Server) throws(ServerError) -> Void) async throws {
        try await BlockingWork.run { [self] in
            try withServer { server in
                do throws(ServerError) {
                    try change(server)
                } catch {
                    throw TestServerError("the stored asset can't be changed: \(error)")
                }
            }
        }
    }

    /// What the server has stored for a field, and where.
    private func asset(
        _ key: CKRecord.FieldKey, _ index: Int, _ recordID: CKRecord.ID, _ account: String?
    ) async throws -> (Asset, DatabaseID) {
        let id = try account.map { try privateDatabase(of: $0) } ?? database(.public, owner: "")
        guard let (record, _) = try await storedRecord(recordID, in: id) else {
            throw TestServerError(
                "the server has no record \(recordID.recordName) in the zone \(recordID.zoneID.zoneName) of "
                    + (account.map { "\($0)'s private database" } ?? "the public database"))
        }
        let assets = record.fields[key]?.assets ?? []
        guard assets.indices.contains(index) else {
            throw TestServerError(
                "\(key) of the record \(recordID.recordName) names no asset at \(index); it has \(assets.count)")
        }
        return (assets[index], id)
    }
}
