/// An operation as earlier versions remembered it: by its id and the number of the protocol's method, with the
/// protocol's answer.
///
/// An answer about records has the layout of an ``OperationOutcome``, so a retry that comes after the change of
/// versions is still answered in a private database, and its digest still tells it from another request. Others are
/// forgotten: an answer about zones holds sealed tokens, and in a public database the method went into a digest.
///
/// What pushes the answers of a user out who is forgotten (``Database/forgetUser(nowMilliseconds:)``) still does: a
/// replay must not bring them back.
struct FormerOperation {
    let id: [UInt8]
    let outcome: [UInt8]

    private static let idByteCount = 16
    /// `brume.v1.METHOD_RECORDS_MODIFY`.
    private static let modifyRecords: UInt8 = 32

    /// - Parameters:
    ///   - key: What the operation was remembered under.
    ///   - answer: The protocol's answer.
    init?(key: [UInt8], answer: [UInt8]) {
        if answer.isEmpty { return nil }
        if key.count == Self.idByteCount + 1, key[Self.idByteCount] == Self.modifyRecords {
            id = Array(key.prefix(Self.idByteCount))
        } else if key.starts(with: Database.forgettingPrefix) {
            id = key
        } else {
            return nil
        }
        outcome = answer
    }
}
