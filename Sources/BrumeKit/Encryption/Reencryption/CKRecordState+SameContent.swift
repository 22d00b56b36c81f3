internal import BrumeModel
internal import BrumeRecord

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
        count == other.count && allSatisfy { key, value in value.hasSameBytes(as: other[key]) }
    }
}

extension FieldValue? {
    /// Whether both are the same byte by byte, or both nothing: texts that only look alike are others, and no number
    /// is another one than itself.
    func hasSameBytes(as other: FieldValue?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.hasSameBytes(as: other)
    }
}

extension FieldValue {
    fileprivate func hasSameBytes(as other: FieldValue?) -> Bool {
        guard let other else { return false }
        let coder = ValueCoder()
        return coder.encode(self) == coder.encode(other)
    }
}
