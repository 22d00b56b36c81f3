/// Cuts a byte stream into frames.
///
/// Whole frames are passed on straight from the received bytes; only an incomplete frame is copied and kept, so memory
/// is bounded by one frame. A header over the limit is refused before any of its payload is kept.
package struct FrameReader: ~Copyable {
    /// The limit of a frame's payload in bytes. Small until the peer has authenticated.
    package var payloadBytesLimit: Int

    /// The bytes of the incomplete frame that have arrived.
    private var partial: [UInt8] = []

    package init(payloadBytesLimit: Int) {
        self.payloadBytesLimit = payloadBytesLimit
    }

    /// The size of the incomplete frame, header included; until the header has arrived, the bytes that have; 0 when
    /// there is no such frame.
    package var frameByteCount: Int {
        guard partial.count >= FrameHeader.byteCount else { return partial.count }
        let payload = partial.withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self)) }
        return FrameHeader.byteCount + Int(payload)
    }

    /// Takes bytes as they arrive and calls `frame` for each whole frame. The payload is valid during the call.
    ///
    /// `frame` returns false to stop: the bytes after that frame are kept and delivered by the next call. `mayHandOn`
    /// is asked before each frame; when it returns false, that frame is kept as well.
    package mutating func read(
        _ bytes: UnsafeRawBufferPointer, mayHandOn: () -> Bool = { true },
        _ frame: (FrameHeader, UnsafeRawBufferPointer) -> Bool
    ) throws(FrameError) {
        if partial.isEmpty {
            let consumed = try consume(bytes, mayHandOn, frame)
            partial.append(contentsOf: bytes[consumed...])
            return
        }
        var rest = bytes
        while !partial.isEmpty {
            // Completes the kept frame first, so that a long run of small reads is copied once.
            let missing = try missingByteCount()
            let taken = min(missing, rest.count)
            // A peer that has sent an eighth of a frame is trusted to send the rest: growing step by step would copy
            // most of it once more.
            if missing > taken, missing <= 7 * (partial.count + taken) {
                partial.reserveCapacity(partial.count + missing)
            }
            partial.append(contentsOf: rest[rest.startIndex..<rest.startIndex + taken])
            rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
            if taken < missing { return }
            if try missingByteCount() > 0 { continue }
            let whole = partial
            partial.removeAll(keepingCapacity: whole.count <= Self.keptCapacity)
            var isStopped = false
            let consumed = whole.withUnsafeBytes { buffer in
                Result { () throws(FrameError) in
                    try consume(buffer) {
                        isStopped = !mayHandOn()
                        return !isStopped
                    } _: { header, payload in
                        let goesOn = frame(header, payload)
                        isStopped = !goesOn
                        return goesOn
                    }
                }
            }
            partial.append(contentsOf: whole[try consumed.get()...])
            if isStopped {
                partial.append(contentsOf: rest)
                return
            }
        }
        let consumed = try consume(rest, mayHandOn, frame)
        partial.append(contentsOf: rest[consumed...])
    }

    /// The largest buffer that is kept between frames: small, since every idle connection may keep one.
    private static let keptCapacity = 16 * 1024

    /// How many bytes the kept frame still needs; those of its header first.
    private func missingByteCount() throws(FrameError) -> Int {
        if partial.count < FrameHeader.byteCount { return FrameHeader.byteCount - partial.count }
        let limit = payloadBytesLimit
        let header = partial.withUnsafeBytes { buffer in
            Result { () throws(FrameError) in try FrameHeader(decoding: buffer, payloadBytesLimit: limit) }
        }
        return max(0, FrameHeader.byteCount + (try header.get()).payloadByteCount - partial.count)
    }

    /// Hands on the whole frames at the front of `bytes` and returns how many bytes they took.
    private func consume(
        _ bytes: UnsafeRawBufferPointer, _ mayHandOn: () -> Bool,
        _ frame: (FrameHeader, UnsafeRawBufferPointer) -> Bool
    ) throws(FrameError) -> Int {
        var offset = 0
        while bytes.count - offset >= FrameHeader.byteCount {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
            let header = try FrameHeader(decoding: rest, payloadBytesLimit: payloadBytesLimit)
            let end = FrameHeader.byteCount + header.payloadByteCount
            if rest.count < end || !mayHandOn() { break }
            offset += end
            let payload = UnsafeRawBufferPointer(rebasing: rest[FrameHeader.byteCount..<end])
            if !frame(header, payload) { break }
        }
        return offset
    }
}
