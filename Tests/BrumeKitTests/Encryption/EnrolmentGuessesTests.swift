import Testing

@testable import BrumeKit

@Suite("A device's count of enrolments that came to nothing")
struct EnrolmentGuessesTests {
    private static let hour = EnrolmentGuesses.windowMilliseconds

    @Test("stops after three within an hour, until the first of them is an hour old")
    func window() {
        var guesses = EnrolmentGuesses()
        for time in [0, 1_000, 2_000] as [UInt64] {
            #expect(guesses.pause(at: time) == nil)
            guesses.count(at: time)
        }
        #expect(guesses.pause(at: 2_000) == Self.hour - 2_000)
        #expect(guesses.pause(at: Self.hour - 1) == 1)
        #expect(guesses.pause(at: Self.hour) == nil)
        guesses.count(at: Self.hour)
        #expect(guesses.pause(at: Self.hour) == 1_000)
        // Those that were begun beside each other count as well: the third but last says when.
        guesses.count(at: Self.hour)
        #expect(guesses.pause(at: Self.hour + 1_000) == 1_000)
        #expect(guesses.pause(at: Self.hour + 2_000) == nil)
    }

    @Test("does not count those of which both codes were right")
    func success() {
        var guesses = EnrolmentGuesses()
        for time in 0..<100 as Range<UInt64> {
            guesses.count(at: time)
            guesses.succeeded(countedAt: time)
        }
        #expect(guesses.pause(at: 100) == nil)
        for time in [200, 200, 201] as [UInt64] { guesses.count(at: time) }
        guesses.succeeded(countedAt: 200)
        #expect(guesses.pause(at: 202) == nil)
        guesses.succeeded(countedAt: 5)
        guesses.count(at: 202)
        #expect(guesses.pause(at: 202) == Self.hour - 2)
    }
}
