/// What is believed of rings for ten seconds, so that nobody asks about each of them for each page of records. Pure.
///
/// The server names the rings, and can make some up: when there are too many, no more are remembered until others are
/// forgotten, and who needs them asks each time.
struct ShortMemory<Value> {
    static var lifetimeMilliseconds: UInt64 { 10_000 }
    static var ringsMax: Int { 4_096 }

    private var notes: [ZoneRingID: (value: Value, untilMilliseconds: UInt64)] = [:]

    /// What is still believed of a ring; nil for nothing.
    func value(of ring: ZoneRingID, at milliseconds: UInt64) -> Value? {
        guard let note = notes[ring], milliseconds < note.untilMilliseconds else { return nil }
        return note.value
    }

    /// Believes it from now on, whatever was believed before.
    mutating func note(_ value: Value, of ring: ZoneRingID, at milliseconds: UInt64) {
        if notes[ring] == nil, notes.count >= Self.ringsMax {
            notes = notes.filter { milliseconds < $0.value.untilMilliseconds }
            if notes.count >= Self.ringsMax { return }
        }
        notes[ring] = (value, milliseconds &+ Self.lifetimeMilliseconds)
    }

    /// Changes what is believed, which is forgotten no later for it; notes the default where that is nothing.
    mutating func update(
        _ ring: ZoneRingID, at milliseconds: UInt64, default value: Value, _ change: (inout Value) -> Void
    ) {
        if self.value(of: ring, at: milliseconds) == nil { note(value, of: ring, at: milliseconds) }
        if notes[ring] != nil { change(&notes[ring]!.value) }
    }

    mutating func forget(_ ring: ZoneRingID) { notes[ring] = nil }

    /// Forgets all rings of a zone.
    mutating func forget(zone: ZoneRingID) { notes = notes.filter { $0.key.zones != zone.zones } }

    mutating func forgetAll() { notes = [:] }
}
