internal import BrumeEncryption

/// Who can open an account's keys, by the newest statement that this device knows.
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
