internal import BrumeModel
internal import BrumeRecord

/// What the records of a batch name of assets.
extension ZoneBatch {
    /// Whether a record names assets after its save. Throws `assetNotAvailable` when the save names one that the caller
    /// may not: to know an asset's checksum gives no right to it. It has to come with a receipt, or to be named by the
    /// server's version of this record already, in whatever field; where the caller may not read that version, it has
    /// to come with a receipt.
    ///
    /// - Parameter fields: The encoded fields of the record as it is to be.
    mutating func namesAssets(
        of save: RecordSave<CheckedFields>, _ fields: SharedBytes, over existing: RecordSlot?, isHidden: Bool
    ) throws(ServiceError) -> Bool {
        // What the server has, the record may keep.
        if !save.fields.mayHoldAssets { return fields.withUnsafeBytes { StoredRecord.holdsAssets($0) } }
        let sent = try count(of: save.fields.puts.bytes) { grants?.contains($0) == true }
        if !sent.areAllowed {
            guard let existing, !isHidden, existing.marks.contains(.assets) else { throw ZoneBatch.assetIsNotAvailable }
            var known = Set<Asset>()
            let older = try count(of: existing.bytes) { known.insert($0).inserted || true }
            try takeAssets(older.count)
            let again = try count(of: save.fields.puts.bytes) { grants?.contains($0) == true || known.contains($0) }
            guard again.areAllowed else { throw ZoneBatch.assetIsNotAvailable }
        }
        var bytes: UInt64 = 0
        let named = try count(of: fields) {
            bytes += BlobIndex.counted($0.byteCount)
            return true
        }
        try takeAssets(named.count)
        guard named.count <= Limits.assetsPerRecord else {
            throw ServiceError(
                .limitExceeded,
                """
                a record would have more than \(Limits.assetsPerRecord) assets, the most that one may have: use \
                several records
                """)
        }
        namedAssetBytes += Int(bytes)
        return named.count > 0
    }

    /// Throws where the zone's assets are encrypted, and a save puts one that is not into a field that does not have it
    /// yet. What a field has, also from before there was a ring, it may keep: all of it, or a part.
    ///
    /// Those of a share are shown to users who have no keys yet.
    mutating func checkPlainAssets(
        of save: RecordSave<CheckedFields>, over existing: RecordSlot?
    ) throws(ServiceError) {
        guard let plainAssetRefusal, save.fields.mayHoldAssets, save.type != Names.shareType else { return }
        var read = 0
        let adds = save.fields.puts.bytes.withUnsafeBytes { sent in
            (existing?.bytes ?? SharedBytes()).withUnsafeBytes {
                StoredRecord.addsPlainAssets(sent, over: $0, read: &read)
            }
        }
        assetsLeft -= read
        if adds { throw plainAssetRefusal }
    }

    /// Counts the assets of a part of a record, up to the first that is not allowed.
    private func count(
        of part: SharedBytes, _ isAllowed: (Asset) -> Bool
    ) throws(ServiceError) -> (count: Int, areAllowed: Bool) {
        let result: Result<(count: Int, areAllowed: Bool), ServiceError> = part.withUnsafeBytes { bytes in
            Result { () throws(ServiceError) in
                var (count, areAllowed) = (0, true)
                try StoredRecord.forEachAsset(of: bytes) { asset in
                    count += 1
                    areAllowed = isAllowed(asset)
                    return areAllowed
                }
                return (count, areAllowed)
            }
        }
        return try result.get()
    }

    /// Takes so many assets from what the request may name; the first record always has room.
    private mutating func takeAssets(_ count: Int) throws(ServiceError) {
        guard assetsLeft > 0 else { throw ZoneBatch.assetsAreFull }
        assetsLeft -= count
    }

    private static let assetsAreFull = ServiceError(
        .limitExceeded,
        """
        the records that this request saves name more than \(Limits.assetsPerRequest) assets; send the item in another \
        request
        """)

    private static let assetIsNotAvailable = ServiceError(
        .assetNotAvailable,
        """
        a record names an asset that the server does not have of it, and whose upload gave no receipt that is still \
        good: upload the file, and save the record again
        """)
}
