import BrumeStore
import BrumeTestKit
import Testing

/// A flipped bit is taken back where it still stands. A start that ends early may have written over it already, and
/// then what it wrote is right as it is.
@Suite("A flipped bit that is flipped back")
struct FlippedBitTests {
    private static let path = "file"
    /// In the second of three sectors.
    private static let offset = 600
    private static let count = 1_536

    /// A file of ones, durable, with one bit flipped so that the byte reads as zero: the value alone does not tell it
    /// from zeros that are written there.
    private let disk = SimulatedDisk()
    private let file: DiskFile

    init() throws {
        file = try disk.create(Self.path)
        try disk.write(Self.bytes(1), to: file, at: 0)
        disk.syncEverything()
        disk.flip(1, at: Self.offset, of: Self.path)
        #expect(disk.contents(of: Self.path)?[Self.offset] == 0)
    }

    private static func bytes(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: count) }

    /// What the file holds after a power cut that loses all that is not synced.
    private var durable: [UInt8]? {
        let copy = disk.copy()
        copy.crash(seed: 1, .nothing)
        return copy.contents(of: Self.path)
    }

    private func flipBack() { disk.flipBack(at: Self.offset, of: Self.path) }

    @Test("is as it was, where nothing was written")
    func untouched() {
        flipBack()
        #expect(disk.contents(of: Self.path) == Self.bytes(1) && durable == Self.bytes(1))
        // Once is enough.
        flipBack()
        #expect(disk.contents(of: Self.path) == Self.bytes(1) && durable == Self.bytes(1))
    }

    @Test("stays what was written over it, though without a sync the bit itself may come back")
    func written() throws {
        try disk.write(Self.bytes(0), to: file, at: 0)
        flipBack()
        #expect(disk.contents(of: Self.path) == Self.bytes(0) && durable == Self.bytes(1))
    }

    @Test("stays what was written over it and synced")
    func synced() throws {
        try disk.write(Self.bytes(0), to: file, at: 0)
        try disk.sync(file)
        flipBack()
        #expect(disk.contents(of: Self.path) == Self.bytes(0) && durable == Self.bytes(0))
    }

    @Test("is as it was where others were written, synced or not")
    func besides() throws {
        try disk.write([0], to: file, at: UInt64(Self.offset - 1))
        try disk.sync(file)
        try disk.write([0], to: file, at: UInt64(Self.offset + 1))
        flipBack()
        var expected = Self.bytes(1)
        expected[Self.offset - 1] = 0
        #expect(durable == expected)
        expected[Self.offset + 1] = 0
        #expect(disk.contents(of: Self.path) == expected)
    }

    @Test("is as it was on the disk when the sync of what was written over it failed")
    func failedSync() throws {
        try disk.write(Self.bytes(0), to: file, at: 0)
        disk.faults.failingCall = disk.calls
        #expect(throws: DiskError.self) { try disk.sync(file) }
        try disk.sync(file)
        flipBack()
        #expect(disk.contents(of: Self.path) == Self.bytes(0) && durable == Self.bytes(1))
    }

    @Test("is nothing to another file that has the name now")
    func replaced() throws {
        try disk.remove(Self.path)
        try disk.write(Self.bytes(3), to: disk.create(Self.path), at: 0)
        flipBack()
        #expect(disk.contents(of: Self.path) == Self.bytes(3))
    }
}
