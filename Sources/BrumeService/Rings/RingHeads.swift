internal import BrumeEncryption
internal import BrumeModel
internal import BrumeStore

/// What the last entries of a private database's rings say, and which keys its owner's statements name: a save of
/// encrypted values, or of assets, reads neither again.
///
/// Nobody has to say when something changed. Each part is kept with the very bytes that it was read from, and holds as
/// long as the database has these at that place: an entry or a statement behind them, a zone that went or was made
/// again, a reset and a database that was loaded anew put others there.
///
/// It takes at most 200 KB for 1,024 statements, some 5 MB for 10,000 rings with the longest names, some 13 MB for the
/// members of shared ones, half more during a request, and 13 MB for statements of these, counted with the database,
/// and goes with it.
struct RingHeads {
    /// What a save may be encrypted with.
    enum State: Equatable {
        /// There is no ring, or it was closed, or the caller may not learn of it.
        case none
        /// A member has other keys than those that the last entry is boxed to, or takes part no more.
        case due
        /// The number of the newest key, and the hash of the entry that brought it.
        case newest(UInt32, entryHash: [UInt8])
        /// The request has had too many members looked at before: it is not known.
        case tooCostly
    }

    private struct Head {
        /// The ring's last entry.
        let entry: SharedBytes
        let number: UInt32
        let hash: [UInt8]
        let isPerZone: Bool
        let hasPlainAssets: Bool
        let isClosed: Bool
        let ownerStatementHash: [UInt8]
        let others: [RingOutline.Member]

        init(_ outline: RingOutline, of entry: SharedBytes) {
            (self.entry, number, hash, isClosed) = (entry, outline.number, outline.hash, outline.isClosed)
            (isPerZone, hasPlainAssets) = (outline.isPerZone, outline.hasPlainAssets)
            (ownerStatementHash, others) = (outline.ownerStatementHash, outline.others)
        }
    }

    private struct Tree {
        let root: String
        /// Nil until somebody asks for it.
        var head: Head?
        /// Nil until somebody asks for it.
        var firstZoneKeyNumber: UInt32?
    }

    private struct Zone {
        /// The first entry of the zone's own ring, which says where all its trees are.
        let first: SharedBytes
        let place: Place
        var head: Head
        /// Nil until a value of a shared tree comes. A zone's rings only become more, so that it holds as long as they
        /// are as many.
        var trees: [EncryptedHeader.TreeID: Tree]?
        var approximateBytes = RingHeads.zoneBytes
        /// How many members other than the owner its heads have.
        var memberCount: Int
    }

    private var zones: [UInt64: Zone] = [:]
    private var zonesBytes = 0
    private var statements: (keys: StatementKeys, last: SharedBytes)?
    /// What the statements of others name.
    var userKeys = RingUserKeys()
    /// How often others changed which of their keys these are.
    var selections = RingSelections()
    /// How many members other than the owner the heads have. A request begins by forgetting some where there are too
    /// many.
    private var memberCount = 0
    /// What the request has cost so far, but for statements: a step for each look at a member, and for each member of
    /// an entry that was read.
    private var steps = 0
    private var statementsBefore = 0
    /// How often something was read: for tests.
    private(set) var testOnly_readCount = 0
    /// What is not looked at: for tests.
    var testOnly_weaknesses: RingWeaknesses = []

    /// About what it takes in memory.
    var approximateBytes: Int {
        zonesBytes + (statements?.keys.count ?? 0) * StatementKeys.approximateBytesPerStatement
            + userKeys.approximateBytes + selections.approximateBytes + memberCount * Self.memberBytes
    }

    private static let zoneBytes = 1_024
    private static let treeBytes = 256
    private static let memberBytes = 200
    /// Twice as many as one request looks at: the same saves read no ring again.
    private static let membersMax = 65_536

    /// Begins a request, which reads all of a ring's members once at the most: what it has read stays known as long as
    /// it lasts.
    mutating func beginRequest() {
        (steps, statementsBefore) = (0, userKeys.readCount)
        makeRoom()
    }

