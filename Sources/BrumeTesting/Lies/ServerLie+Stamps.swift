public import BrumeKit

/// Stamps of records. A record's stamp says in which tree, and below which record, a device that has the tree's keys
/// has put it.
///
/// Values are read as ever. A stamp counts where something was encrypted in another tree than the one in which it is
/// shown: what stands below a record that was moved into a share, until it was encrypted anew, and what an app moves
/// there. With another stamp on the record that was moved, saves of values below it fail with
/// `accountTemporarilyUnavailable`, and ``CKDatabase/reencryptRecords(in:)`` says the same of the records that it can't
/// encrypt anew, as it does of a record with another stamp of its own. A record that moves below such a one without new
/// values is saved, and those with whom the tree is shared read none of its values before it was encrypted anew.
extension ServerLie {
    /// A byte of a record's stamp is another one.
    ///
    /// - Parameter index: Which byte; one that the stamp does not have leaves it as it is.
    public static func flipsByte(_ index: Int, ofStampOf recordID: CKRecord.ID) -> ServerLie {
        precondition(index >= 0, "a stamp has no byte \(index)")
        return ServerLie(
            "byte \(index) of the stamp of \(recordID.recordName) is flipped", .stamp(.flip(index), of: recordID))
    }

    /// A record has no stamp.
    public static func removesStamp(of recordID: CKRecord.ID) -> ServerLie {
        ServerLie("\(recordID.recordName) has no stamp", .stamp(.removed, of: recordID))
    }

    /// A record has the stamp that another one of the account's has when the lie begins.
    public static func showsStamp(of other: CKRecord.ID, on recordID: CKRecord.ID) -> ServerLie {
        ServerLie(
            "\(recordID.recordName) has the stamp of \(other.recordName)", .copyStamp(from: other, to: recordID))
    }
}
