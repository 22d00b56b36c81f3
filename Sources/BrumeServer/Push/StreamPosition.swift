internal import BrumeModel

/// How far a device's stream has come: in its user's private database, and in the public one.
///
/// On the wire it is a token of the private database, whose unused fields hold the place in the public one. In
/// positions from before streams reported the public database those are zero.
struct NotificationPosition: Equatable, Sendable {
    /// A place in one database's events.
    struct Place: Equatable, Sendable {
        /// The run of the server that wrote the commit.
        var epoch: UInt32
        var position: ChangePosition
    }

    var privatePlace: Place
    /// The place in the public database; nil if the position has none.
    var publicPlace: Place?

    init(privatePlace: Place, publicPlace: Place?) {
        self.privatePlace = privatePlace
        self.publicPlace = publicPlace
    }

    init(_ token: ChangeToken) {
        privatePlace = Place(epoch: token.epoch, position: token.position)
        let publicEpoch = UInt32(truncatingIfNeeded: token.firstFetchHead.rawValue)
        if publicEpoch != 0 {
            publicPlace = Place(epoch: publicEpoch, position: ChangePosition(rawValue: token.incarnation))
        }
    }

    var token: ChangeToken {
        ChangeToken(
            kind: .notifications, epoch: privatePlace.epoch, incarnation: publicPlace?.position.rawValue ?? 0,
            position: privatePlace.position,
            firstFetchHead: ChangePosition(rawValue: UInt64(publicPlace?.epoch ?? 0)))
    }
}
