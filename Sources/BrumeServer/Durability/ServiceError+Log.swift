internal import BrumeModel
internal import BrumeStore

extension ServiceError {
    /// The refusal of any change, whatever it changes, when the disk has no room for it.
    static let diskFull = ServiceError(
        .serviceUnavailable, "the server's disk is full; reading goes on, try again when there is room",
        retryAfterMilliseconds: ServerLimits.diskFullRetryMilliseconds)

    /// The refusal of what can't wait for the disk, because too much waits for it.
    static let diskBehind = ServiceError(
        .serviceUnavailable, "the disk is behind; try again shortly", retryAfterMilliseconds: 1_000)

    /// What a client is told whose change the log does not take.
    init(_ refusal: CommitLogRefusal) {
        switch refusal {
        case .full: self = .diskFull
        case .behind: self = .diskBehind
        }
    }
}
