/// What a deleted zone or a dropped database held. A million records are a million pieces of memory, which take a
/// quarter of a second to give back: the host does that where nobody waits for it.
///
/// `@unchecked Sendable`: whoever gives it back lets go of it, no more. It goes then if nobody else holds it.
package final class Remains: @unchecked Sendable {
    /// A zone with fewer slots goes at once.
    static let slotsMin = 64

    private var content: Any?

    init(of zone: ZoneState) { content = zone }

    /// - Parameter database: One that is not used any more. Who holds it still, for what is under way, finds it whole.
    package init(of database: Database) { content = database }

    /// Once, on any thread.
    package func giveBack() { content = nil }
}

extension Database {
    /// Puts a zone into the place of one that was deleted, whose memory is given back elsewhere if it is much.
    func replaceZone(at index: Int, with state: ZoneState) {
        let former = withZone(at: index) { exchange(&$0, with: state) }
        if let giveBack, former.slots.count >= Remains.slotsMin { giveBack(Remains(of: former)) }
    }
}
