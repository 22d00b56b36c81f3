internal import BrumeStore
internal import BrumeSystem
internal import Glibc
internal import Testing

@testable internal import brume

@Suite("Output suits who reads it")
struct OutputTests {
    @Test("a bar is drawn on a terminal, ten times a second at most")
    func bar() {
        var bar = ProgressBar(title: "import", total: 200, unit: "records", isTerminal: true, nowNanoseconds: 0)
        let line = bar.advanced(to: 50, nowNanoseconds: 1_000_000_000, columns: 80)
        #expect(line?.contains("█") == true)
        #expect(line?.hasSuffix("25% 50 records, 50/s") == true)
        #expect(bar.advanced(to: 60, nowNanoseconds: 1_050_000_000, columns: 80) == nil)
        #expect(bar.advanced(to: 60, nowNanoseconds: 1_100_000_000, columns: 20)?.contains("█") == false)
        #expect(bar.finished() == "\r\u{1B}[K")
    }

    @Test("elsewhere there is a line every five seconds")
    func lines() {
        var bar = ProgressBar(title: "import", total: 0, unit: "records", isTerminal: false, nowNanoseconds: 0)
        #expect(bar.advanced(to: 1, nowNanoseconds: 4_999_999_999, columns: 80) == nil)
        #expect(bar.advanced(to: 10, nowNanoseconds: 5_000_000_000, columns: 80) == "import: 100% 10 records, 2/s\n")
        #expect(bar.finished().isEmpty)
    }

    @Test("what the system forbids ends with the code for that, and says as whom it works")
    func forbidden() {
        let errors: [any Error] = [
            SystemError(call: "opendir", errno: EACCES, context: "d1"),
            DiskError(call: "open", path: "journal", message: "Permission denied", isForbidden: true),
        ]
        for error in errors {
            let described = CommandError(describing: error)
            #expect(described.code == .notPermitted && described.hint.contains("as the server's user"))
        }
        let missing = CommandError(describing: SystemError(call: "opendir", errno: ENOENT, context: "d1"))
        #expect(missing.code == .failed && missing.hint.isEmpty)
    }

    @Test("what others have named is shown without what commands a terminal")
    func printable() {
        let named = "phone\u{1B}[2J\u{9B}31m\u{202E}\u{2028}\r\n\u{7}é\u{1F468}\u{200D}\u{1F469}"
        let shown = "phone\u{FFFD}[2J\u{FFFD}31m\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}é\u{1F468}\u{200D}\u{1F469}"
        #expect(named.printable() == shown)
        #expect("one\n\ttwo\r".printable(keepsLines: true) == "one\n\ttwo\u{FFFD}")
    }

    @Test("colours go with NO_COLOR and dumb terminals")
    func colours() {
        #expect(Style.allows([:]))
        #expect(!Style.allows(["NO_COLOR": "1"]))
        #expect(!Style.allows(["TERM": "dumb"]))
        #expect(Style.plain.red("x") == "x")
        #expect(Style(isColoured: true).red("x") == "\u{1B}[31mx\u{1B}[0m")
    }

    @Test("errors of a load are counted by their code, each with the sentence that came most often")
    func loadErrors() {
        let errors = LoadText.errorsByCode([
            "quotaExceeded: 5 bytes are left": 1, "quotaExceeded: 7 bytes are left": 3, "not sent": 2,
            "connection lost: it ended": 2,
        ])
        #expect(errors.map(\.code) == ["quotaExceeded", "connection lost", "not sent"])
        #expect(errors.map(\.count) == [4, 2, 2])
        #expect(errors.map(\.example) == ["7 bytes are left", "it ended", ""])
    }
}
