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
    package let root: String
    package let kind: Kind
    /// The same for a root before it is shared and after.
    package let id: [UInt8]

    package init(place: Place, root: String, kind: Kind) {
        precondition(!root.isEmpty || kind == .isPrivate, "a zone that is one tree has the zone's key")
        self.place = place
        self.root = root
        self.kind = kind
        id = Array(Digest.hash(Self.message(.tree, place, root: root)).prefix(Self.idBytes))
    }

    /// The tree's key that a key of its ring gives.
    package func key(from ringKey: SecretKey) -> SecretKey {
        Digest.deriveKey(ringKey, Self.message(kind == .isPrivate ? .treeKey : .sharedTreeKey, place, root: root))
    }

    private static func message(_ label: Label, _ place: Place, root: String) -> PartWriter {
        var message = PartWriter(label)
        message.write(place)
        message.write(text: root)
        return message
    }
}
