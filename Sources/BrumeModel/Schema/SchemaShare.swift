/// A number of record types and fields: a part of a schema.
package struct SchemaShare: Equatable, Sendable {
    package var types: Int
    package var fields: Int

    package init(types: Int, fields: Int) {
        self.types = types
        self.fields = fields
    }

    /// What one account's saves may teach a development schema, unless the operator lets every account teach all of it.
    package static let ofTeacher = SchemaShare(types: Limits.recordTypesPerTeacher, fields: Limits.fieldsPerTeacher)

    /// All that a schema may have.
    package static let whole = SchemaShare(types: Limits.recordTypesPerSchema, fields: Limits.fieldsPerSchema)
}
