internal import BrumeEncryption
internal import BrumeModel

/// What devices said of their accounts' keys, as it went to the journal.
extension CommitHistory {
    /// A statement as a device sent it.
    struct SentStatement {
        let device: [UInt8]
        /// The last one that the device knew.
        let behind: SharedBytes?
        /// The last of those whose place it is to take.
        let replaces: SharedBytes?
    }

    /// Notes that a device sends a statement.
    func sent(_ statement: SharedBytes, by device: [UInt8], behind: SharedBytes?, replaces: SharedBytes? = nil) {
        sentStatements[statement.array, default: []].append(
            SentStatement(device: device, behind: behind, replaces: replaces))
    }

    /// Takes a commit's change of statements; returns what is wrong with it.
    func take(_ change: Change, of entry: JournalEntry, into state: inout State) -> String? {
        switch change {
        case .statement(let number, let statement):
            guard number == state.statements.count + 1 else {
                return "I3: statement \(number) is kept behind \(state.statements.count)"
            }
            // The last commit that may be a device's of which the server is through.
            let senders = sentStatements[statement.array, default: []].filter { sent in
                mayCommit(sent.device, sequence: entry.sequence, in: entry.database)
            }
            guard
                senders.contains(where: {
                    $0.replaces == state.vacated && (state.vacated != nil || $0.behind == state.statements.last)
                })
            else { return "I11: statement \(number) is kept where no device meant it to stand" }
            state.vacated = nil
            state.statements.append(statement)
            if number == 1, state.replaced.contains(where: { $0.firstHash == Self.hash(statement) }) {
                return "I11: a first statement came back that was replaced"
            }
        case .statementsReplaced(let replaced):
            guard let first = state.statements.first, let last = state.statements.last,
                replaced.firstHash == Self.hash(first), replaced.lastHash == Self.hash(last)
            else { return "I3: other statements are replaced than there are" }
            guard state.rings.isEmpty else { return "I3: statements are replaced, and keys are still named by rings" }
            state.replaced.append(replaced)
            state.statements = []
            state.vacated = last
        default:
            state.statements = []
            state.replaced = []
        }
        return nil
    }

    static func hash(_ statement: SharedBytes) -> [UInt8]? { try? Statement.hash(kept: statement.array) }
}
