/// The zones in which records may have to be encrypted anew, and those in which that is being done. Pure.
struct MovedZones: Sendable {
    private enum Phase {
        case isUnderWay
        /// Something has moved since it began.
        case isWantedAgain
    }

    private var phases: [ZoneRingID: Phase] = [:]
    /// Those of which it is noted on the disk that something moves in them.
    private var noted: Set<ZoneRingID> = []
    /// Those of which this process has looked on the disk whether an earlier one left something to do.
    private var looked: Set<ZoneRingID> = []

    /// Whether nobody has looked yet what an earlier process left to do in a zone. The next one hears that somebody
    /// does.
    mutating func isFirstLook(_ zone: ZoneRingID) -> Bool { looked.insert(zone).inserted }

    /// Whether nothing says yet that something moves in a zone.
    func isUnnoted(_ zone: ZoneRingID) -> Bool { !noted.contains(zone) }

    mutating func note(_ zone: ZoneRingID) { noted.insert(zone) }

    /// Whether whoever asks is to begin; false where somebody does it already, who goes over the zone once more.
    mutating func begin(_ zone: ZoneRingID) -> Bool {
        let isFirst = phases[zone] == nil
        phases[zone] = isFirst ? .isUnderWay : .isWantedAgain
        return isFirst
    }

    /// Whether something has moved since the zone is being gone over.
    func isWantedAgain(_ zone: ZoneRingID) -> Bool { phases[zone] == .isWantedAgain }

    /// Whether the zone is to be gone over once more; else it is done with.
    mutating func goesOn(_ zone: ZoneRingID) -> Bool {
        guard phases[zone] == .isWantedAgain else {
            phases[zone] = nil
            noted.remove(zone)
            return false
        }
        phases[zone] = .isUnderWay
        return true
    }
}
