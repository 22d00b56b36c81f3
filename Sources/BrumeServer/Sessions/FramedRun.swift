internal import BrumeProtocol
internal import BrumeService

/// A run's events in the frames of one stream. Devices that stand at one place mostly have streams of the same number,
/// and then share the bytes.
final class FramedRun {
    let stream: UInt32
    let bytes: [UInt8]
    /// The bytes without the frames' headers, which take no credit.
    let payloadByteCount: Int

    init(_ run: StreamRun, stream: UInt32) {
        var bytes: [UInt8] = []
        var payloadByteCount = 0
        for event in run.events {
            let position = MessageCoder.positionField(event.position)
            let payload = position.count + event.message.count
            FrameHeader(type: .message, stream: stream, payloadByteCount: payload).append(to: &bytes)
            bytes += position
            bytes += event.message
            payloadByteCount += payload
        }
        self.stream = stream
        self.bytes = bytes
        self.payloadByteCount = payloadByteCount
    }

    /// The frames of a run for a stream: those that were made for it last, if they fit.
    static func frames(of run: StreamRun, stream: UInt32) -> FramedRun {
        if let made = run.encoding as? FramedRun, made.stream == stream { return made }
        let framed = FramedRun(run, stream: stream)
        run.encoding = framed
        return framed
    }
}
