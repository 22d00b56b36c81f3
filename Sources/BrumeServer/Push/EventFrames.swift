internal import BrumeModel
internal import BrumeProtocol

/// Events as streams send them: with their sealed positions, in frames.
///
/// Devices at the same place get the same bytes if their streams have the same number, as most do: the frames of the
/// last run are kept for the turn, so that a thousand devices cost one encoding and a copy each. If only the numbers
/// differ, the seals are used again. Belongs to one loop.
final class EventFrames {
    let sealer: PositionSealer
    private var sealed: Sealed?
    private var stream: UInt32 = 0
    private var bytes: [UInt8] = []

    /// A run's positions for devices that stand at one place in both databases.
    private struct Sealed {
        let run: NotificationRun
        let publicPlace: NotificationPosition.Place?
        let scope: [UInt8]
        /// For each event the field that stands before it.
        let fields: [[UInt8]]
    }

    init(_ sealer: PositionSealer) {
        self.sealer = sealer
    }

    /// The frames of a run for a stream.
    ///
    /// - Parameter position: The stream's position.
    func frames(
        of run: NotificationRun, behind position: NotificationPosition, stream: UInt32, scope: [UInt8]
    ) -> [UInt8] {
        let isSealed = sealed.map {
            $0.run === run && $0.publicPlace == position.publicPlace && $0.scope == scope
        }
        if isSealed != true {
            sealed = seal(run, behind: position, scope: scope)
        } else if stream == self.stream {
            return bytes
        }
        self.stream = stream
        bytes = frame(run, sealed!.fields, stream: stream)
        return bytes
    }

    /// Forgets the turn's events, which have been delivered.
    func forget() {
        sealed = nil
        bytes = []
    }

    private func seal(_ run: NotificationRun, behind position: NotificationPosition, scope: [UInt8]) -> Sealed {
        var position = position
        let fields = run.deliveries.map { delivery in
            position.privatePlace = delivery.place
            return sealer.field(for: position, scope: scope)
        }
        return Sealed(run: run, publicPlace: position.publicPlace, scope: scope, fields: fields)
    }

    private func frame(_ run: NotificationRun, _ fields: [[UInt8]], stream: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        for (delivery, field) in zip(run.deliveries, fields) {
            FrameHeader(type: .message, stream: stream, payloadByteCount: field.count + delivery.message.count)
                .append(to: &bytes)
            bytes += field
            bytes += delivery.message
        }
        return bytes
    }
}
