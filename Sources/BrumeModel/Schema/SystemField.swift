/// The fields that every record has without an app's doing, as the schema language names them
/// (Documentation/CloudKit.md, Schemas).
package enum SystemField: UInt8, Hashable, Sendable, CaseIterable {
    case createTime = 1
    case createdBy = 2
    case etag = 3
    case modTime = 4
    case modifiedBy = 5
    case recordID = 6

    package var name: String {
        switch self {
        case .createTime: "___createTime"
        case .createdBy: "___createdBy"
        case .etag: "___etag"
        case .modTime: "___modTime"
        case .modifiedBy: "___modifiedBy"
        case .recordID: "___recordID"
        }
    }

    package var type: SchemaFieldType {
        switch self {
        case .createTime, .modTime: SchemaFieldType(.timestamp)
        case .createdBy, .modifiedBy, .recordID: SchemaFieldType(.reference)
        case .etag: SchemaFieldType(.string)
        }
    }

    package init?(name: String) {
        guard let field = SystemField.allCases.first(where: { $0.name == name }) else { return nil }
        self = field
    }

    /// The field that a query's key stands for; nil for an app's field, and for `parent`, which the language does not
    /// know.
    package init?(_ key: QueryKey) {
        switch key {
        case .recordID: self = .recordID
        case .creationDate: self = .createTime
        case .modificationDate: self = .modTime
        case .creatorUserRecordID: self = .createdBy
        case .lastModifiedUserRecordID: self = .modifiedBy
        case .field, .parent: return nil
        }
    }

    /// The options that the field can have. Records can be sorted by their names.
    package var applicableOptions: IndexOptions {
        switch self {
        case .createTime, .modTime, .recordID: [.queryable, .sortable]
        case .createdBy, .modifiedBy: .queryable
        case .etag: .all
        }
    }

    /// The options that a learned type gets, unless the server is as strict as CloudKit, which gives none.
    package var learnedOptions: IndexOptions {
        switch self {
        case .createTime, .modTime: [.queryable, .sortable]
        case .createdBy, .modifiedBy, .recordID: .queryable
        case .etag: []
        }
    }
}
