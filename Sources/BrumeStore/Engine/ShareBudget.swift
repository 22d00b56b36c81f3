internal import BrumeModel

/// What shares may cost the loop in one request: each is read, changed and written as a whole, each participant that
/// changes is looked for among all, and each that is shown may need a URL that has to be sealed.
///
/// What was spent stays spent, whether or not the item fails in the end. An item that finds no room fails by itself.
struct ShareBudget: Sendable {
    /// Records whose parents may still be followed: see ``ShareTree``.
    var steps = ShareTree.stepLimit
    private var changes = Limits.changesPerShareSave
    private var bytes = Limits.shareBytesPerRequest
    private var shownParticipants = Limits.participantsShownPerRequest

    /// Takes the changes of a save.
    mutating func take(_ edit: ShareEdit) throws(ServiceError) {
        guard edit.changeCount <= changes else { throw ShareBudget.isSpent }
        changes -= edit.changeCount
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

    private static let isSpent = ServiceError(
        .limitExceeded,
        "the shares of this request have more participants, or change more of them, than one request may; send the item"
            + " in another one")
}
