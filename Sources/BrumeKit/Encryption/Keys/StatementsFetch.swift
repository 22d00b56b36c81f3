internal import BrumeEncryption
internal import BrumeModel

/// Reads an account's statements from a server, page by page, as `proto/README.md` has it in section 17.
///
/// Pure. Where some are known it begins with the last of them, so that the server shows it again; a server that has
/// fewer is asked for its last one.
struct StatementsFetch: Sendable {
    enum Step: Sendable {
        /// Ask for those behind this number.
        case ask(after: UInt32)
        case complete
        /// The statements changed while they were read: begin again with the first.
        case beginAgain
        /// A statement can't be read.
        case unreadable(EncryptionRefusal)
        /// The answer is none: a sentence's part that says why.
        case malformed(String)
    }

    /// How many statements before the shown ones were not asked for, since they are known.
    private(set) var base: Int
    /// The statements behind the base.
    private(set) var shown: [SignedStatement] = []
    private var last: UInt32?
    private var byteCount = 0

    /// - Parameter knownCount: How many are known; 0 to read all.
    init(knownCount: Int) { base = max(knownCount - 1, 0) }

    /// The number that the next page begins behind.
    var after: UInt32 { UInt32(base + shown.count) }

    mutating func pageCame(_ page: StatementsPage) -> Step {
        if let last, page.last < last, !shown.isEmpty { return .beginAgain }
        if shown.isEmpty, base > 0, Int(page.last) <= base {
            guard page.statements.isEmpty else { return .malformed("it has statements behind the last one") }
            last = page.last
            base = max(Int(page.last) - 1, 0)
            // Each time there are fewer, so that this ends.
            return page.last == 0 ? .complete : .ask(after: after)
        }
        last = page.last
        for bytes in page.statements {
            byteCount += bytes.count
            guard base + shown.count < KeyLimits.statementsMax, byteCount <= KeyLimits.statementBytesMax else {
                return .malformed("an account has more statements than it may have")
            }
            let signed: SignedStatement
            do throws(EncryptionRefusal) {
                signed = try SignedStatement(bytes.array)
            } catch {
                return .unreadable(error)
            }
            guard signed.statement.number == after + 1 else { return .beginAgain }
            shown.append(signed)
        }
        if after == page.last { return .complete }
        guard after < page.last, !page.statements.isEmpty else {
            return .malformed("it does not have the statements that it says there are")
        }
        return .ask(after: after)
    }
}
