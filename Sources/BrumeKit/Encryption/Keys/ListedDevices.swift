internal import BrumeEncryption

/// The devices and the recovery code that an account's newest known statement seals its keys to.
struct ListedDevices: Equatable, Sendable {
    private let devices: Set<PublicKeys>
    private let codeKey: [UInt8]

    /// - Parameter statements: Nil for none.
    init?(_ statements: KnownStatements?) {
        guard let last = statements?.chain.last else { return nil }
        devices = Set(last.devices.map(\.keys))
        codeKey = last.codeKey
    }
}
