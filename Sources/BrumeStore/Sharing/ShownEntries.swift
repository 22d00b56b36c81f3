internal import BrumeModel

/// Changes of a zone in their order, as its feed has them, but for a share that stands elsewhere for the reader.
struct ShownEntries: Sequence, IteratorProtocol {
    private var entries: Feed.Entries
    private let quiet: QuietShare?
    private var held: Feed.Entry?
    private var isDue = false

    /// - Parameter quiet: Nil where all stands where the feed says.
    init(_ feed: Feed, after position: ChangePosition, _ quiet: QuietShare?) {
        entries = feed.entries(after: position)
        self.quiet = quiet
        guard let quiet else { return }
        isDue = quiet.shown > position
        held = nextOfOthers()
    }

    mutating func next() -> Feed.Entry? {
        guard let quiet else { return entries.next() }
        if isDue, held.map({ $0.position > quiet.shown }) ?? true {
            isDue = false
            return Feed.Entry(position: quiet.shown, slot: quiet.slot)
        }
        defer { held = nextOfOthers() }
        return held
    }

    private mutating func nextOfOthers() -> Feed.Entry? {
        while let entry = entries.next() {
            if entry.slot != quiet?.slot { return entry }
        }
        return nil
    }
}
