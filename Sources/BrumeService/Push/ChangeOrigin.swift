internal import BrumeModel

/// The user and the device that made a change. That device is not told of it.
///
/// A device's id is its client's word. So the user counts as well: a device that takes another user's id for its own
/// keeps nothing from that user's device.
package struct ChangeOrigin: Equatable, Sendable {
    /// The user, as subscriptions of the database name their owner: empty for the owner of a private one.
    let user: String
    /// 16 bytes; empty for a change of the server itself.
    let device: [UInt8]

    package static let server = ChangeOrigin(user: "", device: [])

    /// The device that an event for a user is not for; empty where it is for all of them.
    func device(of owner: String) -> [UInt8] { user == owner ? device : [] }
}

extension ChangeOrigin {
    init(_ identity: Identity, in database: DatabaseID) {
        user = identity.owns(database) ? "" : identity.userRecordName
        device = identity.deviceID
    }
}
