/// How often a device of an account took part in an enrolment that came to nothing: each time somebody between the two
/// devices had one guess at thirty bits (Documentation/EncryptionFormats.md, section 9).
///
/// A device counts for itself, since the server may be the one that guesses.
struct EnrolmentGuesses: Sendable {
    /// After so many within the window none is begun.
    static let limit = 3
    static let windowMilliseconds: UInt64 = 3_600_000

    private var times: [UInt64] = []

    /// How long none is to be begun, in milliseconds; nil where one may be.
    func pause(at now: UInt64) -> UInt64? {
        let counted = times.filter { now < $0 + Self.windowMilliseconds }.sorted()
        guard counted.count >= Self.limit else { return nil }
        return counted[counted.count - Self.limit] + Self.windowMilliseconds - now
    }

    /// The devices have said all that a code is made of.
    mutating func count(at now: UInt64) {
        times.removeAll { now >= $0 + Self.windowMilliseconds }
        times.append(now)
    }

    /// What was counted at a time was no guess: both codes were right.
    mutating func succeeded(countedAt time: UInt64) {
        if let index = times.firstIndex(of: time) { times.remove(at: index) }
    }
}
