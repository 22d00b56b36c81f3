internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeSystem

/// What a sealed position of a stream says, read with the simulated servers' key; see `PositionSealer`. Clients can't
/// do this.
struct PeekedPosition {
    private var places: [DatabaseScope: UInt64] = [:]

    init?(_ bytes: [UInt8]) {
        let seal = DeterministicSeal(secret: SimulatedServer.key, label: PositionSealer.label)
        guard let parts = seal.open(bytes), parts.count >= 8, (parts.count - 8) % 13 == 0 else { return nil }
        for start in stride(from: 8, to: parts.count, by: 13) {
            let place = parts[start + 5..<start + 13].reduce(0) { $0 << 8 | UInt64($1) }
            switch StreamPosition.Source(rawValue: parts[start]) {
            case .privateDatabase: places[.private] = place
            case .publicDatabase: places[.public] = place
            case .sharedDatabase: places[.shared] = place
            case nil: return nil
            }
        }
    }

    /// Where the position stands in one database; nil if it says nothing about that.
    func place(in scope: DatabaseScope) -> UInt64? { places[scope] }
}
