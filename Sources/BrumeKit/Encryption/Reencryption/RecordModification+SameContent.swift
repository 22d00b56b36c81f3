internal import BrumeModel
internal import BrumeRecord

/// Saving again what met a newer version of the same content.
extension CKDatabase.RecordModification.Part {
    /// What to save again after the server refused it for a version that differs from the one that the app knows in
    /// nothing that an app sees: the record was encrypted anew. Nil where there is nothing. Where a zone is saved
    /// whole, all of it.
    ///
    /// A record of which the app does not know the version, or not all fields, is left to the app, as any conflict is;
    /// so is one in which nothing was encrypted anew.
    func rebased(
        after results: CKDatabase.RecordModificationResults
    ) -> CKDatabase.RecordModification.Part? {
        guard request.savePolicy == .ifServerRecordUnchanged, request.database != .public else { return nil }
        var again: [OutgoingZone] = []
        for var zone in zones {
            var rebased: Set<String> = []
            var isLost = false
            for index in zone.saves.indices {
                guard case .failure(let error as CKError)? = results.saveResults[zone.saves[index].record.recordID],
                    error.code == .serverRecordChanged
                else { continue }
                if let newer = error.serverRecord?.snapshot, zone.saves[index].sent.rebase(onto: newer) {
                    rebased.insert(zone.saves[index].name)
                } else {
                    isLost = true
                }
            }
            if rebased.isEmpty || isLost && isWhole(zone) { continue }
            if !isWhole(zone) {
                zone.saves.removeAll { !rebased.contains($0.name) }
                zone.deletions = []
            }
            again.append(zone)
        }
        if again.isEmpty { return nil }
        var part = with(again)
        part.request.operationID = ContainerCore.newOperationID()
        return part
    }
}

extension CKRecordState {
    /// Has the edits start from another version, where that has the same content as the one that they started from.
    ///
    /// - Returns: Whether it has.
    mutating func rebase(onto newer: CKRecordState) -> Bool {
        guard let base, let other = newer.base, base.hasSameContent(as: other) else { return false }
        start(from: other, newer.encrypted)
        contents.merge(newer.contents)
        return true
    }
}

extension CKRecordState.Base {
    /// Whether an app sees the same in both, and some of it was encrypted anew: keys aside, and who saved it.
    fileprivate func hasSameContent(as other: Self) -> Bool {
        guard parent == other.parent, share == other.share, fields.hasSameBytes(as: other.fields),
            encrypted.sealed.count == other.encrypted.sealed.count
        else { return false }
        var isEncryptedAnew = false
        for (key, sealed) in encrypted.sealed {
            guard let newer = other.encrypted.sealed[key] else { return false }
            if sealed.header != newer.header { isEncryptedAnew = true }
            // Open assets are among the fields.
            if sealed == newer || fields[key] != nil { continue }
            guard let value = encrypted.values[key], let newerValue = other.encrypted.values[key],
                [key: value].hasSameBytes(as: [key: newerValue])
            else { return false }
        }
        return isEncryptedAnew
    }
}

extension [String: FieldValue] {
    /// Whether the values are the same byte by byte: texts that only look alike are others.
    fileprivate func hasSameBytes(as other: Self) -> Bool {
        let coder = ValueCoder()
        return count == other.count
            && allSatisfy { key, value in other[key].map { coder.encode($0) == coder.encode(value) } ?? false }
    }
}
