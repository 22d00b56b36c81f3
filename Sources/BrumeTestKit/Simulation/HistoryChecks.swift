internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeSystem

/// What a sealed token says, read with the simulated servers' key; see `TokenSealer`. Clients can't do this.
struct PeekedToken: Equatable {
    /// The run of the server that wrote the place.
    var epoch: UInt32
    var incarnation: UInt64
    var position: UInt64
    /// Where the history ended when the first fetch began that this token continues; 0 if it is not part of one.
    var firstFetchHead: UInt64
    /// Where the history ended when the page was made, if it was not the last; 0 if it was.
    var pageHead: UInt64
    var sequence: UInt64 { position >> 20 }
    /// Deletions after this position have to be known.
    var historyStart: UInt64 { max(position, firstFetchHead) }
    /// The last commit that the page before may have left out something for.
    var horizon: UInt64 { max(historyStart, pageHead) >> 20 }

    init?(_ bytes: [UInt8]) {
        let seal = DeterministicSeal(secret: SimulatedServer.key, label: TokenSealer.label)
        guard let parts = seal.open(bytes), parts.count == 45 || parts.count == 53 else { return nil }
        func number(_ range: Range<Int>) -> UInt64 { parts[range].reduce(0) { $0 << 8 | UInt64($1) } }
        epoch = UInt32(number(1..<5))
        incarnation = number(5..<13)
        position = number(13..<21)
        firstFetchHead = number(21..<29)
        pageHead = number(29..<37)
    }
}

/// What a page of a feed said, whatever it is a feed of.
struct FeedPage {
    /// Names and tags; zones have no tags.
    var live: [(name: String, tag: String)]
    var deleted: [String]
    var token: PeekedToken
    var moreComing: Bool
}

/// Checks of single answers against the commits. Each returns what is wrong, or nil.
extension CommitHistory.Timeline {
    /// A page holds each change between its tokens once, in its latest state, and nothing else (I2, I3, I4).
    ///
    /// - Parameters:
    ///   - touches: All changes of the feed.
    ///   - start: Where the page begins; nil for the first of a first fetch, which leaves out deletions from before it.
    ///   - seen: The last commit that anybody had seen when the page was asked for.
    ///   - isWhole: Whether pages end where commits end.
    static func problem(
        with page: FeedPage, touches: [CommitHistory.Touch], from start: PeekedToken?, seen: UInt64, isWhole: Bool
    ) -> String? {
        let begin = start?.position ?? 0
        let firstFetchHead = start.map(\.firstFetchHead) ?? page.token.position
        let end = page.token.position
        if end < begin { return "I3: a token went back from \(begin) to \(end)" }
        let names = page.live.map(\.name) + page.deleted
        if Set(names).count != names.count { return "I3: a page names something twice" }
        var last: [String: CommitHistory.Touch] = [:]
        for touch in touches { last[touch.name] = touch }
        for touch in last.values.sorted(by: { $0.position < $1.position })
        where touch.position > begin && touch.position <= end {
            if touch.isDeleted {
                if touch.position > firstFetchHead, !page.deleted.contains(touch.name) {
                    return "I3: the deletion of \(touch.name) in commit \(touch.sequence) is missing"
                }
            } else if !page.live.contains(where: { $0.name == touch.name && (touch.tag.isEmpty || $0.tag == touch.tag) }
            ) {
                return "I3: the change of \(touch.name) in commit \(touch.sequence) is missing"
            }
        }
        for (name, tag) in page.live {
            let isThere = touches.contains {
                $0.name == name && !$0.isDeleted && $0.tag == tag && $0.position > begin && $0.position <= end
            }
            if !isThere { return "I3: a page holds \(name) \(tag), which did not change between its tokens" }
        }
        for name in page.deleted {
            let isThere = touches.contains {
                $0.name == name && $0.isDeleted && $0.position > begin && $0.position <= end
            }
            if !isThere { return "I3: a page tells of a deletion of \(name) that did not happen between its tokens" }
        }
        if !page.moreComing, let known = touches.last(where: { $0.sequence <= seen }), known.position > end {
            return "I3: a page is the last one and ends before commit \(known.sequence), which was seen before"
        }
        if page.moreComing, isWhole,
            let rest = last.values.first(where: { $0.sequence == end >> 20 && $0.position > end })
        {
            return "I2: a page ends inside of commit \(rest.sequence)"
        }
        return nil
    }

    /// Whether `test` was true of the state after that commit, or after a later one.
    func wasTrue(since sequence: UInt64, _ test: (CommitHistory.State) -> Bool) -> Bool {
        states[Int(min(sequence, last))...].contains(where: test)
    }

    /// Whether a record had that version once.
    func hadVersion(_ name: String, tag: String) -> Bool {
        zoneTouches.values.contains { $0.contains { $0.name == name && $0.tag == tag } }
    }
}
