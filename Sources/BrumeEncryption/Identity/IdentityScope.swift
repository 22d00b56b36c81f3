/// The owner of an identity: one account in one container and environment. No two of them share anything.
package struct IdentityScope: Hashable, Sendable {
    /// The user record name.
    package let account: String
    package let container: String
    /// `development` or `production`.
    package let environment: String

    package init(account: String, container: String, environment: String) {
        self.account = account
        self.container = container
        self.environment = environment
    }

    package static func == (left: IdentityScope, right: IdentityScope) -> Bool {
        left.account.hasBytes(of: right.account) && left.container.hasBytes(of: right.container)
            && left.environment.hasBytes(of: right.environment)
    }
}

extension PartWriter {
    mutating func write(_ scope: IdentityScope) {
        write(text: scope.account)
        write(text: scope.container)
        write(text: scope.environment)
    }
}

extension PartReader {
    mutating func readScope() throws(EncryptionRefusal) -> IdentityScope {
        let scope = IdentityScope(account: try readText(), container: try readText(), environment: try readText())
        guard AccountName.isValid(scope.account), EnvironmentName.isValid(scope.environment) else { throw .damaged }
        return scope
    }
}
