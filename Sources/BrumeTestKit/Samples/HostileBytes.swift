package import BrumeRandom

/// Bytes for a decoder, for tests that damage to them does nothing worse than have them refused.
package struct HostileBytes {
    package typealias Decode = (UnsafeRawBufferPointer) throws -> Void

    private let bytes: [UInt8]
    private let decode: Decode

    package init(_ bytes: [UInt8], _ decode: @escaping Decode) {
        self.bytes = bytes
        self.decode = decode
    }

    /// Reads all of the bytes, which has to succeed, and then what is left when they are cut at each byte.
    package func readCutAnywhere() throws {
        try bytes.decoded(decode)
        for count in bytes.indices { try? Array(bytes.prefix(count)).decoded(decode) }
    }

    /// Reads one of these with random damage, `count` times. Returns how often that succeeded.
    package static func readDamaged(_ all: [HostileBytes], times count: Int, seed: UInt64) -> Int {
        var random = SeededGenerator(seed: seed)
        var understood = 0
        for _ in 0..<count {
            let one = random.pick(all)
            var bytes = one.bytes
            for _ in 0..<Int.random(in: 1...6, using: &random) { damage(&bytes, &random) }
            if (try? bytes.decoded(one.decode)) != nil { understood += 1 }
        }
        return understood
    }

    private static func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 2: bytes.remove(at: place)
        case 3: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
        default:
            let end = min(bytes.count, place + Int.random(in: 1...40, using: &random))
            bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &random))
        }
    }
}

extension [UInt8] {
    /// The bytes with one to three of them changed, left out or put in at random.
    package func mutated(_ random: inout SeededGenerator) -> [UInt8] {
        var bytes = self
        for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 2: bytes.remove(at: place)
            default: bytes.insert(UInt8.random(in: 0...31, using: &random), at: place)
            }
        }
        return bytes
    }

    /// The value that a decoder makes of these bytes.
    package func decoded<Value, Failure: Error>(
        _ decode: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        // A copy of exactly this size, so that a checker of memory sees a read past its end.
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: self)
        return try decode(UnsafeRawBufferPointer(copy))
    }
}
