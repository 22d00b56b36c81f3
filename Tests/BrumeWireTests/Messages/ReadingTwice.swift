import BrumeModel
import BrumeRandom

/// What a reader made of bytes, so that two ways of reading can be compared.
func outcome<Value>(_ body: () throws -> Value) throws -> Result<Value, ServiceError> {
    do {
        return .success(try body())
    } catch let error as ServiceError {
        return .failure(error)
    }
}

extension [UInt8] {
    /// The bytes with one to three of them changed, left out or put in at random.
    func mutated(_ random: inout SeededGenerator) -> [UInt8] {
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
}
