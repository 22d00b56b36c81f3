/// Why something that was encrypted or signed is not taken (Documentation/EncryptionFormats.md, section 13).
package enum EncryptionRefusal: String, Error, Hashable, Sendable {
    /// Another format or suite than this program knows: a newer version wrote it.
    case newer
    /// Not as it was written, or never written by anybody with the key.
    case damaged
    /// The value or stamp belongs to another tree than the record.
    case wrongTree
    /// The key of that number is not here.
    case keyMissing
    case badSignature
    /// A statement or an entry does not follow the one before.
    case brokenChain
    /// An entry does what its author may not.
    case notAllowed
    /// A code that was typed is another.
    case wrongCode
}
