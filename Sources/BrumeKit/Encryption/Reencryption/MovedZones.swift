/// The zones in which records may have to be encrypted anew, and those in which that is being done. Pure.
struct MovedZones: Sendable {
    /// What came of going over a zone.
    enum Outcome: Equatable, Sendable {
        case isDone
        /// Records wait for keys, or for an app that says where they are.
        case isLeft
        /// The server could not be asked, or refused for now.
        case hasFailed
    }

    /// What whoever sees records of a zone has to do about it.
    enum Due: Equatable {
        /// Nobody knows yet whether an earlier process has left something to do.
        case lookAtNote
        case begin
    }

    private struct Zone {
        var isUnderWay = false
        /// Something has moved since it began.
        var isWantedAgain = false
        /// Saves that move something, and have no answer yet.
        var savesUnderWay = 0
        /// When it is to be gone over without anything that moves; nil for never.
        var dueMilliseconds: UInt64? = 0
        var wasLookedFor = false
        /// The records whose noted moves count for whoever goes over it.
        var notedRecords: Set<String> = []
    }

    /// How long what failed waits, and what is left.
    private static let failureMilliseconds: UInt64 = 60_000
    private static let leftMilliseconds: UInt64 = 600_000

    private var zones: [ZoneRingID: Zone] = [:]

    // MARK: Saves

    /// A save that moves something begins.
    mutating func saveBegins(in zone: ZoneRingID) {
        zones[zone, default: Zone()].savesUnderWay += 1
        if zones[zone]!.isUnderWay { zones[zone]!.isWantedAgain = true }
    }

    /// It has an answer, or none will come: then whoever sees records next goes over the zone.
    mutating func saveEnds(in zone: ZoneRingID, at milliseconds: UInt64) {
        zones[zone]?.savesUnderWay -= 1
        zones[zone]?.dueMilliseconds = milliseconds
        zones[zone]?.wasLookedFor = true
    }

    /// A save puts records elsewhere: what was noted of them counts no more, also for whoever has read it by now.
    mutating func movesEnd(of records: some Sequence<String>, in zone: ZoneRingID) {
        zones[zone]?.notedRecords.subtract(records)
    }

    /// Whether nothing has begun to move that a note on the disk would be missed for.
    func mayForget(_ zone: ZoneRingID) -> Bool {
        guard let zone = zones[zone] else { return true }
        return zone.savesUnderWay == 0 && !zone.isWantedAgain
    }

    // MARK: Going over a zone

    /// Whoever goes over a zone has read what was noted.
    mutating func haveRead(movesOf records: some Sequence<String>, in zone: ZoneRingID) {
        zones[zone, default: Zone()].notedRecords = Set(records)
    }

    /// The records whose noted moves still count.
    func notedRecords(in zone: ZoneRingID) -> Set<String> { zones[zone]?.notedRecords ?? [] }

    /// What is to be done by now, which whoever asks does: the next one hears nothing for as long.
    mutating func takeDue(_ zone: ZoneRingID, at milliseconds: UInt64) -> Due? {
        let known = zones[zone] ?? Zone()
        guard !known.isUnderWay, let due = known.dueMilliseconds, due <= milliseconds else { return nil }
        zones[zone, default: Zone()].dueMilliseconds = nil
        zones[zone]!.wasLookedFor = true
        return known.wasLookedFor ? .begin : .lookAtNote
    }

    /// Whether something that was seen just now may have a zone gone over: not again for a while where some was left.
    func mayBegin(_ zone: ZoneRingID, at milliseconds: UInt64) -> Bool {
        guard let zone = zones[zone] else { return true }
        return !zone.isUnderWay && (zone.dueMilliseconds ?? 0) <= milliseconds
    }

    /// Whether whoever asks is to begin; false where somebody does it already, who goes over the zone once more.
    mutating func begin(_ zone: ZoneRingID) -> Bool {
        let isFirst = zones[zone]?.isUnderWay != true
        zones[zone, default: Zone()].isUnderWay = true
        if !isFirst { zones[zone]!.isWantedAgain = true }
        return isFirst
    }

    /// Whether the zone is to be gone over once more; else it is done with.
    mutating func goesOn(_ zone: ZoneRingID, after outcome: Outcome, at milliseconds: UInt64) -> Bool {
        var known = zones[zone] ?? Zone()
        defer { zones[zone] = known }
        if known.isWantedAgain, outcome != .hasFailed {
            known.isWantedAgain = false
            return true
        }
        known.isUnderWay = false
        known.dueMilliseconds =
            switch outcome {
            case .isDone: nil
            case .isLeft: milliseconds &+ Self.leftMilliseconds
            case .hasFailed: milliseconds &+ Self.failureMilliseconds
            }
        return false
    }
}
