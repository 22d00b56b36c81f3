internal import BrumeEncryption
internal import BrumeModel

/// Who has keys of which zone, as it went to the journal.
extension CommitHistory {
    /// An entry of a ring as a device sent it.
    struct SentRingEntry {
        let device: [UInt8]
        let zone: String
        /// The last one that the device knew.
        let behind: SharedBytes?
        /// The last statement of the account that the device knew.
        let statement: SharedBytes
    }

    /// Takes a commit's change of a ring; returns what is wrong with it.
    func take(ring change: Change, of entry: JournalEntry, into state: inout State) -> String? {
        switch change {
        case .ringEntry(let zone, _, let number, let signed):
            let ring = state.rings[zone] ?? []
            guard number == ring.count + 1 else { return "I3: entry \(number) of a ring is kept behind \(ring.count)" }
            guard let sent = sentRingEntries[signed.array], sent.behind == ring.last,
                sent.zone == state.name(of: zone), state.statements.contains(sent.statement),
                mayCommit(sent.device, sequence: entry.sequence, in: entry.database)
            else { return "I11: entry \(number) of a ring is kept where no device meant it to stand" }
            state.rings[zone, default: []].append(signed)
        case .ringsEnd(let zone):
            if state.rings.removeValue(forKey: zone) == nil { return "I3: rings go where there are none" }
        default: preconditionFailure("the change is none of rings")
        }
        return nil
    }
}
