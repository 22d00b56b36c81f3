public import Foundation

/// How far an app has come in the changes of a zone or a database. Opaque: keep it, archive it, and give it to the next
/// fetch of the same zone or database.
///
/// Tokens of zones and of databases can't be exchanged for each other, and tokens have no order that an app could see.
/// Immutable, so it may be passed between threads. Equal when the server's bytes are.
public final class CKServerChangeToken: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The token as the server sealed it.
    package let bytes: [UInt8]

    /// A token as the server sealed it.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether both are one token.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKServerChangeToken else { return false }
        return self === other || bytes == other.bytes
    }

    /// Equal for equal tokens.
    public override var hash: Int { bytes.hashValue }

    /// Says no more than the token's length: its bytes are the server's business.
    public override var description: String { "<CKServerChangeToken: \(bytes.count) bytes>" }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the token into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKServerChangeToken.self)
        coder.encode(Data(bytes) as NSData, forKey: "ChangeTokenData")
    }

    /// Reads an archived token; nil when the archive holds none.
    public init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKServerChangeToken.self)
        guard let data = coder.dataIfPresent(forKey: "ChangeTokenData") else { return nil }
        bytes = [UInt8](data)
    }
}
