/// Which fields a full-text search looks into: of a record's texts and lists of texts, those that the schema makes
/// searchable.
package enum SearchableFields: Hashable, Sendable {
    /// Where no schema says otherwise.
    case all
    case only(Set<String>)
}
