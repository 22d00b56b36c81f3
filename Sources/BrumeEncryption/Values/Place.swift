/// Where something encrypted belongs: one life of one zone. It stands in every derivation and in all associated data,
/// so that nothing can be moved to another zone, owner, environment or container, nor to a later zone of the same
/// name.
package struct Place: Hashable, Sendable {
    package static let ringIDBytes = 16

    package let container: String
    package let environment: String
    /// The owner's user record name: the real one.
    package let owner: String
    package let zone: String
    /// The id of the zone's ring, which was chosen at random when the ring was made.
    package let ringID: [UInt8]

    /// - Parameter environment: `development` or `production`.
    /// - Throws: `damaged` for names that nothing has, among them `__defaultOwner__`, and for an id of another length.
    package init(
        container: String, environment: String, owner: String, zone: String, ringID: [UInt8]
    ) throws(EncryptionRefusal) {
        guard ringID.count == Self.ringIDBytes, AccountName.isValid(owner), EnvironmentName.isValid(environment) else {
            throw .damaged
        }
        self.container = container
        self.environment = environment
        self.owner = owner
        self.zone = zone
        self.ringID = ringID
    }

    /// An id for a ring that is made, which no other one has.
    package static func newRingID() -> [UInt8] { Sodium.randomBytes(ringIDBytes) }

    package static func == (left: Place, right: Place) -> Bool {
        left.container.hasBytes(of: right.container) && left.environment.hasBytes(of: right.environment)
            && left.owner.hasBytes(of: right.owner) && left.zone.hasBytes(of: right.zone) && left.ringID == right.ringID
    }
}

extension PartWriter {
    mutating func write(_ place: Place) {
        write(text: place.container)
        write(text: place.environment)
        write(text: place.owner)
        write(text: place.zone)
        write(bytes: place.ringID)
    }
}
