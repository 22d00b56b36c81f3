/// What a deleted zone or a dropped database held. A million records are a million allocations, which take a quarter of
/// a second to free: the host does that where nobody waits for it.
///
/// `@unchecked Sendable`: freeing it only drops a reference. The memory is freed then if nobody else holds it.
package final class Remains: @unchecked Sendable {
    /// A zone with fewer slots is freed at once.
    static let slotsMin = 64

    private var content: Any?

    init(of zone: ZoneState) { content = zone }

    init(of slots: RecordSlots) { content = slots }

    init(of rings: ZoneRings.Zone) { content = rings }

    /// - Parameter database: One that is not used any more. Whoever still holds it, for work under way, finds it
    ///   intact.
    package init(of database: Database) { content = database }

    /// Releases what it holds. Call it once, on any thread.
    package func giveBack() { content = nil }
}

extension Database {
    /// Replaces a zone that was deleted, whose memory is freed elsewhere if it is much.
    func replaceZone(at index: Int, with state: ZoneState) {
        let former = withZone(at: index) { exchange(&$0, with: state) }
        noteAssets(ofRemovedZone: former)
        if let giveBack, former.slots.count >= Remains.slotsMin { giveBack(Remains(of: former)) }
    }
}
