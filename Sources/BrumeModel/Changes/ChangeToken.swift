/// The content of a change token: how far a device has read a zone's or a database's feed.
///
/// On the wire a token is these fields and a MAC over them and the scope they belong to, so that the server recognises
/// a token that is forged, belongs to another scope or to an earlier zone of the same name, or comes from a lost
/// future.
package struct ChangeToken: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        case zone = 1
        case database = 2
    }

    package let kind: Kind
    /// The run of the server that wrote the commit at ``horizon``.
    package let epoch: UInt32
    /// The zone's incarnation; 0 in tokens of other kinds.
    package let incarnation: UInt64
    /// The last change that the device has seen.
    package let position: ChangePosition
    /// During a first fetch: the end of the history when that fetch began. The device has nothing that was deleted
    /// before then, so the token stays valid for as long as deletions after this place are kept, although ``position``
    /// itself may be far older than those. At other times it is not ahead of ``position`` and has no meaning.
    package let firstFetchHead: ChangePosition
    /// The end of the history when the page before this token was made, if more was to come. Records that had changed
    /// again by then were left out at their earlier places: if the history were put back to before this place, the next
    /// page would miss them.
    package let pageHead: ChangePosition
    /// How far the device has read what stands at ``position`` as a block: what was shared with its user there.
    /// ``ChangePosition/start`` when it has all of it.
    package let blockPosition: ChangePosition

    package init(
        kind: Kind, epoch: UInt32, incarnation: UInt64, position: ChangePosition,
        firstFetchHead: ChangePosition = .start, pageHead: ChangePosition = .start,
        blockPosition: ChangePosition = .start
    ) {
        self.kind = kind
        self.epoch = epoch
        self.incarnation = incarnation
        self.position = position
        self.firstFetchHead = firstFetchHead
        self.pageHead = pageHead
        self.blockPosition = blockPosition
    }

    /// The token is valid only while deletions after this place are known.
    package var historyStart: ChangePosition { max(position, firstFetchHead) }

    /// The history up to this place has to be the one that the token was made from. ``epoch`` is the run that wrote
    /// this place.
    package var horizon: ChangePosition { max(historyStart, pageHead, blockPosition) }
}
