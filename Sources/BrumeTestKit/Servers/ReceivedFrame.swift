package import BrumeProtocol

/// A frame that a server sent to a test's client.
package struct ReceivedFrame: Sendable {
    package let type: FrameType
    package let isLast: Bool
    package let stream: UInt32
    package let payload: [UInt8]

    init(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        type = header.type
        isLast = header.isLast
        stream = header.stream
        self.payload = Array(payload)
    }
}
