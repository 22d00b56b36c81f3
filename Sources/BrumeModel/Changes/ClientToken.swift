/// An app's own bytes, which a device sent with its changes and gets back with the feeds of the zones that it changed.
package struct ClientToken: Equatable, Sendable {
    /// The id that the device's hello names.
    package var device: [UInt8]
    package var bytes: [UInt8]

    package init(device: [UInt8], bytes: [UInt8]) {
        self.device = device
        self.bytes = bytes
    }

    /// The bytes of it that count toward a quota.
    package var storedBytes: Int { device.count + bytes.count }

    /// Whether a zone may keep it.
    package var isUsable: Bool {
        !device.isEmpty && device.count <= 16 && !bytes.isEmpty && bytes.count <= Limits.clientTokenBytes
    }
}

/// A commit's client token, and the incarnations of the zones that keep it.
package struct ClientTokenPut: Equatable, Sendable {
    package var token: ClientToken
    package var zones: [UInt64]

    package init(token: ClientToken, zones: [UInt64]) {
        self.token = token
        self.zones = zones
    }
}
