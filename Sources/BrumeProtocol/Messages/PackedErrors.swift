/// Encoded errors of items, in the items' order: packed when sizes are counted, taken when the items are written.
struct PackedErrors {
    private var errors: [[UInt8]] = []
    private var taken = 0

    /// Appends an error and returns its size.
    mutating func append(_ error: [UInt8]) -> Int {
        errors.append(error)
        return error.count
    }

    /// The first one that was not taken.
    mutating func next() -> [UInt8] {
        defer { taken += 1 }
        return errors[taken]
    }

    mutating func removeAll() {
        if errors.isEmpty { return }
        errors.removeAll()
        taken = 0
    }
}
