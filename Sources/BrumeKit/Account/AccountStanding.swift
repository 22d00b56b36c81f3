internal import BrumeModel

/// What an app may believe of its account, to tell it when that is not so any more.
///
/// Pure.
struct AccountStanding: Equatable, Sendable {
    private enum Belief: Equatable {
        /// It was told nothing yet, so nothing is news.
        case nothing
        /// It was told that the status could not be determined.
        case open
        case answer(AccountAnswer)
    }

    private var belief = Belief.nothing

    /// The server said something of the account; true when that is news to the app.
    mutating func answered(_ answer: AccountAnswer) -> Bool {
        defer { belief = .answer(answer) }
        switch belief {
        case .nothing: return false
        case .open: return true
        case .answer(let before): return before != answer
        }
    }

    /// The app asked, and the server could not be reached. What it said before still holds.
    mutating func remainedOpen() {
        if belief == .nothing { belief = .open }
    }
}
