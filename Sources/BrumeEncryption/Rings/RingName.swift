/// Which ring: a zone's, or the one of a tree that is shared. Spelled `ring` in Documentation/EncryptionFormats.md,
/// section 10.
package struct RingName: Hashable, Sendable {
    package let place: Place
    /// The record name of the tree's root; nil for the zone's ring.
    package let root: String?

    /// - Throws: `damaged` for a root without a name: a zone that is one tree has the zone's ring alone.
    package init(place: Place, root: String? = nil) throws(EncryptionRefusal) {
        guard root?.isEmpty != true else { throw .damaged }
        self.place = place
        self.root = root
    }

    package static func == (left: RingName, right: RingName) -> Bool {
        left.place == right.place
            && (left.root == nil) == (right.root == nil) && (left.root ?? "").hasBytes(of: right.root ?? "")
    }
}

extension PartWriter {
    mutating func write(_ ring: RingName) {
        write(ring.place)
        write(u8: ring.root == nil ? 0 : 1)
        write(text: ring.root ?? "")
    }
}

extension PartReader {
    mutating func readRingName() throws(EncryptionRefusal) -> RingName {
        let container = try readText()
        let environment = try readText()
        let owner = try readText()
        let zone = try readText()
        let ringID = try readBytes(exactly: Place.ringIDBytes)
        let kind = try readU8()
        let root = try readText()
        guard kind <= 1, root.isEmpty == (kind == 0) else { throw .damaged }
        let place = try Place(container: container, environment: environment, owner: owner, zone: zone, ringID: ringID)
        return try RingName(place: place, root: kind == 0 ? nil : root)
    }
}
