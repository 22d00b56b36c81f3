import BrumeSystem
import BrumeTestKit
import Testing

@Suite("Lines of the log")
struct LogTests {
    @Test("text from outside brings no control characters, quotes or escapes of its own into a line")
    func escapes() {
        let lines = Lines()
        let log = lines.log(minimum: .info)
        log.info("hello", [("a", "\u{9B}31m\u{85}\u{7F}\n\u{1B}"), ("b", "\\u{a}\""), ("c", "\u{A0}ü")])
        let line = lines.all[0]
        #expect(
            line.hasSuffix(
                "info hello a=\\u{9b}31m\\u{85}\\u{7f}\\u{a}\\u{1b} b=\\u{5c}u{a}\\u{22} c=\u{A0}ü"))
    }
}
