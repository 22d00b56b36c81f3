package import BrumeModel
internal import BrumeStore

extension ServiceError {
    /// The refusal of any change, whatever it changes, when the disk has no room for it.
    package static let diskFull = ServiceError(
        .serviceUnavailable, "the server's disk is full; reading goes on, try again when there is room",
        retryAfterMilliseconds: ServiceLimits.diskFullRetryMilliseconds)

    /// The refusal of what can't wait for the disk, because too much waits for it.
    static let diskBehind = ServiceError(
        .serviceUnavailable, "the disk is behind; try again shortly", retryAfterMilliseconds: 1_000)

    /// What is told to those who wait for something of a database that was lost.
    static let databaseLost = ServiceError(
        .serviceUnavailable, "the database is opened anew; whether its last changes stay shows then, try again shortly",
        retryAfterMilliseconds: ServiceLimits.loadRetryMilliseconds)

    /// What a client is told whose change the log does not take.
    init(_ refusal: CommitLogRefusal) {
        switch refusal {
        case .full: self = .diskFull
        case .behind: self = .diskBehind
        case .fenced: self = .databaseLost
        }
    }
}
