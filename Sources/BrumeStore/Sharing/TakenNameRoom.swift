package import BrumeModel

/// How many names a user may still be told to be taken by records that are not shared with them.
///
/// A save under such a name has to fail, and so tells that there is a record. When there is no room left, no save of a
/// new record succeeds in shared zones, whether or not its name is taken: a guess more tells nothing.
package struct TakenNameRoom: Sendable {
    private var left: Int
    private let retryAfterMilliseconds: UInt32

    package init(left: Int, retryAfterMilliseconds: UInt32) {
        self.left = left
        self.retryAfterMilliseconds = retryAfterMilliseconds
    }

    /// For owners, from whom nothing is kept.
    package static let unlimited = TakenNameRoom(left: .max, retryAfterMilliseconds: 0)

    /// Throws `requestRateLimited` when there is no room.
    func check() throws(ServiceError) {
        if left > 0 { return }
        throw ServiceError(
            .requestRateLimited,
            "too many new records had names that are taken; wait a minute, and give new records names that are random",
            retryAfterMilliseconds: retryAfterMilliseconds)
    }

    /// A name is told to be taken.
    mutating func take() { left -= 1 }

    /// How many names the results of a request tell to be taken.
    package static func count(in results: [ZoneModificationResult<SharedBytes>]) -> Int {
        results.reduce(0) { count, result in
            count + result.saves.count { if case .failure(ZoneBatch.takenName) = $0.outcome { true } else { false } }
        }
    }
}
