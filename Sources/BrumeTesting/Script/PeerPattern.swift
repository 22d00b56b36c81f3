internal import BrumeServer

/// A device as the server knows it.
struct ScriptedDevice: Hashable, Sendable {
    let name: String
    let id: [UInt8]
}

/// Whose calls and notifications a pattern means.
struct PeerPattern: Sendable {
    var account: String?
    var device: ScriptedDevice?

    func matches(_ peer: InterceptedPeer) -> Bool {
        if let account, account != peer.account { return false }
        if let device, device.id != peer.deviceID { return false }
        return true
    }

    var words: [String] {
        (account.map { ["account \($0)"] } ?? []) + (device.map { ["device \($0.name)"] } ?? [])
    }
}
