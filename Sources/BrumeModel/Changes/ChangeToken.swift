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
    /// The data folder's epoch when the token was made.
    package let epoch: UInt32
    /// The zone's incarnation; 0 in tokens of other kinds.
    package let incarnation: UInt64
    /// The last change that the device has seen.
    package let position: ChangePosition

    package init(kind: Kind, epoch: UInt32, incarnation: UInt64, position: ChangePosition) {
        self.kind = kind
        self.epoch = epoch
        self.incarnation = incarnation
        self.position = position
    }
}
