/// A record's version: the epoch and the sequence of the commit that wrote it.
///
/// The epoch tells tags of a restored backup's lost future from new ones with the same sequence. As text it is
/// `epoch-sequence` in base 36; clients treat it as opaque.
package struct ChangeTag: Hashable, Sendable {
    package let epoch: UInt32
    package let sequence: UInt64

    package init(epoch: UInt32, sequence: UInt64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// The tag that `text` spells, or nil for text that no server of ours made.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = UInt32(parts[0], radix: 36), let sequence = UInt64(parts[1], radix: 36)
        else {
            return nil
        }
        self.epoch = epoch
        self.sequence = sequence
    }

    package var text: String { String(epoch, radix: 36) + "-" + String(sequence, radix: 36) }
}
