package import BrumeModel

/// What opens a stream: a call on which both sides may send messages until one of them ends it.
package enum StreamRequest: Sendable {
    /// The events of the client's databases, from a position on; an empty one stands for the device's last
    /// acknowledgement.
    case notifications(position: [UInt8])
    case upload(UploadRequest)
    case download(DownloadRequest)
}

/// What a client sends on a stream that is open.
package enum StreamMessage: Sendable {
    /// The device has handled all events up to a position.
    case acknowledgement(position: [UInt8])
    /// The next bytes of an upload.
    case content([UInt8])
    /// The end of an upload, with the SHA-256 of all of it.
    case uploadEnd(AssetChecksum)
}

/// A stream as the door sees it that its client came in by. On the client's loop.
///
/// The door keeps it from its opening to the end of the call, whoever ends it: the service by ``Responder``, or the
/// client.
package protocol ServiceStream: AnyObject {
    /// The client sent a message.
    ///
    /// - Parameter credit: What the message counts. Give it to ``Responder/processed(_:)`` when the message has had its
    ///   effect, and not before: that bounds what a client may have under way.
    func received(_ message: StreamMessage, _ credit: StreamCredit)
    /// The client sends no more. The stream ends itself when its earlier messages have had their effect.
    func clientEnded()
    /// There may be room to send what ``ClientDoor/maySend(_:)`` held back.
    func resume()
    /// The call has ended. Called once, and nothing after it.
    func close()
    /// The server has gone away without closing anything: the stream lets go of what refers to it, in place of
    /// ``close()``.
    func abandon()
}

/// An event that a stream sends.
package struct StreamEvent: Sendable {
    /// The stream's sealed position after the event.
    package let position: [UInt8]
    /// An encoded `brume.v1.NotificationEvent` without its position, shared by all streams.
    package let message: [UInt8]
    /// Whether the client waits for it, as for an answer.
    package var isAwaited = false
}

/// Consecutive events for all streams that stand at one place, which are sent at once.
package final class StreamRun {
    /// Never empty.
    package let events: [StreamEvent]
    /// What a door made of the run for one stream, and may use for the next. It goes with the run.
    package var encoding: AnyObject?

    init(_ events: [StreamEvent]) {
        precondition(!events.isEmpty, "a run has events")
        self.events = events
    }
}
