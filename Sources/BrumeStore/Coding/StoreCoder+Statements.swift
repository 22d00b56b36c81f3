internal import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// What stays known of statements that were replaced, in journal entries and snapshots.
extension StoreCoder {
    static func replacedStatements(
        _ message: UnsafeMutablePointer<Brume__Store__V1__ReplacedStatements>
    ) throws(StoreCodingError) -> ReplacedStatements {
        let replaced = ReplacedStatements(
            firstHash: message.pointee.first_hash.array, lastHash: message.pointee.last_hash.array)
        guard let replaced else { throw StoreCodingError("the hash of a statement has not 32 bytes") }
        return replaced
    }
}

extension MessageArena {
    func replacedStatements(_ replaced: ReplacedStatements) -> Pointer<Brume__Store__V1__ReplacedStatements> {
        let message = make(brume__store__v1__replaced_statements__init)
        message.pointee.first_hash = data(replaced.firstHash)
        message.pointee.last_hash = data(replaced.lastHash)
        return message
    }
}
