internal import Foundation

extension CKError {
    private static let unprovenRecordKey = "BrumeUnprovenRecordID"

    /// Brume's addition, with `accountTemporarilyUnavailable`: the record of which only the server says below which
    /// other one it is, and that keeps a record in it, or below it, from being encrypted for those with whom that one
    /// is shared; nil for any other error.
    ///
    /// Where it belongs there, set its parent again (`record.parent = record.parent`), save it, and try again. Where it
    /// does not, give it the parent that it should have.
    public var unprovenRecordID: CKRecord.ID? { userInfo[Self.unprovenRecordKey] as? CKRecord.ID }

    /// What a save fails with for a record.
    ///
    /// - Parameters:
    ///   - root: Of the shared tree in which the record is shown.
    ///   - unproven: The record of which nothing else says that it is there.
    static func withDoubtfulPlace(_ name: String, below root: String, unproven: CKRecord.ID) -> CKError {
        let place = unproven.recordName.quotedName
        let error = CKError.notEncrypted(
            .placeIsUnproven,
            "\(name.quotedName) is not saved: what is encrypted in it, or above it, belongs to another tree, and "
                + "only the server says that \(place) is below \(root.quotedName), which is shared; if it belongs "
                + "there, set the parent of \(place) again, save that, and try again")
        return CKError(error.code, userInfo: error.userInfo.merging([Self.unprovenRecordKey: unproven]) { $1 })
    }
}
