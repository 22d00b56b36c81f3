internal import BrumeModel

extension ServiceError {
    /// The refusal of any change, whatever it changes, when the disk has no room for it.
    static let diskFull = ServiceError(
        .serviceUnavailable, "the server's disk is full; reading goes on, try again when there is room",
        retryAfterMilliseconds: ServerLimits.diskFullRetryMilliseconds)
}
