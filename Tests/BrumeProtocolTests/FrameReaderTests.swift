import BrumeProtocol
import Testing

/// Frames as they were read: header and payload.
private struct ReadFrame: Equatable {
    var header: FrameHeader
    var payload: [UInt8]
}

private func read(_ chunks: [[UInt8]], limit: Int = 1000) throws(FrameError) -> [ReadFrame] {
    var reader = FrameReader(payloadBytesLimit: limit)
    var frames: [ReadFrame] = []
    for chunk in chunks {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk.count, alignment: 1)
        defer { buffer.deallocate() }
        buffer.copyBytes(from: chunk)
        try reader.read(UnsafeRawBufferPointer(buffer)) { header, payload in
            frames.append(ReadFrame(header: header, payload: Array(payload)))
            return true
        }
    }
    return frames
}

@Suite struct FrameReaderTests {
    private let bytes: [UInt8] =
        FrameWriter.frame(.call, stream: 7, payload: [1, 2, 3])
        + FrameWriter.frame(.message, stream: 7, isLast: true, payload: Array(repeating: 9, count: 300))
        + FrameWriter.frame(.ping, payload: Array(0..<8)) + FrameWriter.frame(.cancel, stream: 7)

    private var expected: [ReadFrame] {
        [
            ReadFrame(header: FrameHeader(type: .call, stream: 7, payloadByteCount: 3), payload: [1, 2, 3]),
            ReadFrame(
                header: FrameHeader(type: .message, stream: 7, isLast: true, payloadByteCount: 300),
                payload: Array(repeating: 9, count: 300)),
            ReadFrame(header: FrameHeader(type: .ping, payloadByteCount: 8), payload: Array(0..<8)),
            ReadFrame(header: FrameHeader(type: .cancel, stream: 7, payloadByteCount: 0), payload: []),
        ]
    }

    @Test("frames read whole are the frames written") func whole() throws {
        #expect(try read([bytes]) == expected)
    }

    @Test("frames read byte by byte are the frames written") func byteByByte() throws {
        #expect(try read(bytes.map { [$0] }) == expected)
    }

    @Test("frames cut in two at any place are the frames written") func cutAnywhere() throws {
        for cut in 0...bytes.count {
            #expect(try read([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected)
        }
    }

    @Test("a truncated frame is never handed on") func truncated() throws {
        for end in 0..<bytes.count {
            let frames = try read([Array(bytes[..<end])])
            #expect(frames == Array(expected.prefix(frames.count)))
            #expect(frames.count < expected.count)
        }
    }

    @Test("a header over the limit is refused before its payload arrives") func overLimit() {
        let header = Array(FrameWriter.frame(.message, stream: 1, payload: Array(repeating: 0, count: 1001)).prefix(10))
        #expect(throws: FrameError.tooLarge(byteCount: 1001, limit: 1000)) { try read([header]) }
        #expect(throws: FrameError.tooLarge(byteCount: 1001, limit: 1000)) { try read(header.map { [$0] }) }
    }

    @Test("an unknown type and an unknown flag are refused") func unknown() {
        #expect(throws: FrameError.unknownType(11)) { try read([[0, 0, 0, 0, 11, 0, 0, 0, 0, 0]]) }
        #expect(throws: FrameError.unknownFlags(2)) { try read([[0, 0, 0, 0, 4, 2, 0, 0, 0, 1]]) }
    }

    @Test("a reader that is stopped keeps the frames behind and hands them on later") func stopped() throws {
        for cut in 0...bytes.count {
            var reader = FrameReader(payloadBytesLimit: 1000)
            var types: [FrameType] = []
            for chunk in [Array(bytes[..<cut]), Array(bytes[cut...])] {
                try chunk.withUnsafeBytes { buffer in
                    try reader.read(buffer) { header, _ in
                        types.append(header.type)
                        return false
                    }
                }
            }
            for _ in 0..<expected.count {
                try reader.read(UnsafeRawBufferPointer(start: nil, count: 0)) { header, _ in
                    types.append(header.type)
                    return false
                }
            }
            #expect(types == [.call, .message, .ping, .cancel])
            // A noncopyable value's property can't stand in the macro itself.
            let keptByteCount = reader.frameByteCount
            #expect(keptByteCount == 0)
        }
    }
}
