internal import BrumeModel

/// Which records of a zone are below which, as far as this device has seen: what is encrypted in a record takes the key
/// of its tree, and a tree goes by the name of its root.
struct ZoneTrees: Sendable {
    /// Records that are kept in mind; then it begins anew, and parents are fetched again.
    static let recordsMax = 20_000
    /// Records from one to its root: as many as are looked at before a record is taken for the root.
    static let depthMax = Limits.treeDepth

    /// The parent of each record that was seen; nil for a root.
    private var parents: [String: String?] = [:]
    /// The same as the app was last shown it, or has said it: not where the device asked by itself.
    private var shownParents: [String: String?] = [:]
    /// Records that the app wanted to make, and that somebody else had made: it has not been shown where these are.
    private var taken: Set<String> = []
    /// The names of the shares whose roots records are.
    private var shares: [String: String] = [:]
    /// The ids of the trees in which something in a record was encrypted, ever since it was seen first: what says
    /// otherwise than the server where the record belongs. None for one that was seen whole with nothing encrypted.
    private var treeIDs: [String: Set<[UInt8]>] = [:]
    private static let treesOfRecordMax = 8
    /// In the place of the ids of more trees than are kept of a record: no tree has it, so it names another tree than
    /// any in which the record may be shown.
    static let moreTrees: [UInt8] = []
    /// What one operation has learned; nil where the device learns.
    private var learned: Learned?

    /// What one operation learns of the records that it names, at most 400, and of those above them.
    private struct Learned: Sendable {
        var parents: [String: String?] = [:]
        var treeIDs: [String: Set<[UInt8]>] = [:]
    }

    /// The same for one operation, which keeps what it learns beside: it never begins anew in its midst, and copies
    /// nothing of what is known.
    func forOneOperation() -> ZoneTrees {
        var trees = self
        trees.learned = learned ?? Learned()
        return trees
    }

    /// - Parameter isShown: Whether an app gets to see it as well.
    mutating func learn(_ record: String, parent: String?, isShown: Bool = true) {
        if learned != nil {
            learned?.parents[record] = .some(parent)
            return
        }
        if parents.count >= Self.recordsMax, parents[record] == nil { (parents, shares) = ([:], [:]) }
        parents[record] = .some(parent)
        if !isShown { return }
        taken.remove(record)
        if shownParents.count >= Self.recordsMax, shownParents[record] == nil { shownParents = [:] }
        shownParents[record] = .some(parent)
    }

    /// The parent that the app was last shown of a record, or has given it; nil for one that it was not shown.
    func shownParent(of record: String) -> String?? { shownParents[record] }

    /// The app wanted to make a record, and the server has one of the name: where that is says nothing of where the app
    /// wants things to be, until it is shown it, or saves it.
    mutating func isTaken(_ record: String) {
        if taken.count >= Self.recordsMax { taken = [] }
        taken.insert(record)
    }

    /// Whether somebody else has made a record that the app wanted to make.
    func wasTaken(_ record: String) -> Bool { taken.contains(record) }

    /// The app was told that there is no such record any more: another one of the name may be anywhere.
    mutating func isGone(_ record: String) {
        parents[record] = nil
        shownParents[record] = nil
    }

    /// - Parameter isWhole: Whether there are no others.
    mutating func learn(_ record: String, treeIDs ids: Set<[UInt8]>, isWhole: Bool = false) {
        if ids.isEmpty, !isWhole { return }
        let known = self.treeIDs(of: record)
        var all = known.union(ids)
        // Whoever makes up so many takes the place of none that is known, and hides none either.
        if all.count > Self.treesOfRecordMax { all = known.union([Self.moreTrees]) }
        if learned != nil {
            learned?.treeIDs[record] = all
        } else {
            if treeIDs.count >= Self.recordsMax, treeIDs[record] == nil { treeIDs = [:] }
            treeIDs[record] = all
        }
    }

    /// The trees of what is encrypted in a record, as far as it was seen.
    func treeIDs(of record: String) -> Set<[UInt8]> { learned?.treeIDs[record] ?? treeIDs[record] ?? [] }

    /// Whether it is known in which trees something in a record was encrypted.
    func knowsTrees(of record: String) -> Bool { learned?.treeIDs[record] != nil || treeIDs[record] != nil }

    /// Stamps have proved where records are: what was encrypted in them before says nothing any more.
    mutating func forgetTrees(of records: some Sequence<String>) {
        for record in records { treeIDs[record] = nil }
    }

    /// Where records are is asked for again.
    mutating func forgetParents() { parents = [:] }

    /// A record is the root of a share, or of none any more.
    mutating func learn(_ root: String, share: String?) { shares[root] = share }

    /// The records that are roots of shares.
    var sharedRoots: Set<String> { Set(shares.keys) }

    /// Whether a record is the root of a share.
    func isShared(_ root: String) -> Bool { shares[root] != nil }

    /// The record that is the root of a share; nil where none is known.
    func root(ofShare share: String) -> String? { shares.first { $0.value == share }?.key }

    /// The name of the share whose root a record is, or with an empty name of the zone's.
    func share(of root: String) -> String? { root.isEmpty ? CKRecordNameZoneWideShare : shares[root] }

    /// The parent of a record that was seen, nil for none; nil as well for one that was not seen.
    func parent(of record: String) -> String?? {
        if let parent = learned?.parents[record] { return .some(parent) }
        return parents[record]
    }

    enum Walk: Equatable {
        case root(String)
        /// The parent of this record is not known.
        case unknown(String)
    }

    /// Goes from a record to the root of its tree: a record without a parent, or the root of a share.
    ///
    /// - Parameter parent: The record's own parent.
    func root(of record: String, parent: String?) -> Walk {
        guard let parent, !isShared(record) else { return .root(record) }
        var name = parent
        for _ in 0..<Self.depthMax {
            if isShared(name) { return .root(name) }
            guard let next = self.parent(of: name) else { return .unknown(name) }
            guard let next else { return .root(name) }
            name = next
        }
        return .root(name)
    }

    /// Whether the root of a record's tree is further above it than is looked. Records that a server shows below each
    /// other have none.
    func isTooDeep(_ record: String, parent: String?) -> Bool {
        let path = path(of: record, parent: parent)
        guard path.count > Self.depthMax, let last = path.last, Set(path).count == path.count,
            !path.contains(where: isShared)
        else { return false }
        return self.parent(of: last) != .some(nil)
    }

    /// A record and all that are known above it, of which any may have been the root of a share.
    func path(of record: String, parent: String?) -> [String] {
        var path = [record]
        var next = parent
        while let name = next, path.count <= Self.depthMax {
            path.append(name)
            next = self.parent(of: name) ?? nil
        }
        return path
    }
}
