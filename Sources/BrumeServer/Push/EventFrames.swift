internal import BrumeModel
internal import BrumeWire

/// Events as streams send them: with their sealed positions, in frames.
///
/// Devices that stand at one place get the same bytes, where their streams have the same number, as those of most do: the frames of
/// the last run are kept, so that a thousand devices cost one encoding and a copy each. Belongs to one loop.
final class EventFrames {
    let sealer: PositionSealer
    private var last: (run: NotificationRun, publicPlace: NotificationPosition.Place?, stream: UInt32, scope: [UInt8])?
    private var lastBytes: [UInt8] = []

    init(_ sealer: PositionSealer) {
        self.sealer = sealer
    }

    /// The frames of a run for a stream.
    ///
    /// - Parameter position: The stream's.
    func frames(
        of run: NotificationRun, behind position: NotificationPosition, stream: UInt32, scope: [UInt8]
    ) -> [UInt8] {
        if let last, last.run === run, last.stream == stream, last.publicPlace == position.publicPlace,
            last.scope == scope
        {
            return lastBytes
        }
        var position = position
        var bytes: [UInt8] = []
        for delivery in run.deliveries {
            position.privatePlace = delivery.place
            let field = sealer.field(for: position, scope: scope)
            FrameHeader(type: .message, stream: stream, payloadByteCount: field.count + delivery.message.count)
                .append(to: &bytes)
            bytes += field
            bytes += delivery.message
        }
        last = (run, position.publicPlace, stream, scope)
        lastBytes = bytes
        return bytes
    }
}
