import BrumeEncryption
import BrumeModel
import Testing

@testable import BrumeKit

@Suite("Fetching a zone's ring")
struct RingFetchTests {
    private let first: SignedRingEntry
    /// Where an entry's number stands in its bytes.
    private let numberOffset: Int

    init() throws {
        let scope = IdentityScope(account: "_ada", container: "iCloud.test", environment: "development")
        let (identity, _) = try Identity.first(
            scope: scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode())
        var statements = StatementDirectory()
        statements.add(identity.chain)
        let ring = try RingName(
            place: Place(
                container: scope.container, environment: scope.environment, owner: scope.account, zone: "Diary",
                ringID: Place.newRingID()))
        let owner = RingMember(user: scope.account, statementHash: identity.statement.hash, role: .owner)
        first = try RingAuthor(user: scope.account, identity: identity.keys, statements: statements)
            .begin(ring, RingDraft(members: [owner])).entries[0]
        let bytes = first.bytes
        let id = ring.place.ringID
        let offset = try #require(bytes.indices.first { bytes[$0...].starts(with: id) })
        // Behind the id: the kind, and the empty name of the root with its length.
        numberOffset = offset + id.count + 5
    }

    /// An entry that is well-formed, with a number.
    private func entry(_ number: UInt32) -> SharedBytes {
        var bytes = first.bytes
        withUnsafeBytes(of: number.littleEndian) { bytes.replaceSubrange(numberOffset..<numberOffset + 4, with: $0) }
        return SharedBytes(bytes)
    }

    private func page(_ numbers: ClosedRange<UInt32>?, of last: UInt32) -> RingPage {
        RingPage(entries: numbers.map { $0.map(entry) } ?? [], last: last)
    }

    private func isAsking(_ step: RingFetch.Step, after number: UInt32) -> Bool {
        if case .ask(number) = step { true } else { false }
    }
    private func isComplete(_ step: RingFetch.Step) -> Bool { if case .complete = step { true } else { false } }
    private func beginsAgain(_ step: RingFetch.Step) -> Bool { if case .beginAgain = step { true } else { false } }
    private func isMalformed(_ step: RingFetch.Step) -> Bool { if case .malformed = step { true } else { false } }

    @Test("reads page after page, also where there are more at each")
    func pages() {
        var fetch = RingFetch()
        #expect(fetch.after == 0)
        #expect(isAsking(fetch.pageCame(page(1...2, of: 3)), after: 2))
        #expect(isAsking(fetch.pageCame(page(3...3, of: 5)), after: 3))
        #expect(isComplete(fetch.pageCame(page(4...5, of: 5))))
        #expect(fetch.shown.map(\.entry.number) == [1, 2, 3, 4, 5])
        var none = RingFetch()
        #expect(isComplete(none.pageCame(page(nil, of: 0))) && none.shown.isEmpty)
    }

    @Test("begins again where entries went or were replaced between two pages")
    func changes() {
        var fewer = RingFetch()
        #expect(isAsking(fewer.pageCame(page(1...2, of: 5)), after: 2))
        #expect(beginsAgain(fewer.pageCame(page(3...4, of: 4))))
        var other = RingFetch()
        #expect(isAsking(other.pageCame(page(1...2, of: 5)), after: 2))
        #expect(beginsAgain(other.pageCame(page(1...2, of: 5))))
        var skipped = RingFetch()
        #expect(beginsAgain(skipped.pageCame(page(2...3, of: 3))))
    }

    @Test("takes no answer that is none, and none without end")
    func lies() {
        for answer in [page(nil, of: 3), page(1...3, of: 2)] {
            var fetch = RingFetch()
            #expect(isMalformed(fetch.pageCame(answer)), "\(answer.entries.count) of \(answer.last)")
        }
        var unreadable = RingFetch()
        guard case .unreadable(.damaged) = unreadable.pageCame(RingPage(entries: [SharedBytes([1])], last: 1)) else {
            Issue.record("it can't be read"); return
        }
        var large = RingFetch()
        let bytes = SharedBytes([UInt8](repeating: 0, count: KeyLimits.ringBytesMax + 1))
        #expect(isMalformed(large.pageCame(RingPage(entries: [bytes], last: 1))))
    }

    @Test("reads as many entries as a ring can have, and not one more")
    func endless() {
        var fetch = RingFetch()
        let most = UInt32(KeyLimits.ringEntriesMax)
        #expect(isAsking(fetch.pageCame(page(1...most, of: .max)), after: most))
        #expect(isMalformed(fetch.pageCame(page((most + 1)...(most + 1), of: .max))))
    }
}
