/// Which notifications a script means: those on their way to an account, a device, or of a subscription.
///
/// Each part narrows what came before.
public struct PushPattern: Sendable, CustomStringConvertible {
    var subscriptionID: String?
    var peer = PeerPattern()

    /// Every notification.
    public static let any = PushPattern()

    /// Those of a subscription.
    public func of(subscription subscriptionID: String) -> PushPattern {
        var pattern = self
        pattern.subscriptionID = subscriptionID
        return pattern
    }

    /// Those to an account's devices.
    public func to(_ account: String) -> PushPattern {
        var pattern = self
        pattern.peer.account = account
        return pattern
    }

    /// Those to one device.
    public func to(_ device: TestDevice) -> PushPattern {
        var pattern = self
        pattern.peer.device = device.identity
        return pattern
    }

    /// The pattern in words.
    public var description: String {
        ((subscriptionID.map { ["of subscription \($0)"] } ?? ["any"]) + peer.words).joined(separator: " ")
    }
}
