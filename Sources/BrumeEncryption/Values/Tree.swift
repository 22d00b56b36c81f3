/// What is encrypted with one key: a record without a parent and all below it, or a whole zone.
package struct Tree: Hashable, Sendable {
    /// Where the tree's key comes from.
    package enum Kind: UInt8, Hashable, Sendable {
        /// From a key of the zone's ring.
        case isPrivate
        /// From a key of the ring that the root has because it is shared.
        case isShared
    }

    package static let idBytes = 16
    /// The root of the one tree of a zone that is encrypted as a whole (`CKRecordZone.EncryptionScope.perZone`).
    package static let wholeZone = ""

    package let place: Place
    package let kind: Kind
    /// The same for a root before it is shared and after.
    package let id: [UInt8]

    /// - Parameter root: The record name of the tree's root; ``wholeZone`` in a zone that is one tree.
    package init(place: Place, root: String, kind: Kind) {
        precondition(!root.isEmpty || kind == .isPrivate, "a zone that is one tree has the zone's key")
        self.place = place
        self.kind = kind
        var message = PartWriter(.tree)
        message.write(place)
        message.write(text: root)
        id = Array(Digest.hash(message).prefix(Self.idBytes))
    }

    /// The tree that a value's header names.
    package init(place: Place, _ header: ValueHeader) {
        self.place = place
        kind = header.kind
        id = header.treeID
    }

    /// The tree's key that a key of its ring gives. It takes the id alone: whoever has the ring's key opens a value by
    /// its header, whatever is above its record by now.
    package func key(from ringKey: SecretKey) -> SecretKey {
        var message = PartWriter(kind == .isPrivate ? .treeKey : .sharedTreeKey)
        message.write(place)
        message.write(bytes: id)
        return Digest.deriveKey(ringKey, message)
    }
}
