import BrumeSystem
import BrumeTestKit
import Testing

@Suite("Lines of the log")
struct LogTests {
    @Test("text from outside brings no control characters, quotes or escapes of its own into a line")
    func escapes() {
        let lines = Lines()
        let log = lines.log(minimum: .info)
        log.info(
            "hello", [("a", "\u{9B}31m\u{85}\u{7F}\n\u{1B}"), ("b", "\\u{a}\""), ("c", "\u{A0}ü\u{2028}\u{202E}")])
        let line = lines.all[0]
        #expect(
            line.hasSuffix(
                "info hello a=\\u{9b}31m\\u{85}\\u{7f}\\u{a}\\u{1b} b=\\u{5c}u{a}\\u{22} c=\u{A0}ü\\u{2028}\\u{202e}"))
    }

    @Test("are objects of JSON where that is asked for, with nothing from outside that is none")
    func objects() {
        let lines = Lines()
        let log = Log(minimum: .info, format: .json) { lines.add($0) }
        log.warning("a \"b\"", [("path", "c:\\d\n\u{9B}"), ("ü", "1")])
        #expect(
            lines.all[0].hasSuffix(
                #""level":"warning","message":"a \u0022b\u0022","path":"c:\u005cd\u000a\u009b","ü":"1"}"#))
        #expect(lines.all[0].hasPrefix(#"{"time":"2"#))
    }
}
