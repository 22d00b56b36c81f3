internal import BrumeKit
internal import BrumeServer
internal import BrumeService

/// A device as the server knows it: by an id that is another one for each account.
struct ScriptedDevice: Sendable {
    let name: String
    let container: CKContainer

    /// Of the account that is signed in at the moment.
    var id: [UInt8] { (try? container.deviceID()) ?? [] }
}

/// Whose calls and notifications a pattern means.
struct PeerPattern: Sendable {
    var account: String?
    var device: ScriptedDevice?

    func matches(_ peer: InterceptedPeer) -> Bool { matches(account: peer.account, deviceID: peer.deviceID) }

    func matches(account: String?, deviceID: [UInt8]) -> Bool {
        if let wanted = self.account, wanted != account { return false }
        if let device, device.id != deviceID { return false }
        return true
    }

    var words: [String] {
        (account.map { ["account \($0)"] } ?? []) + (device.map { ["device \($0.name)"] } ?? [])
    }
}
