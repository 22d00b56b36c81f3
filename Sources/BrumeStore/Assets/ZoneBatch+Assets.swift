internal import BrumeModel
internal import BrumeRecord

/// What the records of a batch name of assets.
extension ZoneBatch {
    /// Whether a record names assets after its save. Throws `assetNotAvailable` when it names one that the caller may
    /// not: to know an asset's checksum gives no right to it. It has to come with a receipt, or to be named by the
    /// server's version of this record already, in whatever field.
    ///
    /// - Parameter fields: The encoded fields of the record as it is to be.
    func namesAssets(_ fields: SharedBytes, over existing: RecordSlot?) throws(ServiceError) -> Bool {
        let named = try ZoneBatch.assets(of: fields)
        if named.isEmpty { return false }
        guard named.count <= Limits.assetsPerRecord else {
            throw ServiceError(
                .limitExceeded,
                """
                a record would have \(named.count) assets; the limit is \(Limits.assetsPerRecord): use several records
                """)
        }
        let others = named.filter { grants?.contains($0) != true }
        if others.isEmpty { return true }
        let kept = existing?.marks.contains(.assets) == true ? existing : nil
        let known = try kept.map { (slot) throws(ServiceError) in Set(try ZoneBatch.assets(of: slot.bytes)) }
        guard let known, others.allSatisfy(known.contains) else { throw ZoneBatch.assetIsNotAvailable }
        return true
    }

    private static func assets(of part: SharedBytes) throws(ServiceError) -> [Asset] {
        let assets: Result<[Asset], ServiceError> = part.withUnsafeBytes { bytes in
            Result { () throws(ServiceError) in
                var assets: [Asset] = []
                try StoredRecord.forEachAsset(of: bytes) { assets.append($0) }
                return assets
            }
        }
        return try assets.get()
    }

    private static let assetIsNotAvailable = ServiceError(
        .assetNotAvailable,
        """
        a record names an asset that the server does not have of it, and whose upload gave no receipt that is still \
        good: upload the file, and save the record again
        """)
}
