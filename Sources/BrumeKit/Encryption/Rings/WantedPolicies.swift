/// What an app wants to be so of a zone for good, when its keys are made.
struct WantedPolicies: Equatable, Sendable {
    /// Whether all of it is one tree; false says nothing.
    var isPerZone = false
    /// Whether its files are encrypted; nil where the app does not say.
    var encryptsAssets: Bool?

    /// Whether the app asks for nothing.
    var isNone: Bool { !isPerZone && encryptsAssets == nil }
}
