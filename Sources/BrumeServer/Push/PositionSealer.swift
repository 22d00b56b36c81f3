internal import BrumeModel
internal import BrumeProtocol

/// Seals the positions of events, as the field that stands before each.
///
/// An event goes to a user's devices one after the other, and most of them stand at the same place: the last seal is
/// kept, so that a thousand devices cost one authentication code. Belongs to one loop.
final class PositionSealer {
    private let sealer: TokenSealer
    private var lastToken: ChangeToken?
    private var lastScope: [UInt8] = []
    private var lastField: [UInt8] = []

    init(_ sealer: TokenSealer) {
        self.sealer = sealer
    }

    func field(for position: NotificationPosition, scope: [UInt8]) -> [UInt8] {
        let token = position.token
        if lastToken == token, lastScope == scope { return lastField }
        let field = MessageCoder.positionField(sealer.seal(token, scope: scope))
        (lastToken, lastScope, lastField) = (token, scope, field)
        return field
    }
}
