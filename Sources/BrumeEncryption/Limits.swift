/// What of hostile bytes is read at most.
enum Limits {
    /// Names of accounts, containers, zones and records have 255 bytes at most.
    static let textBytes = 1024
    /// Devices of one account: each has a box in each statement.
    static let devices = 64
    static let deviceNameBytes = 200
    static let sealedNameBytes = 256
}
