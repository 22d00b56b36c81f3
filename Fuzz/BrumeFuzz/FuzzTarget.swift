/// A function of bytes from outside. Whatever they are, it returns: what it finds wrong with them is an error that it
/// expects; anything else traps, and is a finding.
package struct FuzzTarget: Sendable {
    package let name: String
    package let run: @Sendable (UnsafeRawBufferPointer) -> Void
    /// Well-formed input of every kind, for a corpus to start with.
    package let seeds: @Sendable () -> [[UInt8]]

    package static let all: [FuzzTarget] = [
        frames, requests, answers, tokens, cursors, journalFile, journalEntries, snapshotFile, snapshotContent,
        accounts,
        records, predicates, schemaText, schemaFile, encryption,
    ]
}

/// Bytes that are taken from the front of an input to steer a target.
struct Steering {
    private(set) var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
        rest = bytes
    }

    /// The next byte; 0 behind the end.
    mutating func byte() -> Int {
        guard let first = rest.first else { return 0 }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
        return Int(first)
    }

    /// The next bytes, up to so many.
    mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer {
        let taken = UnsafeRawBufferPointer(rebasing: rest.prefix(count))
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        return taken
    }
}

extension Array where Element == UInt8 {
    /// What a decoder makes of these bytes; it sees a copy of exactly this size, so that reads behind the end show.
    func decoded<Value, Failure: Error>(
        _ decode: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: self)
        return try decode(UnsafeRawBufferPointer(copy))
    }
}
