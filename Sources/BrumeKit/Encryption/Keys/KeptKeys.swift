internal import BrumeEncryption

/// What a device keeps of an account's keys in one place.
struct KeptKeys: Sendable {
    /// The device's own keys, once a statement that the server took lists them.
    private(set) var device: KeyPairs?
    /// The account's statements as this device knows them, its pin.
    private(set) var known: KnownStatements?
    /// The keys under which the account's statements list this device; nil where it was never let in.
    private(set) var listedAs: PublicKeys?
    /// A statement of this device's that the server may or may not have.
    private(set) var pending: PendingStatement?
    /// A recovery code that nobody has been told yet.
    private(set) var code: RecoveryCode?

    /// A change of one file.
    enum Change: Sendable {
        case statements(KnownStatements, listedAs: PublicKeys?)
        case device(KeyPairs)
        case pending(PendingStatement?)
        case code(RecoveryCode?)

        var file: KeyFile {
            switch self {
            case .statements: .statements
            case .device: .device
            case .pending: .pending
            case .code: .code
            }
        }
    }

    mutating func apply(_ change: Change) {
        switch change {
        case .statements(let known, let listedAs): (self.known, self.listedAs) = (known, listedAs)
        case .device(let device): self.device = device
        case .pending(let pending): self.pending = pending
        case .code(let code): self.code = code
        }
    }

    /// What the account's statements have to be beside, and is not there; nil where nothing is missing.
    ///
    /// Statements are written before the keys that they list, and a statement that was sent is removed after both: any
    /// other combination is that of a folder that lost a file.
    var missingFile: KeyFile? {
        if device != nil, known == nil { return .statements }
        guard let listedAs else { return nil }
        let own = [device, pending?.device].compactMap { $0?.publicKeys }
        return own.contains(listedAs) ? nil : .device
    }
}

/// A statement that this device made, with the secrets that it lists: kept before it is sent, since the same one can't
/// be made again, and until the server has answered.
struct PendingStatement: Sendable {
    let signed: SignedStatement
    /// The hash of the last statement of the chain whose place it takes; empty for one that follows.
    var replacedHash: [UInt8] = []
    /// New keys of this device, which it lists.
    var device: KeyPairs?
    /// A new recovery code.
    var code: RecoveryCode?
}
