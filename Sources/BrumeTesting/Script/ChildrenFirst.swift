internal import BrumeLock
internal import BrumeModel
internal import BrumeRecord
internal import BrumeServer
internal import BrumeService

/// Pages of a zone's changes in which records come before those that they refer to.
///
/// Within a page they are put into that order. Of a page that others follow, the records that refer to nothing are
/// withheld until the last one, in their latest version.
final class ChildrenFirst: Sendable {
    private struct Fetch: Hashable {
        let device: [UInt8]
        let zone: String
    }

    private struct Item {
        let name: String
        /// The names of the records that it refers to, its parent among them.
        let targets: Set<String>
        let bytes: SharedBytes
    }

    private let zone: String?
    private let withheld = Lock<[Fetch: [String: SharedBytes]]>([:])

    /// - Parameter zone: Nil: all zones.
    init(zone: String?) {
        self.zone = zone
    }

    /// Puts a page into order. Returns whether that changed it.
    func reorder(
        _ page: inout ZoneChangesPage<SharedBytes, ChangeToken>, to request: ZoneChangesRequest,
        of peer: InterceptedPeer
    ) -> Bool {
        if let zone, zone != request.zone.name { return false }
        let fetch = Fetch(device: peer.deviceID, zone: request.zone.name)
        let items = page.records.map(Self.item)
        let former = page.records
        var kept = withheld.withLock { $0.removeValue(forKey: fetch) } ?? [:]
        if request.token.isEmpty { kept = [:] }
        // What came again meanwhile, or went, is not what is kept.
        for item in items { kept[item.name] = nil }
        for deletion in page.deletions { kept[deletion.name] = nil }
        if page.moreComing {
            var rest: [Item] = []
            var byteCount = kept.values.reduce(0) { $0 + $1.count }
            for item in items {
                if item.targets.isEmpty, byteCount + item.bytes.count <= TestLimits.withheldBytesMax {
                    kept[item.name] = item.bytes
                    byteCount += item.bytes.count
                } else {
                    rest.append(item)
                }
            }
            withheld.withLock { [kept] in $0[fetch] = kept }
            page.records = Self.order(rest).map(\.bytes)
        } else {
            let sorted = kept.sorted { $0.key < $1.key }
            // What the page has no room for comes with further ones: the server has nothing more to give for their
            // token.
            let room = request.resultsLimit - items.count - page.deletions.count
            let late = request.resultsLimit > 0 ? sorted.prefix(max(room, 0)) : sorted[...]
            let rest = sorted.dropFirst(late.count)
            if !rest.isEmpty {
                page.moreComing = true
                withheld.withLock { $0[fetch] = Dictionary(uniqueKeysWithValues: rest.map { ($0.key, $0.value) }) }
            }
            page.records = Self.order(items + late.map { Self.item($0.value) }).map(\.bytes)
            if !rest.isEmpty { return true }
        }
        return page.records != former
    }

    /// Whether records wait for the last page of a fetch.
    var isWithholding: Bool { withheld.withLock { !$0.isEmpty } }

    /// The rule is over: what was withheld comes with the next page.
    func release(
        into page: inout ZoneChangesPage<SharedBytes, ChangeToken>, to request: ZoneChangesRequest,
        of peer: InterceptedPeer
    ) {
        let fetch = Fetch(device: peer.deviceID, zone: request.zone.name)
        guard let kept = withheld.withLock({ $0.removeValue(forKey: fetch) }), !request.token.isEmpty else { return }
        let newer = Set(page.records.map { Self.item($0).name } + page.deletions.map(\.name))
        page.records += kept.filter { !newer.contains($0.key) }.sorted { $0.key < $1.key }.map(\.value)
    }

    private static func item(_ bytes: SharedBytes) -> Item {
        let record = bytes.withUnsafeBytes { try? StoredRecord.decode($0) }
        guard let record else { return Item(name: "", targets: [], bytes: bytes) }
        var targets = Set(record.system.parent.map { [$0] } ?? [])
        for value in record.fields.values {
            switch value {
            case .reference(let reference): targets.insert(reference.recordName)
            case .references(let references): targets.formUnion(references.map(\.recordName))
            default: break
            }
        }
        targets.remove(record.system.name)
        return Item(name: record.system.name, targets: targets, bytes: bytes)
    }

    /// Those that refer to others of the page before these; else as they came. A circle is cut somewhere.
    private static func order(_ items: [Item]) -> [Item] {
        let byName = Dictionary(items.map { ($0.name, $0) }) { _, last in last }
        var depths: [String: Int] = [:]
        func depth(_ item: Item) -> Int {
            if let known = depths[item.name] { return known }
            depths[item.name] = 0
            let deepest = item.targets.compactMap { byName[$0] }.map { depth($0) + 1 }.max() ?? 0
            depths[item.name] = deepest
            return deepest
        }
        let order = items.enumerated().map { (depth: depth($1), index: $0, item: $1) }
        return order.sorted { ($1.depth, $0.index) < ($0.depth, $1.index) }.map(\.item)
    }
}
