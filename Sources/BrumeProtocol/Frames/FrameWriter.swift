package import BrumeModel

/// Appends whole frames to a byte array.
package enum FrameWriter {
    /// Appends one frame.
    package static func append(
        _ type: FrameType, stream: UInt32 = 0, isLast: Bool = false, payload: [UInt8], to output: inout [UInt8]
    ) {
        let header = FrameHeader(type: type, stream: stream, isLast: isLast, payloadByteCount: payload.count)
        withUnsafeTemporaryAllocation(byteCount: FrameHeader.byteCount, alignment: 1) { buffer in
            header.encode(to: buffer)
            output.append(contentsOf: buffer)
        }
        output.append(contentsOf: payload)
    }

    /// One frame as an array of its own.
    package static func frame(
        _ type: FrameType, stream: UInt32 = 0, isLast: Bool = false, payload: [UInt8] = []
    ) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(FrameHeader.byteCount + payload.count)
        append(type, stream: stream, isLast: isLast, payload: payload, to: &output)
        return output
    }

    /// The payload of a credit frame.
    package static func creditPayload(_ credit: StreamCredit) -> [UInt8] {
        let numbers = UInt64(UInt32(clamping: credit.messages)) << 32 | UInt64(UInt32(clamping: credit.bytes))
        return withUnsafeBytes(of: numbers.bigEndian) { Array($0) }
    }

    /// The credit in a credit frame's payload, or nil when that isn't eight bytes.
    package static func credit(in payload: UnsafeRawBufferPointer) -> StreamCredit? {
        guard payload.count == 8 else { return nil }
        let numbers = UInt64(bigEndian: payload.loadUnaligned(as: UInt64.self))
        return StreamCredit(messages: Int(numbers >> 32), bytes: Int(UInt32(truncatingIfNeeded: numbers)))
    }
}