    /// Forgets heads where they have too many members, one zone's after the other.
    private mutating func makeRoom() {
        if memberCount <= Self.membersMax { return }
        // The ids of trees are kept: a hash each.
        for zone in Array(zones.keys) where memberCount > Self.membersMax { forgetTreeHeads(of: zone) }
        for zone in Array(zones.keys) where memberCount > Self.membersMax { forget(zone) }
    }

    /// Whether a request has cost as much as one may.
    var isTooCostly: Bool { steps + userKeys.readCount - statementsBefore >= Limits.ringStepsPerRequest }

    /// Which keys a value or a stamp in a zone may be of.
    ///
    /// - Parameters:
    ///   - zone: The zone's incarnation.
    ///   - mayLearn: Whether the caller may learn of the ring of a root, or with an empty one of the zone's own.
    /// - Throws: Where what is kept can't be read.
    mutating func state(
        for header: EncryptedHeader, inZone zone: UInt64, of database: Database, mayLearn: (_ root: String) -> Bool
    ) throws(EncryptionRefusal) -> State {
        if isTooCostly { return .tooCostly }
        guard try prepare(zone, of: database.rings) else { return .none }
        let head: Head
        var root = ""
        if header.isShared {
            try prepareTrees(ofZone: zone, database.rings)
            guard let found = zones[zone]!.trees![header.treeID]?.root, mayLearn(found),
                let tree = try self.head(ofTree: header.treeID, found, inZone: zone, of: database.rings)
            else { return .none }
            (head, root) = (tree, found)
        } else {
            guard mayLearn("") else { return .none }
            head = zones[zone]!.head
        }
        if head.isClosed { return .none }
        let isNewest = try keys(of: database.statements)?.areNewest(ofStatement: head.ownerStatementHash) ?? false
        guard isNewest else { return .due }
        for member in head.others where !testOnly_weaknesses.contains(.ignoresMembers) {
            if isTooCostly { return .tooCostly }
            steps += 1
            // Users come to a share and leave it while the entry stays.
            guard database.takesPart(member.user, inRing: root, ofZone: zone),
                try userKeys.areNewest(
                    ofStatement: member.statementHash, of: member.user, inZone: zone, database.rings)
            else { return .due }
        }
        return .newest(head.number, entryHash: head.hash)
    }

    /// Whether the assets of a zone are encrypted: its ring says so, also where it is due.
    ///
    /// - Parameter zone: The zone's incarnation.
    /// - Throws: Where what is kept can't be read.
    mutating func encryptsAssets(
        ofZone zone: UInt64, of database: Database
    ) throws(EncryptionRefusal) -> Bool {
        guard try prepare(zone, of: database.rings) else { return false }
        return !zones[zone]!.head.hasPlainAssets
    }

    /// Whether a tree has a ring that was not closed.
    ///
    /// - Parameters:
    ///   - root: The record name of the tree's root.
    ///   - zone: The zone's incarnation.
    /// - Throws: Where what is kept can't be read.
    mutating func hasOpenRing(
        ofTree root: String, inZone zone: UInt64, of database: Database
    ) throws(EncryptionRefusal) -> Bool {
        guard database.rings.hasRing(ofZone: zone, root: root), try prepare(zone, of: database.rings) else {
            return false
        }
        try prepareTrees(ofZone: zone, database.rings)
        let id = EncryptedHeader.TreeID(
            BrumeEncryption.Tree(place: zones[zone]!.place, root: root, kind: .isShared).id)
        guard zones[zone]!.trees![id] != nil else { return false }
        return try head(ofTree: id, root, inZone: zone, of: database.rings).map { !$0.isClosed } ?? false
    }

    /// The roots of the trees with rings that have one of some ids.
    ///
    /// - Parameter zone: The zone's incarnation.
    /// - Throws: Where what is kept can't be read.
    mutating func roots(
        ofTrees ids: Set<EncryptedHeader.TreeID>, inZone zone: UInt64, of database: Database
    ) throws(EncryptionRefusal) -> [String] {
        guard try prepare(zone, of: database.rings) else { return [] }
        try prepareTrees(ofZone: zone, database.rings)
        return ids.compactMap { zones[zone]!.trees![$0]?.root }.sorted()
    }

