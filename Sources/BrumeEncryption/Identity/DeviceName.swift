/// Names of devices, which only the account's devices can read.
package enum DeviceName {
    static func seal(_ name: String, of device: PublicKeys, identity: KeyPairs) -> [UInt8] {
        var cut = name
        while cut.utf8.count > Limits.deviceNameBytes { cut.removeLast() }
        // A character can have any number of bytes.
        guard !cut.isEmpty else { return [] }
        return Seal.seal(Array(cut.utf8), data: data(device), key: key(identity))
    }

    /// The name; nil where there is none, or none that somebody with the identity gave.
    package static func open(_ sealed: [UInt8], of device: PublicKeys, identity: KeyPairs) -> String? {
        guard let name = try? Seal.open(sealed[...], data: data(device), key: key(identity)) else { return nil }
        return (1...Limits.deviceNameBytes).contains(name.count) ? String(validating: name, as: UTF8.self) : nil
    }

    private static func key(_ identity: KeyPairs) -> SecretKey { Digest.deriveKey(identity.seed, .deviceNameKey) }

    private static func data(_ device: PublicKeys) -> [UInt8] {
        var data = PartWriter(.deviceName)
        data.write(bytes: device.box)
        return data.bytes
    }
}
