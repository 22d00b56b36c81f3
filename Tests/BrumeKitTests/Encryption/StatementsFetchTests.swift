import BrumeEncryption
import BrumeModel
import Testing

@testable import BrumeKit

/// Pages of statements, from servers that change under the reader and from those that lie.
@Suite("Fetching an account's statements")
struct StatementsFetchTests {
    private let all: [SharedBytes]

    init() throws {
        let scope = IdentityScope(account: "_ada", container: "iCloud.test", environment: "development")
        var (identity, signed) = try Identity.first(
            scope: scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode())
        var all = [SharedBytes(signed.bytes)]
        for _ in 2...5 {
            (identity, signed) = try identity.replacingKeys()
            all.append(SharedBytes(signed.bytes))
        }
        self.all = all
    }

    /// The statements of these numbers, from a server that says that there are so many.
    private func page(_ numbers: ClosedRange<Int>?, of last: UInt32) -> StatementsPage {
        StatementsPage(
            statements: numbers.map { Array(all[($0.lowerBound - 1)...($0.upperBound - 1)]) } ?? [], last: last)
    }

    private func isAsking(_ step: StatementsFetch.Step, after number: UInt32) -> Bool {
        if case .ask(number) = step { true } else { false }
    }

    private func isComplete(_ step: StatementsFetch.Step) -> Bool { if case .complete = step { true } else { false } }
    private func beginsAgain(_ step: StatementsFetch.Step) -> Bool {
        if case .beginAgain = step { true } else { false }
    }
    private func isMalformed(_ step: StatementsFetch.Step) -> Bool { if case .malformed = step { true } else { false } }

    @Test("reads page after page, also where there are more at each")
    func pages() {
        var fetch = StatementsFetch(knownCount: 0)
        #expect(fetch.after == 0)
        #expect(isAsking(fetch.pageCame(page(1...2, of: 3)), after: 2))
        #expect(isAsking(fetch.pageCame(page(3...3, of: 5)), after: 3))
        #expect(isComplete(fetch.pageCame(page(4...5, of: 5))))
        #expect(fetch.base == 0 && fetch.shown.map(\.statement.number) == [1, 2, 3, 4, 5])
        var none = StatementsFetch(knownCount: 0)
        #expect(isComplete(none.pageCame(page(nil, of: 0))) && none.shown.isEmpty)
    }

    @Test("begins with the last statement that is known, and asks a server that has fewer for its last one")
    func known() {
        var fetch = StatementsFetch(knownCount: 4)
        #expect(fetch.after == 3)
        #expect(isComplete(fetch.pageCame(page(4...5, of: 5))) && fetch.base == 3 && fetch.shown.count == 2)

        var behind = StatementsFetch(knownCount: 4)
        #expect(isAsking(behind.pageCame(page(nil, of: 3)), after: 2))
        #expect(isAsking(behind.pageCame(page(nil, of: 2)), after: 1), "fewer again")
        #expect(isComplete(behind.pageCame(page(2...2, of: 2))) && behind.base == 1)

        var empty = StatementsFetch(knownCount: 4)
        #expect(isComplete(empty.pageCame(page(nil, of: 0))) && empty.base == 0 && empty.shown.isEmpty)

        // Somebody gives the server back what it lost.
        var filling = StatementsFetch(knownCount: 4)
        #expect(isAsking(filling.pageCame(page(nil, of: 1)), after: 0))
        #expect(isAsking(filling.pageCame(page(1...2, of: 3)), after: 2))
        #expect(isComplete(filling.pageCame(page(3...3, of: 3))))
    }

    @Test("begins again where statements went or were replaced between two pages")
    func changes() {
        var fewer = StatementsFetch(knownCount: 0)
        #expect(isAsking(fewer.pageCame(page(1...2, of: 5)), after: 2))
        #expect(beginsAgain(fewer.pageCame(page(3...4, of: 4))))
        var other = StatementsFetch(knownCount: 0)
        #expect(isAsking(other.pageCame(page(1...2, of: 5)), after: 2))
        #expect(beginsAgain(other.pageCame(page(1...3, of: 5))))
    }

    @Test("takes no answer that is none")
    func lies() {
        for (knownCount, answer) in [
            (0, page(nil, of: 3)), (0, page(1...3, of: 2)), (4, page(1...1, of: 2)), (4, page(4...5, of: 4)),
        ] {
            var fetch = StatementsFetch(knownCount: knownCount)
            #expect(isMalformed(fetch.pageCame(answer)), "\(answer.statements.count) of \(answer.last)")
        }
        var unreadable = StatementsFetch(knownCount: 0)
        guard case .unreadable(.damaged) = unreadable.pageCame(StatementsPage(statements: [SharedBytes([1])], last: 1))
        else { Issue.record("it can't be read"); return }
        // A server with numbers that never end is asked no longer than an honest one could have statements.
        var endless = StatementsFetch(knownCount: KeyLimits.statementsMax + 1)
        #expect(isMalformed(endless.pageCame(page(1...1, of: .max))))
    }
}
