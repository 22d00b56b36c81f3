/// Names of environments, as encrypted and signed things have them.
enum EnvironmentName {
    static func isValid(_ name: String) -> Bool { name.hasBytes(of: "development") || name.hasBytes(of: "production") }
}

/// User record names, as encrypted and signed things have them.
enum AccountName {
    /// Whether it names one account: not the word by which each account means itself.
    static func isValid(_ name: String) -> Bool { !name.isEmpty && !name.hasBytes(of: "__defaultOwner__") }
}
