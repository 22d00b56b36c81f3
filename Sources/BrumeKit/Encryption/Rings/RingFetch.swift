internal import BrumeEncryption
internal import BrumeModel

/// Reads all entries of a ring from a server, page by page, as `proto/README.md` has it in section 18. Pure.
struct RingFetch: Sendable {
    enum Step: Sendable {
        /// Ask for those behind this number.
        case ask(after: UInt32)
        case complete
        /// The ring changed while it was read: begin again.
        case beginAgain
        /// An entry can't be read.
        case unreadable(EncryptionRefusal)
        /// The answer is none: a sentence's part that says why.
        case malformed(String)
    }

    private(set) var shown: [SignedRingEntry] = []
    /// As the last page has it.
    private(set) var news = RingNews()
    private var last: UInt32?
    private var byteCount = 0

    var after: UInt32 { UInt32(shown.count) }

    mutating func pageCame(_ page: RingPage) -> Step {
        if let last, page.last < last { return .beginAgain }
        last = page.last
        news = RingNews(page)
        for bytes in page.entries {
            byteCount += bytes.count
            guard shown.count < KeyLimits.ringEntriesMax, byteCount <= KeyLimits.ringBytesMax else {
                return .malformed("a zone's ring has more entries than it may have")
            }
            let signed: SignedRingEntry
            do throws(EncryptionRefusal) {
                signed = try SignedRingEntry(bytes.array)
            } catch {
                return .unreadable(error)
            }
            guard signed.entry.number == after + 1 else { return .beginAgain }
            shown.append(signed)
        }
        if after == page.last { return .complete }
        guard after < page.last, !page.entries.isEmpty else {
            return .malformed("it does not have the entries that it says there are")
        }
        return .ask(after: after)
    }
}
