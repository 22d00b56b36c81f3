internal import BrumeModel
internal import BrumeStore

/// The stored assets that nothing needs of databases which have left the memory: what these forget, since it is not
/// stored. So no grace begins anew because a database leaves and comes back, and what is due is removed though nobody
/// uses the database.
///
/// Where there is no room for the names of all, the database with the most of them keeps a sum alone: all of it goes
/// when the last of it may, and has to be looked for in its folder. So nobody who has many takes the room of those who
/// have few. Where there are too many databases nothing is remembered: graces begin anew when a walk or somebody else
/// has the database loaded. See ``AssetWalk``.
struct DepartedAssets {
    /// What is remembered of a database.
    enum Memory: Equatable {
        case each([UnneededBlob])
        case sum(UnneededSum)

        var blobCount: Int { if case .each(let blobs) = self { blobs.count } else { 0 } }
    }

    private struct Departed {
        var memory: Memory
        /// Which of all visits to databases is its next.
        var number: UInt64
        let grace: UInt32
    }

    private var databases: [DatabaseID: Departed] = [:]
    /// When databases are to be visited. Some have come back meanwhile.
    private var visits = Heap<(due: UInt32, number: UInt64, id: DatabaseID)> {
        ($0.due, $0.number) < ($1.due, $1.number)
    }
    /// The databases whose names are remembered, those with the most first. Some have come back meanwhile.
    private var largest = Heap<(blobCount: Int, number: UInt64, id: DatabaseID)> {
        ($0.blobCount, $0.number) > ($1.blobCount, $1.number)
    }
    private var visitNumber: UInt64 = 0
    /// The blobs whose names are remembered.
    private(set) var blobCount = 0
    private let limit: Int
    private let databaseLimit: Int
    /// What is held for the order of the databases.
    var placeCount: Int { visits.count + largest.count }

    init(limit: Int, databaseLimit: Int = ServiceLimits.departedDatabases) {
        (self.limit, self.databaseLimit) = (limit, databaseLimit)
    }

    /// A database leaves the memory. Until it comes back to this loop nothing can change it.
    mutating func leave(_ id: DatabaseID, _ index: BlobIndex) {
        guard index.unneededCount > 0 || index.hasNameless, databases.count < databaseLimit else { return }
        precondition(databases[id] == nil, "a database leaves the memory twice")
        let blobs = index.unneededBlobs
        if index.hasNameless || !makeRoom(for: blobs.count) {
            guard let sum = index.unneededSum else { return }
            remember(.sum(sum), of: id, index.grace, visitedAt: sum.due(grace: index.grace))
        } else {
            let dues = blobs.lazy.map { $0.due(grace: index.grace) }
            guard let first = dues.min(), let last = dues.max() else { return }
            // What may go at about the same time goes with one visit.
            let (late, isNever) = first.addingReportingOverflow(index.grace / DepartedAssets.visitsPerGrace)
            remember(.each(blobs), of: id, index.grace, visitedAt: isNever ? last : min(last, late))
            largest.push((blobCount: blobs.count, number: visitNumber, id: id))
        }
        if placeCount > 3 * databases.count + DepartedAssets.staleMax { dropStale() }
    }

    /// How often a database is visited in a grace, however often something of it is due.
    private static let visitsPerGrace: UInt32 = 24
    private static let staleMax = 64

    private mutating func remember(_ memory: Memory, of id: DatabaseID, _ grace: UInt32, visitedAt due: UInt32) {
        visitNumber += 1
        databases[id] = Departed(memory: memory, number: visitNumber, grace: grace)
        blobCount += memory.blobCount
        visits.push((due: due, number: visitNumber, id: id))
    }

    /// Makes room for a database's names, by forgetting those of databases that have more of them. False when there
    /// are none.
    private mutating func makeRoom(for count: Int) -> Bool {
        while count > limit - blobCount {
            guard let first = largest.first, first.blobCount > count else { return false }
            _ = largest.pop()
            guard let departed = databases[first.id], departed.number == first.number,
                case .each(let blobs) = departed.memory, let sum = UnneededSum(of: blobs)
            else { continue }
            blobCount -= blobs.count
            remember(.sum(sum), of: first.id, departed.grace, visitedAt: sum.due(grace: departed.grace))
        }
        return true
    }

    /// A database comes back: what was remembered of it; nil for nothing.
    mutating func comeBack(_ id: DatabaseID) -> Memory? {
        if databases.isEmpty { return nil }
        guard let departed = databases.removeValue(forKey: id) else { return nil }
        blobCount -= departed.memory.blobCount
        return departed.memory
    }

    /// Takes the next database of which something may go; nil when nothing may. It is not given again before it has
    /// come back and left, or is put off.
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

    /// A visit did not come about, or did not see all: the next one is no sooner than at a time.
    mutating func putOff(_ id: DatabaseID, until time: UInt32) {
        guard let departed = databases.removeValue(forKey: id) else { return }
        blobCount -= departed.memory.blobCount
        remember(departed.memory, of: id, departed.grace, visitedAt: time)
        if case .each(let blobs) = departed.memory {
            largest.push((blobCount: blobs.count, number: visitNumber, id: id))
        }
    }

    private mutating func dropStale() {
        for visit in exchange(&visits, with: Heap { ($0.due, $0.number) < ($1.due, $1.number) }).elements
        where databases[visit.id]?.number == visit.number { visits.push(visit) }
        let places = exchange(&largest, with: Heap { ($0.blobCount, $0.number) > ($1.blobCount, $1.number) })
        for place in places.elements where databases[place.id]?.number == place.number { largest.push(place) }
    }
}