    /// Records of a part of a zone that are in shared trees and have values of others, or values of the same tree from
    /// while it was private that its ring hands on no keys of: a tree has the same id before it is shared and after.
    ///
    /// - Parameter zone: The zone's incarnation.
    /// - Throws: Where what is kept can't be read.
    mutating func misplacedRecords(
        from start: UInt32, inZone zone: UInt64, of database: Database
    ) throws(EncryptionRefusal) -> MisplacedRecordsPage {
        var page = MisplacedRecordsPage()
        guard try prepare(zone, of: database.rings), !zones[zone]!.head.isPerZone else { return page }
        let place = zones[zone]!.place
        try prepareTrees(ofZone: zone, database.rings)
        var trees: [String: (id: EncryptedHeader.TreeID, keyNumber: UInt32)] = [:]
        var readCount = 0
        page.next = try database.visitEncryptedRecordsOfTrees(from: start, inZone: zone) {
            (name, root, headers) throws(EncryptionRefusal) in
            let tree: (id: EncryptedHeader.TreeID, keyNumber: UInt32)
            if let known = trees[root] {
                tree = known
            } else {
                let id = EncryptedHeader.TreeID(BrumeEncryption.Tree(place: place, root: root, kind: .isPrivate).id)
                if let unread = zones[zone]!.trees![id], unread.firstZoneKeyNumber == nil { readCount += 1 }
                tree = (id, try firstZoneKeyNumber(ofTree: id, root, inZone: zone, of: database.rings))
                trees[root] = tree
            }
            let isMisplaced = headers.contains { header in
                header.treeID != tree.id || !header.isShared && header.keyNumber >= tree.keyNumber
            }
            if isMisplaced { page.names.append(name) }
            return page.names.count < Limits.itemsPerRequest && readCount < Self.firstEntriesPerPage
        }
        return page
    }

    /// A page of misplaced records ends where it has read so many first entries of rings.
    private static let firstEntriesPerPage = 64

    // MARK: Statements

    /// The keys that the statements name, where nothing has to be read for that.
    func knownKeys(of statements: AccountStatements) -> StatementKeys? {
        guard let known = self.statements, let last = statements[statements.last], known.last.isSame(as: last),
            known.keys.count == Int(statements.last)
        else { return nil }
        return known.keys
    }

    /// The same, reading those that are new; nil where there is none.
    mutating func keys(of statements: AccountStatements) throws(EncryptionRefusal) -> StatementKeys? {
        if let known = knownKeys(of: statements) { return known }
        let former = self.statements
        self.statements = nil
        guard let last = statements[statements.last] else { return nil }
        var keys: StatementKeys
        if let former, statements[UInt32(former.keys.count)]?.isSame(as: former.last) == true {
            keys = former.keys
            for bytes in statements.all.dropFirst(keys.count) { try keys.append(kept: bytes.array) }
            testOnly_readCount += keys.count - former.keys.count
        } else {
            keys = try StatementKeys(kept: statements.all.lazy.map(\.array))!
            testOnly_readCount += keys.count
        }
        self.statements = (keys, last)
        return keys
    }

    // MARK: Rings

    /// Knows the own ring of a zone; returns false where there is none.
    private mutating func prepare(_ zone: UInt64, of rings: ZoneRings) throws(EncryptionRefusal) -> Bool {
        let ring = rings.ring(ofZone: zone, root: "")
        guard let first = ring[1], let last = ring[ring.last] else { return false }
        if zones[zone]?.first.isSame(as: first) == true {
            if !zones[zone]!.head.entry.isSame(as: last) {
                let head = Head(try read(last), of: last)
                noteMembers(head.others.count - zones[zone]!.head.others.count, ofZone: zone)
                zones[zone]!.head = head
            }
            return true
        }
        forget(zone)
        makeRoom()
        let outline = try read(last)
        if zones.count >= rings.zoneCount {
            for gone in zones.keys.filter({ !rings.hasRings(ofZone: $0) }) { forget(gone) }
        }
        zones[zone] = Zone(
            first: first, place: outline.ring.place, head: Head(outline, of: last), memberCount: 0)
        noteMembers(outline.others.count, ofZone: zone)
        zonesBytes += Self.zoneBytes
        return true
    }

