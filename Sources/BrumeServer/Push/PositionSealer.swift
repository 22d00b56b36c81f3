internal import BrumeModel
internal import BrumeWire

/// Seals the positions of events, as the field that stands before each.
///
/// An event goes to a user's devices one after the other, and most of them stand at the same place: the last seal is kept, so that
/// a thousand devices cost one code of authentication. Belongs to one loop.
final class PositionSealer {
    private let sealer: TokenSealer
    private var sealed: (token: ChangeToken, scope: [UInt8], field: [UInt8])?

    init(_ sealer: TokenSealer) {
        self.sealer = sealer
    }

    func field(for position: NotificationPosition, scope: [UInt8]) -> [UInt8] {
        let token = position.token
        if let sealed, sealed.token == token, sealed.scope == scope { return sealed.field }
        let field = MessageCoder.positionField(sealer.seal(token, scope: scope))
        sealed = (token, scope, field)
        return field
    }
}
