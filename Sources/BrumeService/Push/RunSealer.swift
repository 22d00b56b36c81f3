internal import BrumeModel

/// Seals the positions behind the events of a run, which are those of a private database.
///
/// Devices that stand at the same place in all sources get the same bytes: what was sealed last is kept while
/// devices are given events, so that a thousand devices cost one sealing and a copy each. Belongs to one loop.
final class RunSealer {
    let sealer: PositionSealer
    private var last: Sealed?
    /// The runs that were sealed, without those that were kept.
    private(set) var sealedCount: UInt64 = 0

    private struct Sealed {
        let run: NotificationRun
        /// What the positions hold of other sources.
        let rest: StreamPosition
        let scope: [UInt8]
        let streamRun: StreamRun
    }

    init(_ sealer: PositionSealer) {
        self.sealer = sealer
    }

    /// The run as a stream sends it.
    ///
    /// - Parameter position: The stream's position.
    func seal(_ run: NotificationRun, behind position: StreamPosition, scope: [UInt8]) -> StreamRun {
        let rest = position.without(.privateDatabase)
        if let last, last.run === run, last.rest == rest, last.scope == scope { return last.streamRun }
        sealedCount += 1
        var position = position
        let events = run.deliveries.map { delivery in
            position[.privateDatabase] = delivery.place
            return StreamEvent(position: sealer.seal(position, scope: scope), message: delivery.message)
        }
        let streamRun = StreamRun(events)
        last = Sealed(run: run, rest: rest, scope: scope, streamRun: streamRun)
        return streamRun
    }

    /// Forgets the events, which have been given to devices.
    func forget() { last = nil }
}
