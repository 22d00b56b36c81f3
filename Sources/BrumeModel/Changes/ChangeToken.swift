/// What a change token says: how far a device has come in a zone's or a database's feed.
///
/// On the wire a token is these fields and a MAC over them and the scope they belong to, so that a forged token, one of
/// another scope, of a zone's earlier life or of a lost future are told apart.
package struct ChangeToken: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        case zone = 1
        case database = 2
        /// The position of a device's notification stream.
        case notifications = 3
    }

    package let kind: Kind
    /// The run of the server that wrote the commit at ``horizon``.
    package let epoch: UInt32
    /// The zone's incarnation; 0 in tokens of other kinds.
    package let incarnation: UInt64
    /// The last change that the device has seen.
    package let position: ChangePosition
    /// In the midst of a first fetch: where the history's end was when it began. The device knows nothing that was
    /// deleted before, so that the token stays good for as long as deletions behind this place are kept, though
    /// ``position`` itself may be long before those. At other times not ahead of ``position``, and without meaning.
    package let firstFetchHead: ChangePosition
    /// Where the history ended when the page was made that the token ends, if more was to come. What had changed again
    /// by then was left out at its earlier places: were the history put back to before this place, the next page would
    /// miss it.
    package let pageHead: ChangePosition

    package init(
        kind: Kind, epoch: UInt32, incarnation: UInt64, position: ChangePosition,
        firstFetchHead: ChangePosition = .start, pageHead: ChangePosition = .start
    ) {
        self.kind = kind
        self.epoch = epoch
        self.incarnation = incarnation
        self.position = position
        self.firstFetchHead = firstFetchHead
        self.pageHead = pageHead
    }

    /// Deletions behind this place have to be known for the token to be good.
    package var historyStart: ChangePosition { max(position, firstFetchHead) }

    /// The history up to here has to be the one that the token was made of. ``epoch`` is the run that wrote this place.
    package var horizon: ChangePosition { max(historyStart, pageHead) }
}
