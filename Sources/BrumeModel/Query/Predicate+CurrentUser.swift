extension Predicate {
    /// The predicate with the current user (``Names/currentUser``) replaced by the caller's name, in comparisons with
    /// the keys of creator and last modifier. Returns nil when it names the current user and there is no caller.
    ///
    /// The tree's depth has to be bounded: the function recurses.
    ///
    /// - Parameter user: The caller's user record name; empty without an account.
    package func resolvingCurrentUser(_ user: String) -> Predicate? {
        switch self {
        case .comparison(let key, let comparison, let value) where key.isUser:
            Self.resolved(value, user).map { .comparison(key, comparison, $0) }
        case .isIn(let key, let values) where key.isUser:
            Self.all(values) { Self.resolved($0, user) }.map { .isIn(key, $0) }
        case .and(let operands): Self.all(operands) { $0.resolvingCurrentUser(user) }.map { .and($0) }
        case .or(let operands): Self.all(operands) { $0.resolvingCurrentUser(user) }.map { .or($0) }
        case .not(let operand): operand.resolvingCurrentUser(user).map { .not($0) }
        case .comparison, .isIn, .constant, .between, .anyElement, .anyElementIsIn, .text, .distance: self
        }
    }

    private static func resolved(_ value: FieldValue, _ user: String) -> FieldValue? {
        guard case .reference(let reference) = value, reference.recordName == Names.currentUser else { return value }
        return user.isEmpty
            ? nil : .reference(Reference(recordName: user, deletesSelf: reference.deletesSelf))
    }

    private static func all<Element>(_ elements: [Element], _ resolved: (Element) -> Element?) -> [Element]? {
        var all: [Element] = []
        all.reserveCapacity(elements.count)
        for element in elements {
            guard let element = resolved(element) else { return nil }
            all.append(element)
        }
        return all
    }
}

extension QueryKey {
    /// Whether the key compares with user records, of which one is the caller's.
    package var isUser: Bool { self == .creatorUserRecordID || self == .lastModifiedUserRecordID }
}
