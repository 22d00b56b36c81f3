/// Keeps copies of bytes at fixed addresses for as long as it lives, so that trivial values can point to them.
final class ByteArena {
    private var blocks: [UnsafeMutableRawBufferPointer] = []
    private(set) var byteCount = 0

    deinit {
        for block in blocks { block.deallocate() }
    }

    func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 8)
        block.copyMemory(from: bytes)
        blocks.append(block)
        byteCount += bytes.count
        return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(block)[..<bytes.count])
    }

    func copy(_ text: String) -> UnsafeRawBufferPointer {
        var text = text
        return text.withUTF8 { copy(UnsafeRawBufferPointer($0)) }
    }

    func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer { bytes.withUnsafeBytes { copy($0) } }
}
