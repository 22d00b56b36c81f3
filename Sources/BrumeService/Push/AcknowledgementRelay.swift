internal import BrumeModel

/// A stream's acknowledgements for the public database, which may belong to another loop: one is under way at a time,
/// and the furthest of those that come meanwhile follows.
struct AcknowledgementRelay {
    typealias Place = StreamPosition.Place

    /// What the messages count that the acknowledgement under way stands for; nil when none is under way.
    private var underWay: StreamCredit?
    private var next: (place: Place, credit: StreamCredit)?
    /// The furthest place that the device acknowledged.
    private var furthest: Place?

    /// What to do with an acknowledgement.
    enum Action: Equatable {
        /// Send it, and call ``processed()`` when it has had its effect.
        case send(Place)
        /// It will follow, or one further on in its place.
        case wait
        /// It says nothing that has not had its effect.
        case ignore
    }

    /// - Parameter credit: What the message counts.
    mutating func received(_ place: Place, _ credit: StreamCredit) -> Action {
        let isFurther = furthest.map { $0.run != place.run || place.position > $0.position } ?? true
        if isFurther { furthest = place }
        guard underWay != nil else {
            if !isFurther { return .ignore }
            underWay = credit
            return .send(place)
        }
        var waiting = next?.credit ?? .none
        waiting += credit
        next = (furthest!, waiting)
        return .wait
    }

    /// Ends the acknowledgement under way, which has had its effect, and begins the next one, if there is one. Returns
    /// what the messages count that the former stood for, and the next one to send.
    mutating func processed() -> (credit: StreamCredit, next: Place?) {
        guard let done = underWay else { preconditionFailure("no acknowledgement is under way") }
        defer {
            underWay = next?.credit
            next = nil
        }
        return (done, next?.place)
    }
}
