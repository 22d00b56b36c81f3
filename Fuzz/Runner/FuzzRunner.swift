internal import BrumeFuzz
internal import Glibc

// One program for all targets, whose `main` is libFuzzer's: options and folders are its arguments, and the variable
// BRUME_FUZZ_TARGET chooses the target.

private let chosen: FuzzTarget = {
    let name = getenv("BRUME_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        print("BRUME_FUZZ_TARGET is one of: \(FuzzTarget.all.map(\.name).joined(separator: " "))")
        exit(2)
    }
    return target
}()

@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    chosen.run(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}
