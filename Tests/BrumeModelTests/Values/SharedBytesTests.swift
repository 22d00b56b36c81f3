import BrumeModel
import Testing

struct SharedBytesTests {
    private static let storage: [UInt8] = [1, 2, 3, 1, 2, 3]

    @Test("parts of an array are their own bytes, wherever they stand")
    func parts() {
        let whole = SharedBytes(Self.storage)
        #expect(whole.count == 6 && !whole.isEmpty && whole.array == Self.storage)
        let last = SharedBytes(of: Self.storage, at: 3..<6)
        #expect(last.count == 3 && last.array == [1, 2, 3])
        #expect(last.part(1..<3).array == [2, 3])
        #expect(last.part(3..<3).isEmpty)
        #expect(last.withUnsafeBytes { Array($0) } == [1, 2, 3])
        #expect(SharedBytes().isEmpty && SharedBytes().array.isEmpty)
    }

    @Test("are equal where their bytes are")
    func equality() {
        let (first, last) = (SharedBytes(of: Self.storage, at: 0..<3), SharedBytes(of: Self.storage, at: 3..<6))
        #expect(first == last && first == SharedBytes([1, 2, 3]) && [first] == [last])
        #expect(first != SharedBytes(of: Self.storage, at: 1..<4))
        #expect(first != SharedBytes(of: Self.storage, at: 0..<2))
        #expect(SharedBytes() == last.part(2..<2))
    }

    @Test("say nothing of what stands beside them")
    func description() {
        #expect("\(SharedBytes(of: [7, 8, 9], at: 1..<2))" == "[8]")
    }
}
