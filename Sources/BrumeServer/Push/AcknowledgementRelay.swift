/// A stream's acknowledgements for the public database, which may belong to another loop: one is under way at a time,
/// and the newest of those that come meanwhile follows.
struct AcknowledgementRelay {
    typealias Place = NotificationPosition.Place

    /// The number of messages that the acknowledgement under way stands for; 0 when none is.
    private var underWay = 0
    private var next: (place: Place, count: Int)?
    /// The newest place that the device acknowledged.
    private var newest: Place?

    /// What to do with an acknowledgement.
    enum Action: Equatable {
        /// Send it, and call ``processed()`` when it has had its effect.
        case send(Place)
        /// It will follow, or a newer one in its place.
        case wait
        /// It repeats the one before it, which has had its effect.
        case ignore
    }

    mutating func received(_ place: Place) -> Action {
        if place == newest, underWay == 0 { return .ignore }
        newest = place
        guard underWay > 0 else {
            underWay = 1
            return .send(place)
        }
        next = (place, (next?.count ?? 0) + 1)
        return .wait
    }

    /// Ends the acknowledgement under way, which has had its effect, and begins the next one, if there is one. Returns
    /// how many messages the former stood for, and the next one to send.
    mutating func processed() -> (count: Int, next: Place?) {
        precondition(underWay > 0, "no acknowledgement is under way")
        defer {
            underWay = next?.count ?? 0
            next = nil
        }
        return (underWay, next?.place)
    }
}
