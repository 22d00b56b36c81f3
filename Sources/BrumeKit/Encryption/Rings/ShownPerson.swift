internal import BrumeEncryption

/// Somebody whose keys a server shows beside a ring, for a person to decide about.
struct ShownPerson: Hashable, Sendable {
    /// As the server shows them; nothing of this is kept.
    let statements: KnownStatements
    /// How this device knows these keys; nil where it does not.
    let trust: KnownStatements.Trust?
    /// Whether this device knows other keys of the user.
    let isOther: Bool
    /// Whether the ring's last entry names the user.
    let isMember: Bool
    /// Whether the user waits to be taken in.
    let isWaiting: Bool

    var user: String { statements.chain.last.scope.account }
}
