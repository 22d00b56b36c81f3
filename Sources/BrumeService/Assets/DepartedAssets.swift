internal import BrumeModel
internal import BrumeStore

/// The stored assets that nothing needs of databases which have left the memory: what these forget, since it is not
/// stored. So no grace begins anew because a database leaves and comes back, and what is due is removed though nobody
/// uses the database.
///
/// Where there is no room for the names, a database keeps the sum of what it has: all of it goes when the last of it may,
/// and has to be looked for in its folder. Where there are too many databases nothing is remembered: graces begin anew
/// when a walk or somebody else has the database loaded. See ``AssetWalk``.
struct DepartedAssets {
    /// What is remembered of a database.
    enum Memory: Equatable {
        case each([UnneededBlob])
        case sum(UnneededSum)
    }

    private struct Departed {
        let memory: Memory
        /// Which of all leavings it was.
        let number: UInt64
        let blobCount: Int
    }

    private var databases: [DatabaseID: Departed] = [:]
    /// When databases are to be visited. Some have come back meanwhile.
    private var visits = Heap<(due: UInt32, number: UInt64, id: DatabaseID)> {
        ($0.due, $0.number) < ($1.due, $1.number)
    }
    private var leavingCount: UInt64 = 0
    /// The blobs whose names are remembered.
    private(set) var blobCount = 0
    /// What is held for their order.
    var visitCount: Int { visits.count }
    private let limit: Int
    private let databaseLimit: Int

    init(limit: Int, databaseLimit: Int = ServiceLimits.departedDatabases) {
        (self.limit, self.databaseLimit) = (limit, databaseLimit)
    }

    /// A database leaves the memory. Until it comes back to this loop nothing can change it.
    mutating func leave(_ id: DatabaseID, _ index: BlobIndex) {
        guard index.unneededCount > 0 || index.unneededSum != nil, databases.count < databaseLimit else { return }
        precondition(databases[id] == nil, "a database leaves the memory twice")
        let blobs = index.unneededBlobs
        let departed: (memory: Memory, due: UInt32)
        if let sum = index.unneededSum, index.hasNameless || blobs.count > limit - blobCount {
            departed = (.sum(sum), sum.due(grace: index.grace))
        } else {
            let dues = blobs.lazy.map { $0.due(grace: index.grace) }
            guard let first = dues.min(), let last = dues.max() else { return }
            // What may go at about the same time goes with one visit.
            let (late, isNever) = first.addingReportingOverflow(index.grace / DepartedAssets.visitsPerGrace)
            departed = (.each(blobs), isNever ? last : min(last, late))
        }
        leavingCount += 1
        let count = if case .each = departed.memory { blobs.count } else { 0 }
        databases[id] = Departed(memory: departed.memory, number: leavingCount, blobCount: count)
        blobCount += count
        visits.push((due: departed.due, number: leavingCount, id: id))
        if visits.count > 2 * databases.count + DepartedAssets.staleMax { dropStale() }
    }

    /// How often a database is visited in a grace, however often something of it is due.
    private static let visitsPerGrace: UInt32 = 24
    private static let staleMax = 64

    /// A database comes back: what was remembered of it; nil for nothing.
    mutating func comeBack(_ id: DatabaseID) -> Memory? {
        if databases.isEmpty { return nil }
        guard let departed = databases.removeValue(forKey: id) else { return nil }
        blobCount -= departed.blobCount
        return departed.memory
    }

    /// Takes the next database of which something may go; nil when nothing may. It is not given again before it has
    /// come back and left.
    ///
    /// - Returns: The database, and whether its folder has to be looked through for it.
    mutating func takeDue(at time: UInt32) -> (id: DatabaseID, looksThroughFolder: Bool)? {
        while let first = visits.first, first.due <= time {
            _ = visits.pop()
            guard let departed = databases[first.id], departed.number == first.number else { continue }
            if case .sum = departed.memory { return (first.id, true) }
            return (first.id, false)
        }
        return nil
    }

    /// A visit did not come about: there will be another one.
    mutating func putOff(_ id: DatabaseID, until time: UInt32) {
        if let departed = databases[id] { visits.push((due: time, number: departed.number, id: id)) }
    }

    private mutating func dropStale() {
        let all = exchange(&visits, with: Heap { ($0.due, $0.number) < ($1.due, $1.number) })
        for visit in all.elements where databases[visit.id]?.number == visit.number { visits.push(visit) }
    }
}
