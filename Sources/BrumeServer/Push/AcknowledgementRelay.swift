internal import BrumeModel

/// A stream's acknowledgements for the public database, which may belong to another loop: one is under way at a time,
/// and the newest of those that come meanwhile follows.
struct AcknowledgementRelay {
    typealias Place = StreamPosition.Place

    /// What the messages count that the acknowledgement under way stands for; nothing when none is.
    private var underWay = StreamCredit.none
    private var next: (place: Place, credit: StreamCredit)?
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

    /// - Parameter credit: What the message counts.
    mutating func received(_ place: Place, _ credit: StreamCredit) -> Action {
        if place == newest, underWay == .none { return .ignore }
        newest = place
        guard underWay != .none else {
            underWay = credit
            return .send(place)
        }
        var waiting = next?.credit ?? .none
        waiting += credit
        next = (place, waiting)
        return .wait
    }

    /// Ends the acknowledgement under way, which has had its effect, and begins the next one, if there is one. Returns
    /// what the messages count that the former stood for, and the next one to send.
    mutating func processed() -> (credit: StreamCredit, next: Place?) {
        precondition(underWay != .none, "no acknowledgement is under way")
        defer {
            underWay = next?.credit ?? .none
            next = nil
        }
        return (underWay, next?.place)
    }
}
