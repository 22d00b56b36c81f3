@testable import BrumeEncryption

extension Samples {
    static let scope = IdentityScope(account: "_ann", container: "iCloud.example.notes", environment: "production")
}
