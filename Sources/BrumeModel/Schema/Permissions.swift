/// What a role may do with the records of a type in the public database (Documentation/CloudKit.md, What works where).
package struct Permissions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let read = Permissions(rawValue: 1)
    package static let create = Permissions(rawValue: 2)
    /// Save over and delete.
    package static let write = Permissions(rawValue: 4)

    package static let all: Permissions = [.read, .create, .write]

    /// Each permission with its keyword, in the order in which they are printed.
    package static let keywords: [(permission: Permissions, keyword: String)] = [
        (.read, "READ"), (.create, "CREATE"), (.write, "WRITE"),
    ]

    /// The keywords, a comma between two.
    package var text: String {
        Permissions.keywords.filter { contains($0.permission) }.map(\.keyword).joined(separator: ", ")
    }
}

/// The roles that exist without being made.
package enum DefaultRole {
    /// Everybody, also without an account.
    package static let world = "_world"
    /// Everybody with an account.
    package static let authenticated = "_icloud"
    /// The user who created the record.
    package static let creator = "_creator"

    package static let all: Set<String> = [world, authenticated, creator]

    /// The grants of a learned type, and of a type that the schema does not have.
    package static let grants: [String: Permissions] = [world: .read, authenticated: .create, creator: .write]
}
