/// What a caller may do with records of the public database: grants of the schema to the caller's roles
/// (Documentation/CloudKit.md, What works where).
///
/// Every caller has the role `_world`, a caller with an account also `_icloud`, with records that they created
/// `_creator`, and the roles that the operator gave them. A type that the schema does not know, whose records are older
/// than the schema, has the grants of a learned one.
///
/// A class, because every caller has room for one and most have none: it costs them no more than a word.
package final class PublicAccess: Sendable {
    package let schema: Schema
    package let place: SchemaPlace
    /// User record name; empty without an account.
    package let user: String
    /// Custom roles of the user.
    package let roles: Set<String>

    package init(schema: Schema, place: SchemaPlace, user: String, roles: Set<String> = []) {
        self.schema = schema
        self.place = place
        self.user = user
        self.roles = roles
    }

    /// What the caller may do with records of the type.
    package func permissions(type: String, isCreator: Bool) -> Permissions {
        let grants = schema.recordTypes[type]?.grants ?? DefaultRole.grants
        var permissions = grants[DefaultRole.world] ?? []
        if user.isEmpty { return permissions }
        permissions.formUnion(grants[DefaultRole.authenticated] ?? [])
        if isCreator { permissions.formUnion(grants[DefaultRole.creator] ?? []) }
        for role in roles { permissions.formUnion(grants[role] ?? []) }
        return permissions
    }

    /// Whether the caller may make or change records of some type whose fields hold assets.
    package var maySaveAssets: Bool {
        schema.recordTypes.contains { name, type in
            type.fields.contains { $0.type.element == .asset }
                && !permissions(type: name, isCreator: true).isDisjoint(with: [.create, .write])
        }
    }

    package func may(_ permission: Permissions, type: String, creator: String) -> Bool {
        permissions(type: type, isCreator: creator == user).contains(permission)
    }

    /// Why the caller may not, or nil.
    package func refusal(_ permission: Permissions, type: String, creator: String) -> ServiceError? {
        if may(permission, type: type, creator: creator) { return nil }
        let grants = schema.recordTypes[type]?.grants ?? DefaultRole.grants
        let roles = grants.filter { $0.value.contains(permission) }.keys.sorted()
        let allowed = roles.isEmpty ? "no role" : roles.joined(separator: ", ")
        return ServiceError(
            .permissionFailure,
            "\(permission.text) of record type \(type) is granted to \(allowed) in \(place.name): "
                + place.remedy("GRANT \(permission.text) TO a role of the caller")
                + ", or put the account into a role with `brume schema role ROLE ACCOUNT`")
    }

    /// Why the caller may not be given what a query that was made ``readable(_:)`` finds, or nil: roles may have been
    /// taken away since.
    package func refusalToAnswer(_ query: Query) -> ServiceError? {
        if permissions(type: query.recordType, isCreator: false).contains(.read) { return nil }
        if let refusal = refusal(.read, type: query.recordType, creator: user) { return refusal }
        if case .and(let parts) = query.predicate, parts.first == isOwn { return nil }
        return ServiceError(
            .permissionFailure,
            "what the caller may read of record type \(query.recordType) has changed since the query began; send it again"
        )
    }

    /// Holds for the records that the caller made.
    private var isOwn: Predicate {
        .comparison(.creatorUserRecordID, .equal, .reference(Reference(recordName: user, deletesSelf: false)))
    }

    /// Why the caller may not be told how a query of the type is run, or nil: what is read then, and how long that
    /// takes, depends on all records of the type.
    package func refusalToExplain(_ query: Query) -> ServiceError? {
        if permissions(type: query.recordType, isCreator: false).contains(.read) { return nil }
        return ServiceError(
            .permissionFailure,
            "how a query of record type \(query.recordType) is run is told to those who may read all such records, because it depends "
                + "on them; run the query itself, or ask as somebody who may")
    }

    /// The query limited to what the caller may read: unchanged, or narrowed to the records that the caller created.
    ///
    /// Throws `permissionFailure` when the caller may read none.
    package func readable(_ query: Query) throws(ServiceError) -> Query {
        if permissions(type: query.recordType, isCreator: false).contains(.read) { return query }
        if let refusal = refusal(.read, type: query.recordType, creator: user) { throw refusal }
        var query = query
        query.predicate = .and([isOwn, query.predicate])
        return query
    }
}
