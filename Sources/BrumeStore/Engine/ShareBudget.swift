internal import BrumeModel

/// What the saves of shares in one request may cost the loop: each share is read, changed and written as a whole, and
/// each participant that changes is looked for among all.
struct ShareBudget: Sendable {
    private var changes = Limits.changesPerShareSave
    private var bytes = Limits.shareBytesPerRequest
    private var isUntouched = true

    /// Takes one save. Throws `limitExceeded`, and takes nothing, when there is no room for it; the first always has
    /// room for the bytes.
    ///
    /// - Parameter storedBytes: The share as it is stored; 0 for a new one.
    mutating func take(_ edit: ShareEdit, over storedBytes: Int) throws(ServiceError) {
        guard edit.changeCount <= changes, isUntouched || storedBytes <= bytes else { throw ShareBudget.isSpent }
        isUntouched = false
        changes -= edit.changeCount
        bytes = max(0, bytes - storedBytes)
    }

    private static let isSpent = ServiceError(
        .limitExceeded,
        "a request changes \(Limits.changesPerShareSave) participants and requests of shares at most, and shares of"
            + " \(Limits.shareBytesPerRequest) bytes; send the item in another request")
}
