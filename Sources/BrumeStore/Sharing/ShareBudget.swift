internal import BrumeModel

/// What shares may cost the loop in one request: each is read, changed and written as a whole, and each participant
/// that is shown may need a URL that has to be sealed. How many participants change was counted when the request was
/// read.
///
/// What was spent stays spent, whether or not the item fails in the end. An item that finds no room fails by itself.
struct ShareBudget: Sendable {
    /// Records whose parents may still be followed: see ``ShareTree``.
    var steps = ShareTree.stepLimit
    /// The same for records that are moved: see ``BatchTrees``.
    var moveSteps = ShareTree.stepLimit
    /// Records that may still come into trees or leave them with others above them.
    private var movedRecords = StoreLimits.movedRecordsPerRequest
    private var bytes = Limits.shareBytesPerRequest
    private var shownParticipants = Limits.participantsShownPerRequest

    /// Takes room for a record that comes into another tree, or leaves one, with all that stands below it.
    mutating func takeMove(of slot: Int32, in zone: ZoneState) throws(ServiceError) {
        guard let count = zone.holdsTree(of: slot, within: movedRecords) else { throw ShareBudget.movesTooMany }
        movedRecords -= count
    }

    /// The same for all records of a tree.
    mutating func takeMove(ofAll count: Int) throws(ServiceError) {
        guard count <= movedRecords else { throw ShareBudget.movesTooMany }
        movedRecords -= count
    }

    /// Takes room for a share that is about to be read.
    mutating func takeReading(of byteCount: Int) throws(ServiceError) {
        guard byteCount <= bytes else { throw ShareBudget.isSpent }
        bytes -= byteCount
    }

    /// Takes room for a share that is about to be shown.
    mutating func takeShowing(of share: Share) throws(ServiceError) {
        guard share.participants.count < shownParticipants else { throw ShareBudget.isSpent }
        shownParticipants -= share.participants.count + 1
    }

    private static let movesTooMany = ServiceError(
        .limitExceeded,
        "more than \(StoreLimits.movedRecordsPerRequest) records would come into a share or leave one with one request:"
            + " move those below the record first, some at a time, or share it before they come")
    private static let isSpent = ServiceError(
        .limitExceeded,
        "the request reads and shows more of shares than one request may; send the item in another one")
}
