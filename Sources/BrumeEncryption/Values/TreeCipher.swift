/// One key of one tree, ready for the records in it.
package struct TreeCipher: Sendable {
    package let tree: Tree
    package let header: ValueHeader
    let fieldKey: SecretKey
    let stampKey: SecretKey

    /// - Parameters:
    ///   - ringKey: A key of the zone's ring, or of the tree's own where it is shared.
    ///   - number: The key's number in that ring, from 1.
    package init(tree: Tree, ringKey: SecretKey, number: UInt32) {
        self.init(tree: tree, key: tree.key(from: ringKey), number: number)
    }

    /// - Parameter key: The tree's own, as a shared tree's ring hands on those from before it was shared.
    package init(tree: Tree, key: SecretKey, number: UInt32) {
        self.tree = tree
        header = ValueHeader(tree: tree, keyNumber: number)
        fieldKey = Digest.deriveKey(key, .fieldKey)
        stampKey = Digest.deriveKey(key, .stampKey)
    }

    /// What encrypts one record's fields.
    package func record(named name: String, type: String) -> RecordCipher {
        RecordCipher(tree: self, recordName: name, recordType: type)
    }

    /// Refuses what this key does not open, and says why.
    func check(_ other: ValueHeader) throws(EncryptionRefusal) {
        guard other.treeID == header.treeID, other.kind == header.kind else { throw .wrongTree }
        guard other.keyNumber == header.keyNumber else { throw .keyMissing }
    }
}
