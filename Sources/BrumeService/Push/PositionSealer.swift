package import BrumeModel
internal import BrumeSystem

/// Turns the positions of streams into opaque bytes and back.
///
/// ```
/// 0   1  version, 1
/// 1   16 code over all else (``DeterministicSeal``)
/// 17  8  encrypted from here on: digest of the scope, which is the user's private database
/// 25     for each source of which the position says something, in the order of their numbers:
///     1  source
///     4  run (numbers are big-endian)
///     8  position
/// ```
///
/// An event goes to a user's devices one after the other, and most of them stand at the same place: the last seal is
/// kept, so that a thousand devices cost one authentication code. Belongs to one loop.
package final class PositionSealer {
    /// What the keys are derived by; see ``DeterministicSeal``.
    package static let label = "stream positions"
    private static let version: UInt8 = 1
    private static let scopeByteCount = 8
    private static let placeByteCount = 13

    private let positions: DeterministicSeal
    private var last: (position: StreamPosition, scope: [UInt8], seal: [UInt8])?

    package init(key: [UInt8]) {
        positions = DeterministicSeal(secret: key, label: Self.label)
    }

    /// - Parameter scope: The scope of tokens of the user's private database: see ``TokenSealer/scope(_:zone:)``.
    package func seal(_ position: StreamPosition, scope: [UInt8]) -> [UInt8] {
        if let last, last.position == position, last.scope == scope { return last.seal }
        var bytes = scope
        bytes.reserveCapacity(scope.count + StreamPosition.Source.allCases.count * Self.placeByteCount)
        for source in StreamPosition.Source.allCases {
            guard let place = position[source] else { continue }
            bytes.append(source.rawValue)
            withUnsafeBytes(of: place.run.bigEndian) { bytes.append(contentsOf: $0) }
            withUnsafeBytes(of: place.position.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
        }
        let seal = positions.seal(bytes, version: Self.version)
        last = (position, scope, seal)
        return seal
    }

    /// The position in `bytes`, or nil when there are none.
    package func open(_ bytes: [UInt8], scope: [UInt8]) throws(ServiceError) -> StreamPosition? {
        if bytes.isEmpty { return nil }
        guard bytes.first == Self.version, let text = positions.open(bytes), text.count >= Self.scopeByteCount,
            let position = Self.position(in: text.dropFirst(Self.scopeByteCount))
        else {
            throw ServiceError(
                .invalidArguments,
                "the position was not made by this server; use one from an earlier event, or none to begin where the"
                    + " device acknowledged last")
        }
        guard Array(text.prefix(Self.scopeByteCount)) == scope else {
            throw ServiceError(
                .changeTokenExpired, "the position belongs to another account or container; open the stream without one"
            )
        }
        return position
    }

    /// A genuine seal was made here, so only a version of the server that knows more sources could have written what
    /// this one can't read.
    private static func position(in places: ArraySlice<UInt8>) -> StreamPosition? {
        guard places.count % placeByteCount == 0 else { return nil }
        var position = StreamPosition()
        for start in stride(from: places.startIndex, to: places.endIndex, by: placeByteCount) {
            func number(_ range: Range<Int>) -> UInt64 {
                places[start + range.lowerBound..<start + range.upperBound].reduce(0) { $0 << 8 | UInt64($1) }
            }
            guard let source = StreamPosition.Source(rawValue: places[start]) else { return nil }
            position[source] = StreamPosition.Place(
                run: UInt32(number(1..<5)), position: ChangePosition(rawValue: number(5..<13)))
        }
        return position
    }
}
