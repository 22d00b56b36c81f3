internal import BrumeEncryption
internal import BrumeModel

extension CKContainer {
    /// Brume's addition: a device that has the account's encryption keys; see ``CKContainer/encryptionDevices()``.
    public struct EncryptionDevice: Identifiable, Hashable, Sendable {
        /// The name that the device gave itself (``BrumeConfiguration/deviceName``), or was given where it was let in;
        /// nil where this device can't read it, since it does not have the account's keys. Two devices may have the
        /// same.
        public let name: String?
        /// Whether it is the device that asked.
        public let isCurrent: Bool
        let keys: PublicKeys

        /// The same for one device whatever is known of its name; another one when it was removed and let in again.
        public var id: ID { ID(keys: keys) }

        /// A name for it that no other device has: the beginning of its public key, in hexadecimal digits.
        package var digits: String { keys.signing.prefix(8).hexadecimal }

        /// What tells devices apart.
        public struct ID: Hashable, Sendable {
            fileprivate let keys: PublicKeys
        }

        /// Whether both are the same device.
        public static func == (left: Self, right: Self) -> Bool { left.keys == right.keys }

        /// Hashes what tells devices apart.
        public func hash(into hasher: inout Hasher) { hasher.combine(keys) }
    }
}

extension CKContainer.EncryptionDevice: CustomStringConvertible, CustomReflectable {
    /// The device's name.
    public var description: String { "\(name ?? "a device")\(isCurrent ? " (this one)" : "")" }

    /// The name alone, for `dump`.
    public var customMirror: Mirror { Mirror(self, children: ["name": name as Any, "isCurrent": isCurrent]) }
}

extension CKContainer.EncryptionDevice {
    /// The devices of the account's newest statement.
    static func devices(_ standing: AccountKeysStateMachine.Standing, listedAs own: PublicKeys?) -> [Self] {
        let (statement, identity): (Statement, KeyPairs?)
        switch standing {
        case .available(let available): (statement, identity) = (available.statement, available.keys)
        case .noKeys(_, let chain): (statement, identity) = (chain.last, nil)
        case .notSetUp, .conflict: return []
        }
        return statement.devices.map { device in
            Self(
                name: identity.flatMap { DeviceName.open(device.name, of: device.keys, identity: $0) },
                isCurrent: identity != nil && device.keys == own, keys: device.keys)
        }
    }
}