    private mutating func noteMembers(_ count: Int, ofZone zone: UInt64) {
        zones[zone]!.memberCount += count
        memberCount += count
    }

    private mutating func forget(_ zone: UInt64) {
        if let gone = zones.removeValue(forKey: zone) {
            zonesBytes -= gone.approximateBytes
            memberCount -= gone.memberCount
        }
        userKeys.forget(zone: zone)
    }

    private mutating func forgetTreeHeads(of zone: UInt64) {
        guard let trees = zones[zone]!.trees else { return }
        zones[zone]!.trees = trees.mapValues { Tree(root: $0.root, firstZoneKeyNumber: $0.firstZoneKeyNumber) }
        noteMembers(zones[zone]!.head.others.count - zones[zone]!.memberCount, ofZone: zone)
    }

    /// Knows which trees have a ring in a zone: a hash for each that is new, and no entry is read.
    private mutating func prepareTrees(ofZone zone: UInt64, _ rings: ZoneRings) throws(EncryptionRefusal) {
        let count = rings.count(ofZone: zone) - 1
        if let known = zones[zone]!.trees?.count, known == count { return }
        let place = zones[zone]!.place
        let known = Set((zones[zone]!.trees ?? [:]).values.map(\.root))
        if zones[zone]!.trees == nil { zones[zone]!.trees = [:] }
        for root in rings.roots(ofZone: zone) where !known.contains(root) {
            let id = BrumeEncryption.Tree(place: place, root: root, kind: .isShared).id
            let bytes = Self.treeBytes + root.utf8.count
            zones[zone]!.trees![EncryptedHeader.TreeID(id)] = Tree(root: root)
            zones[zone]!.approximateBytes += bytes
            zonesBytes += bytes
            testOnly_readCount += 1
        }
    }

    /// The head of a tree's ring.
    private mutating func head(
        ofTree id: EncryptedHeader.TreeID, _ root: String, inZone zone: UInt64, of rings: ZoneRings
    ) throws(EncryptionRefusal) -> Head? {
        let ring = rings.ring(ofZone: zone, root: root)
        guard let last = ring[ring.last] else { return nil }
        if let known = zones[zone]!.trees![id]!.head, known.entry.isSame(as: last) { return known }
        let head = Head(try read(last), of: last)
        noteMembers(head.others.count - (zones[zone]!.trees![id]!.head?.others.count ?? 0), ofZone: zone)
        zones[zone]!.trees![id]!.head = head
        return head
    }

    /// The number of the zone's key from which on a tree's ring hands on none from while the tree was private; one that
    /// no key has, where the tree has no ring.
    private mutating func firstZoneKeyNumber(
        ofTree id: EncryptedHeader.TreeID, _ root: String, inZone zone: UInt64, of rings: ZoneRings
    ) throws(EncryptionRefusal) -> UInt32 {
        guard let tree = zones[zone]!.trees![id] else { return .max }
        if let known = tree.firstZoneKeyNumber { return known }
        guard let first = rings.ring(ofZone: zone, root: root)[1] else { return .max }
        testOnly_readCount += 1
        let number = try RingOutline(kept: first.array).zoneKeyNumber
        zones[zone]!.trees![id]!.firstZoneKeyNumber = number
        return number
    }

    private mutating func read(_ entry: SharedBytes) throws(EncryptionRefusal) -> RingOutline {
        testOnly_readCount += 1
        let outline = try RingOutline(kept: entry.array)
        steps += outline.others.count
        return outline
    }
}
