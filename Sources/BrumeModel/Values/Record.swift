/// What the server keeps of a record beside its fields.
package struct SystemFields: Equatable, Sendable {
    package var name: String
    package var type: String
    /// Opaque to clients; see ``ChangeTag``.
    package var changeTag: String
    /// The user record name of the creator.
    package var creator: String
    /// Milliseconds since 1970, by the server's clock.
    package var createdMilliseconds: Int64
    /// The user record name of the last modifier.
    package var modifier: String
    /// Milliseconds since 1970, by the server's clock.
    package var modifiedMilliseconds: Int64
    /// The name of the parent record in the same zone, or nil.
    package var parent: String?
    /// What says that somebody with a tree's key put the record into that tree (Documentation/EncryptionFormats.md,
    /// section 5); empty when nothing does.
    package var stamp: [UInt8]

    package init(
        name: String, type: String, changeTag: String = "", creator: String = "", createdMilliseconds: Int64 = 0,
        modifier: String = "", modifiedMilliseconds: Int64 = 0, parent: String? = nil, stamp: [UInt8] = []
    ) {
        self.name = name
        self.type = type
        self.changeTag = changeTag
        self.creator = creator
        self.createdMilliseconds = createdMilliseconds
        self.modifier = modifier
        self.modifiedMilliseconds = modifiedMilliseconds
        self.parent = parent
        self.stamp = stamp
    }
}

/// A record with decoded values, as a client sees it.
package struct Record: Equatable, Sendable {
    package var system: SystemFields
    package var fields: [String: FieldValue]
    /// The name of the share whose root the record is, or nil.
    package var share: String?
    /// What the client may see of the share that the record is; nil for all other records.
    package var shareDetails: ShareView?

    package init(
        system: SystemFields, fields: [String: FieldValue] = [:], share: String? = nil, shareDetails: ShareView? = nil
    ) {
        self.system = system
        self.fields = fields
        self.share = share
        self.shareDetails = shareDetails
    }
}

/// A field as the server keeps it: its key, and the canonical encoding of its `brume.v1.Field` message.
package struct EncodedField: Equatable, Sendable {
    package var key: String
    package var bytes: [UInt8]

    package init(key: String, bytes: [UInt8]) {
        self.key = key
        self.bytes = bytes
    }
}
