package import BrumeModel
package import BrumeSystem

/// A client that was let in and is on its way to its data: who it is, and its share of the server.
///
/// A door gets one with ``ServerCore/admit(_:from:isOperator:)`` on the loop where the client came in, goes to the loop
/// of ``ServerCore/home(of:)``, and there makes a client of it with ``Shard/enter(_:through:)``, which
/// ``Shard/leave(_:)`` ends. An entrance that never got so far is given back with ``ServerCore/giveUp(_:)``.
package struct Entrance {
    package let identity: Identity
    /// What the client's account, or its address, uses of the server at a time.
    package let share: ClientShare
}

extension ServerCore {
    /// Lets a client in as who it claims to be, or throws why it is refused.
    ///
    /// - Parameters:
    ///   - network: Where it comes from: clients without an account are counted by it.
    ///   - isOperator: Whether it came in by a way that only the operator has.
    package func admit(
        _ claim: Claim, from network: PeerNetwork, isOperator: Bool
    ) throws(ServiceError) -> Entrance {
        let identity = isOperator ? try authenticateOperator(claim) : try authenticate(claim)
        do throws(ServiceError) {
            return Entrance(identity: identity, share: try shares.enter(identity, from: network))
        } catch {
            closeContainer(of: identity)
            throw error
        }
    }

    /// The shard that a client belongs to.
    package func home(of entrance: Entrance) -> Shard { shard(at: entrance.identity.homePlacement) }

    /// A client that was let in has gone.
    package func giveUp(_ entrance: Entrance) {
        closeContainer(of: entrance.identity)
        shares.leave(entrance.share)
    }
}

extension Shard {
    /// A client has come to its data. Throws why it may not stay: its token may have been revoked on the way, or the
    /// server begun to stop; then the entrance is still to be given up.
    package func enter(_ entrance: Entrance, through door: any ClientDoor) throws(ServiceError) -> Client {
        guard server.isStillValid(entrance.identity) else { throw ServerCore.revokedToken }
        if server.isDraining { throw ServerCore.isStopping }
        let client = Client(
            entrance.identity, share: entrance.share, timeShare: timeShare(of: entrance.share.key), door: door)
        arrive(client)
        return client
    }
}
