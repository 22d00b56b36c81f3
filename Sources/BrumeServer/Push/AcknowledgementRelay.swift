/// A stream's acknowledgements in the public database, which may be another loop's: one is under way at a time, and of
/// those that come meanwhile the newest follows.
struct AcknowledgementRelay {
    typealias Place = NotificationPosition.Place

    /// Messages that the acknowledgement under way stands for; 0: none is.
    private var underWay = 0
    private var next: (place: Place, count: Int)?
    /// Where the device's acknowledgements stand.
    private var newest: Place?

    /// What is to be done with an acknowledgement.
    enum Action: Equatable {
        /// Send it, and call ``processed()`` when it has had its effect.
        case send(Place)
        /// It follows, or a newer one in its place.
        case wait
        /// It says what the one before it said: it has had its effect.
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

    /// The acknowledgement under way has had its effect, for so many messages. The next one, where there is one, is
    /// under way.
    mutating func processed() -> (count: Int, next: Place?) {
        precondition(underWay > 0, "no acknowledgement is under way")
        defer {
            underWay = next?.count ?? 0
            next = nil
        }
        return (underWay, next?.place)
    }
}
