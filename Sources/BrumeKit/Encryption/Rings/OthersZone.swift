/// What a device keeps of a zone that somebody else shares, whatever a server says of it since: which rings of it the
/// device has kept, and what they say for good.
///
/// A device that begins anew has no keys in memory before something has it look, and would take a server's word until
/// then.
struct OthersZone: Equatable, Sendable {
    /// The record names of the trees' roots whose rings this device has kept; the empty one is the zone's own.
    var roots: Set<String> = []
    /// Whether one of them says that the zone's files are encrypted.
    var encryptsAssets = false

    /// Roots that are kept in mind: as many as a database has rings.
    static let rootsMax = 10_000

    /// The same with a ring; nil where that is nothing new, or there is no room for another root.
    func adding(root: String, encryptsAssets: Bool) -> OthersZone? {
        var zone = self
        if roots.count < Self.rootsMax { zone.roots.insert(root) }
        if encryptsAssets { zone.encryptsAssets = true }
        return zone == self ? nil : zone
    }
}
