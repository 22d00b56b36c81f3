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
    /// The run of the server that wrote the commit at ``historyStart``.
    package let epoch: UInt32
    /// The zone's incarnation; 0 in tokens of other kinds.
    package let incarnation: UInt64
    /// The last change that the device has seen.
    package let position: ChangePosition
    /// In the midst of a first fetch: where the history's end was when it began. The device knows nothing that was deleted
    /// before, so that the token stays good for as long as deletions behind this place are kept, though ``position`` itself
    /// may be long before those. At other times not ahead of ``position``, and without meaning.
    package let firstFetchHead: ChangePosition

    package init(
        kind: Kind, epoch: UInt32, incarnation: UInt64, position: ChangePosition,
        firstFetchHead: ChangePosition = .start
    ) {
        self.kind = kind
        self.epoch = epoch
        self.incarnation = incarnation
        self.position = position
        self.firstFetchHead = firstFetchHead
    }

    /// Deletions behind this place have to be known for the token to be good.
    package var historyStart: ChangePosition { max(position, firstFetchHead) }
}
