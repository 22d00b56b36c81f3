import BrumeProtocol
import Testing

@Suite("A trace's parent")
struct TraceParentTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let text = "00-\(trace)-00f067aa0ba902b7-01"

    @Test("is read as the specification writes it, and written the same")
    func read() throws {
        let parent = try #require(TraceParent(Self.text))
        #expect(parent.traceID == Self.trace && parent.parentID == "00f067aa0ba902b7" && parent.text == Self.text)
        for text in [
            "00-00000000000000000000000000000001-0000000000000001-00",
            "00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-ff",
            "fe-80000000000000000000000000000000-8000000000000000-10",
        ] {
            #expect(TraceParent(text)?.text == text)
        }
    }

    @Test("of a later version is taken for the parts that are known")
    func later() {
        let later = "cc" + Self.text.dropFirst(2)
        #expect(TraceParent(later)?.text == later)
        #expect(TraceParent(later + "-what-the-future-brings")?.text == later)
        #expect(TraceParent(later + "x") == nil)
    }

    @Test("that is malformed is none")
    func malformed() {
        let bytes = Array(Self.text.utf8)
        for count in 0..<bytes.count { #expect(TraceParent(String(decoding: bytes[..<count], as: UTF8.self)) == nil) }
        // Each byte is a digit in lower case, or a dash where one belongs.
        for index in bytes.indices {
            for wrong in ["g", "A", "F", " ", "\0", bytes[index] == UInt8(ascii: "-") ? "0" : "-"] {
                var damaged = bytes
                damaged[index] = wrong.utf8.first!
                #expect(TraceParent(String(decoding: damaged, as: UTF8.self)) == nil, "\(index) \(wrong)")
            }
        }
        for text in [
            Self.text + "-", Self.text + "0", Self.text + "\0", "ff" + Self.text.dropFirst(2),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-\(Self.trace)-0000000000000000-01",
            Self.text.uppercased(), " " + Self.text,
        ] {
            #expect(TraceParent(text) == nil, "\(text)")
        }
    }
}
