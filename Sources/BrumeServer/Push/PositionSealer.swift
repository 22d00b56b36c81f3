internal import BrumeModel

/// Seals the positions of events.
///
/// An event goes to a user's devices one after the other, and most of them stand at the same place: the last seal is
/// kept, so that a thousand devices cost one authentication code. Belongs to one loop.
final class PositionSealer {
    private let sealer: TokenSealer
    private var lastToken: ChangeToken?
    private var lastScope: [UInt8] = []
    private var lastSeal: [UInt8] = []

    init(_ sealer: TokenSealer) {
        self.sealer = sealer
    }

    func seal(_ position: NotificationPosition, scope: [UInt8]) -> [UInt8] {
        let token = position.token
        if lastToken == token, lastScope == scope { return lastSeal }
        let seal = sealer.seal(token, scope: scope)
        (lastToken, lastScope, lastSeal) = (token, scope, seal)
        return seal
    }
}
