/// The keys that each statement of an account's chain names: all that rings ask of it, without its devices and boxes.
///
/// A statement takes about ``approximateBytesPerStatement`` here, whatever it lists.
package struct StatementKeys: Sendable {
    package static let approximateBytesPerStatement = 200

    package let scope: IdentityScope
    let firstHash: [UInt8]
    /// The hashes of the statements, in their order: some hundreds at the most, which are looked through.
    private var hashes: [InlineHash] = []
    /// The keys that the account had, each with the index of the first statement that names them.
    private var keys: [(first: Int32, keys: PublicKeys)] = []
    package private(set) var newestHash: [UInt8]

    package var count: Int { hashes.count }
    package var newest: PublicKeys { keys[keys.count - 1].keys }

    /// The keys of signed statements that were checked as they were kept, from the first on; nil for none.
    ///
    /// The first and the last are read whole. Of one between them its place and its keys are, and its hash is the one
    /// that the next one names: all statements of all members of a ring are read like this, on one occasion.
    ///
    /// - Throws: Where they are not in their order. Keys and signatures are not checked again.
    package init?(kept signed: some Sequence<[UInt8]>) throws(EncryptionRefusal) {
        var iterator = signed.makeIterator()
        guard let bytes = iterator.next() else { return nil }
        let first = try SignedStatement(bytes, checksKeys: false).statement
        guard first.number == 1 else { throw .brokenChain }
        (scope, firstHash, newestHash) = (first.scope, first.hash, first.hash)
        take(first)
        guard var kept = iterator.next() else { return }
        // How many were read, of the last of which the hash may not be known yet.
        var readCount = 1
        while let next = iterator.next() {
            let statement = try KeptStatement(kept)
            guard Int(statement.number) == readCount + 1 else { throw .brokenChain }
            try take(statement.previousHash, ofStatement: readCount)
            if !statement.names(keys[keys.count - 1].keys) { keys.append((Int32(readCount), statement.keys)) }
            readCount += 1
            kept = next
        }
        let last = try SignedStatement(kept, checksKeys: false).statement
        guard last.scope == scope, Int(last.number) == readCount + 1, let hash = InlineHash(last.previousHash) else {
            throw .brokenChain
        }
        try take(hash, ofStatement: readCount)
        take(last)
    }

    /// Takes the hash by which a statement is named that was read, or compares it.
    private mutating func take(_ hash: InlineHash, ofStatement count: Int) throws(EncryptionRefusal) {
        if hashes.count < count {
            hashes.append(hash)
        } else if hashes[count - 1] != hash {
            throw .brokenChain
        }
    }

    /// Takes in the next signed statement, which was checked as it was kept. A refused one changes nothing.
    package mutating func append(kept bytes: [UInt8]) throws(EncryptionRefusal) {
        let statement = try SignedStatement(bytes, checksKeys: false).statement
        guard statement.scope == scope, Int(statement.number) == count + 1, statement.previousHash == newestHash else {
            throw .brokenChain
        }
        take(statement)
    }

    private mutating func take(_ statement: Statement) {
        if keys.last?.keys != statement.keys { keys.append((Int32(count), statement.keys)) }
        newestHash = statement.hash
        hashes.append(InlineHash(statement.hash)!)
    }

    /// The newest stands last, and is asked for most.
    private func index(of hash: [UInt8]) -> Int32? {
        InlineHash(hash).flatMap { hashes.lastIndex(of: $0) }.map(Int32.init)
    }

    /// Whether the chain has a statement of this hash, and no later one has other keys.
    package func areNewest(ofStatement hash: [UInt8]) -> Bool {
        index(of: hash).map { $0 >= keys[keys.count - 1].first } ?? false
    }

    /// Whether a statement stands behind the newest one.
    package func isContinued(by statement: Statement) -> Bool {
        statement.scope == scope && Int(statement.number) == count + 1 && statement.previousHash == newestHash
    }

    /// Whether the chain has a statement of this hash.
    package func has(_ hash: [UInt8]) -> Bool { index(of: hash) != nil }

    /// Whether the chain has two statements, and the first names the same keys as the second or stands behind it.
    package func keys(of hash: [UInt8], areAsNewAs other: [UInt8]) -> Bool {
        guard let found = find(hash), let other = find(other) else { return false }
        return found.index >= other.index || found.keys == other.keys
    }

    /// Where a statement of this hash stands in the chain, and its keys; nil where the chain has none.
    func find(_ hash: [UInt8]) -> (index: Int, keys: PublicKeys)? {
        guard let index = index(of: hash) else { return nil }
        var (low, high) = (0, keys.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if keys[middle].first <= index { low = middle } else { high = middle }
        }
        return (Int(index), keys[low].keys)
    }
}
