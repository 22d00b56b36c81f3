internal import BrumeRandom

/// A disk writes so many bytes whole, or not at all.
private let sectorBytes = 512

/// What a file of a ``SimulatedDisk`` holds: what was written, and what of it is durable.
struct SimulatedContent {
    var current: [UInt8] = []
    var durable: [UInt8] = []
    /// Sectors of a sync that failed: the system considers them written, and no later sync writes them again. They
    /// are in ``current`` until the power goes.
    var forgotten: Set<Int> = []
    /// Sectors that read as zeros and take no room, because a write began after the end.
    var holes: Set<Int> = []
    /// The flipped bits, by their offsets, that nothing was written over: in ``current`` and in ``durable``.
    var flips: [Int: UInt8] = [:]
    var durableFlips: [Int: UInt8] = [:]

    /// The bytes that it takes on the disk.
    var usedBytes: Int { current.count - holes.count * sectorBytes }

    mutating func sync() {
        var next = current
        for sector in forgotten {
            let range = sector * sectorBytes..<min((sector + 1) * sectorBytes, next.count)
            for index in range { next[index] = index < durable.count ? durable[index] : 0 }
        }
        durable = next
        if flips.isEmpty, durableFlips.isEmpty { return }
        let isForgotten = { [forgotten] (offset: Int) in forgotten.contains(offset / sectorBytes) }
        durableFlips = durableFlips.filter { isForgotten($0.key) }
            .merging(flips.filter { !isForgotten($0.key) }) { $1 }
    }

    mutating func forget() {
        for sector in 0..<(current.count + sectorBytes - 1) / sectorBytes {
            let range = sector * sectorBytes..<min((sector + 1) * sectorBytes, current.count)
            if range.upperBound > durable.count || current[range] != durable[range] { forgotten.insert(sector) }
        }
    }

    mutating func write(_ bytes: [UInt8], at offset: Int) {
        if bytes.isEmpty { return }
        let end = offset + bytes.count
        let sectors = offset / sectorBytes...(end - 1) / sectorBytes
        let gap = (first: (current.count + sectorBytes - 1) / sectorBytes, end: offset / sectorBytes)
        if gap.first < gap.end { holes.formUnion(gap.first..<gap.end) }
        if end > current.count { current += [UInt8](repeating: 0, count: end - current.count) }
        current.replaceSubrange(offset..<end, with: bytes)
        if !holes.isEmpty { holes.subtract(sectors) }
        if !forgotten.isEmpty { forgotten.subtract(sectors) }
        if !flips.isEmpty { flips = flips.filter { !(offset..<end).contains($0.key) } }
    }

    mutating func flip(_ mask: UInt8, at offset: Int) {
        if offset < current.count {
            current[offset] ^= mask
            flips[offset, default: 0] ^= mask
        }
        if offset < durable.count {
            durable[offset] ^= mask
            durableFlips[offset, default: 0] ^= mask
        }
    }

    mutating func flipBack(at offset: Int) {
        if let mask = flips.removeValue(forKey: offset) { current[offset] ^= mask }
        if let mask = durableFlips.removeValue(forKey: offset) { durable[offset] ^= mask }
    }

    /// How many bytes of a write fit, from its beginning.
    func fitting(_ count: Int, at offset: Int, in room: Int) -> Int {
        var left = room
        var position = offset
        while position < offset + count {
            let next = min(offset + count, (position / sectorBytes + 1) * sectorBytes)
            let growth = max(0, next - max(position, current.count))
            let needed = growth + (holes.contains(position / sectorBytes) ? sectorBytes : 0)
            // Existing sectors can be overwritten however full the disk is.
            if needed > 0, needed > left { break }
            left -= needed
            position = next
        }
        return position - offset
    }

    /// What a power cut leaves.
    func survivor(
        _ survival: SimulatedDisk.Survival, using generator: inout SeededGenerator
    ) -> SimulatedContent {
        let survived =
            switch survival {
            case .byChance: survivor(using: &generator)
            case .nothing: durable
            case .everything: current
            }
        return SimulatedContent(current: survived, durable: survived)
    }

    private func survivor(using generator: inout SeededGenerator) -> [UInt8] {
        if current == durable { return durable }
        var survived = durable
        let length = Bool.random(using: &generator) ? current.count : durable.count
        if length > survived.count {
            survived += [UInt8](repeating: 0, count: length - survived.count)
        } else {
            survived.removeLast(survived.count - length)
        }
        for start in stride(from: 0, to: length, by: sectorBytes) where Bool.random(using: &generator) {
            let end = min(start + sectorBytes, length, current.count)
            if start < end { survived.replaceSubrange(start..<end, with: current[start..<end]) }
        }
        return survived
    }
}
