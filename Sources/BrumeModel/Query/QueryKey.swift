/// What a predicate compares and a query sorts by: a field of the app, or one that the server keeps for every record
/// (Documentation/CloudKit.md, Queries).
package enum QueryKey: Hashable, Sendable {
    case field(String)
    /// Compares with references; only the record's name counts.
    case recordID
    case creationDate
    case modificationDate
    /// Compares with references to user records.
    case creatorUserRecordID
    /// Compares with references to user records.
    case lastModifiedUserRecordID
    /// Compares with references to records of the same zone.
    case parent

    /// The key as a predicate's text spells it.
    package init(name: String) {
        self = Self.systemKeys[name] ?? .field(name)
    }

    /// The names of the fields that the server keeps, as a predicate's text spells them.
    package static var systemNames: [String] { systemKeys.keys.sorted() }

    /// As a predicate's text spells it.
    package var name: String {
        switch self {
        case .field(let key): key
        case .recordID: "recordID"
        case .creationDate: "creationDate"
        case .modificationDate: "modificationDate"
        case .creatorUserRecordID: "creatorUserRecordID"
        case .lastModifiedUserRecordID: "lastModifiedUserRecordID"
        case .parent: "parent"
        }
    }

    /// As the schema language spells it: system fields have three underscores.
    package var schemaName: String {
        switch self {
        case .field(let key): key
        case .recordID: "___recordID"
        case .creationDate: "___createTime"
        case .modificationDate: "___modTime"
        case .creatorUserRecordID: "___createdBy"
        case .lastModifiedUserRecordID: "___modifiedBy"
        case .parent: "___parent"
        }
    }

    private static let systemKeys: [String: QueryKey] = [
        "recordID": .recordID, "creationDate": .creationDate, "modificationDate": .modificationDate,
        "creatorUserRecordID": .creatorUserRecordID, "lastModifiedUserRecordID": .lastModifiedUserRecordID,
        "parent": .parent,
    ]
}
