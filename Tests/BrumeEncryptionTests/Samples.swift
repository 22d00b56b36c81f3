import Testing

@testable import BrumeEncryption

/// What the tests of this target encrypt and sign with.
enum Samples {
    /// A key that is the same in each run.
    static func key(_ number: UInt8) -> SecretKey { SecretKey(copying: [UInt8](repeating: number, count: 32)) }

    static func device(_ number: UInt8) -> KeyPairs { KeyPairs(seed: key(100 + number)) }

    /// A file of `count` bytes, the same in each run.
    static func file(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(($0 * 31 + $0 >> 8 + 7) % 251) } }
}

/// The refusal that `body` ends with; nil if it does not.
func refusal<Result: ~Copyable>(_ body: () throws -> Result) -> EncryptionRefusal? {
    do {
        _ = try body()
        return nil
    } catch let refusal as EncryptionRefusal {
        return refusal
    } catch {
        Issue.record(error)
        return nil
    }
}

extension [UInt8] {
    /// Each of what these bytes become when one bit of one byte is flipped.
    var flipped: [[UInt8]] {
        indices.map { index in
            var bytes = self
            bytes[index] ^= 1 << (index % 8)
            return bytes
        }
    }

    /// All that these bytes become when they are cut, and when a byte stands behind them.
    var cutAndContinued: [[UInt8]] { (0..<count).map { Array(prefix($0)) } + [self + [0]] }
}
