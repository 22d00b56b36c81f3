/// Where a call stands in a trace that a client keeps: the `traceparent` of W3C Trace Context, level 1, section 3.2.
///
/// The server makes no spans of its own. Its log has the two ids, so that a call is found from the trace, and the trace
/// from a call.
package struct TraceParent: Hashable, Sendable {
    private let traceHigh: UInt64
    private let traceLow: UInt64
    private let parent: UInt64
    private let version: UInt8
    private let flags: UInt8

    /// Bytes of its text in version 00, the one there is.
    package static let byteCount = 55

    /// Nil for a text that is none, which a receiver leaves aside (section 3.2.4): it fails no call. Of a later version
    /// the parts are taken that version 00 has.
    package init?(_ text: borrowing Span<UInt8>) {
        func isDash(_ index: Int) -> Bool { text[index] == UInt8(ascii: "-") }
        guard text.count >= Self.byteCount, isDash(2), isDash(35), isDash(52),
            let version = Self.number(text, 0..<2), version != 0xFF,
            let high = Self.number(text, 3..<19), let low = Self.number(text, 19..<35), high | low != 0,
            let parent = Self.number(text, 36..<52), parent != 0,
            let flags = Self.number(text, 53..<55)
        else { return nil }
        if text.count > Self.byteCount, version == 0 || !isDash(Self.byteCount) { return nil }
        (traceHigh, traceLow, self.parent) = (high, low, parent)
        (self.version, self.flags) = (UInt8(version), UInt8(flags))
    }

    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        self.init(bytes.span)
    }

    /// 32 digits: the whole trace.
    package var traceID: String { Self.text(traceHigh, digits: 16) + Self.text(traceLow, digits: 16) }

    /// 16 digits: the client's span that made the call.
    package var parentID: String { Self.text(parent, digits: 16) }

    /// The whole, in the form of version 00.
    package var text: String {
        "\(Self.text(UInt64(version), digits: 2))-\(traceID)-\(parentID)-\(Self.text(UInt64(flags), digits: 2))"
    }

    /// Of digits in lower case alone, as the specification has them.
    private static func number(_ text: borrowing Span<UInt8>, _ range: Range<Int>) -> UInt64? {
        var number: UInt64 = 0
        for index in range {
            let digit: UInt8
            switch text[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = text[index] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = text[index] - UInt8(ascii: "a") + 10
            default: return nil
            }
            number = number << 4 | UInt64(digit)
        }
        return number
    }

    private static func text(_ number: UInt64, digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }
}
