internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Where a share is, as its URL tells the server that made it.
struct ShareLocation: Equatable {
    /// The zone's owner: a user record name.
    let owner: String
    /// See ``ShareURLs/digest(ofContainer:_:)``.
    let containerDigest: [UInt8]
    let secret: [UInt8]
}

/// The URLs of shares: `https://HOST/share/TOKEN`, or the path alone where the operator has named no address.
///
/// ```
/// TOKEN, in base64url, is sealed (``DeterministicSeal``), version 1:
///     16  the owner: the hexadecimal digits of the user record name
///     16  digest of the environment and the container
///     20  the share's secret
/// ```
///
/// So no list of shares has to be kept in step, a URL shows nothing of whose it is, and one that was made up leads to
/// no database at all. Equal secrets have equal URLs.
///
/// Not for two threads at a time: each loop makes its own.
final class ShareURLs {
    private static let version: UInt8 = 1
    private static let path = "/share/"
    private static let nameBytes = 16
    private static let digestBytes = 16

    private let seal: DeterministicSeal
    private let secrets: MessageAuthentication
    private let publicURL: String

    /// - Parameter publicURL: What the URLs begin with, up to the host and port; empty for the path alone.
    init(key: [UInt8], publicURL: String) {
        seal = DeterministicSeal(secret: key, label: "share URLs")
        secrets = MessageAuthentication(
            key: MessageAuthentication(key: key).authenticate(Array("secrets of shares".utf8)))
        self.publicURL = publicURL
    }

    /// What a container of an environment is known by in URLs.
    static func digest(ofContainer container: String, _ environment: Environment) -> [UInt8] {
        Array(SHA256.digest([environment.rawValue] + Array(container.utf8)).prefix(digestBytes))
    }

    /// How the shares of a private database get their secrets and URLs. Secrets are codes of where they were made:
    /// nobody can work them out without the server's key, and no two are the same, as a place in history is taken once.
    func addresses(of database: DatabaseID) -> ShareAddresses {
        let digest = Self.digest(ofContainer: database.container, database.environment)
        let name = Array(database.owner.utf8)
        func secret(_ numbers: [UInt64]) -> [UInt8] {
            var message = digest + name
            for number in numbers { withUnsafeBytes(of: number.bigEndian) { message.append(contentsOf: $0) } }
            return Array(secrets.authenticate(message).prefix(Share.secretByteCount))
        }
        return ShareAddresses(
            newSecret: { secret([UInt64($0.run), $0.sequence, $0.zone, $0.index]) }, secretOfZone: { secret([$0]) },
            url: { [self] in url(ShareLocation(owner: database.owner, containerDigest: digest, secret: $0)) })
    }

    func url(_ location: ShareLocation) -> String {
        guard let name = Self.bytes(ofName: location.owner) else {
            preconditionFailure("the owner of a share has no user record name")
        }
        let token = seal.seal(name + location.containerDigest + location.secret, version: Self.version)
        return publicURL + Self.path + Base64URL.text(token)
    }

    /// Where a URL of this server leads to, whatever host it names and whatever stands behind the token; nil for any
    /// other.
    func location(_ url: String) -> ShareLocation? {
        guard let path = url.firstRange(of: Self.path) else { return nil }
        let token = url[path.upperBound...].prefix { $0 != "#" && $0 != "?" }
        guard let sealed = Base64URL.bytes(String(token)), sealed.first == Self.version, let text = seal.open(sealed),
            text.count == Self.nameBytes + Self.digestBytes + Share.secretByteCount
        else { return nil }
        return ShareLocation(
            owner: Self.name(of: text[..<Self.nameBytes]),
            containerDigest: Array(text[Self.nameBytes...].prefix(Self.digestBytes)),
            secret: Array(text.suffix(Share.secretByteCount)))
    }

    private static func bytes(ofName name: String) -> [UInt8]? {
        guard Names.isUserRecordName(name) else { return nil }
        let digits = name.utf8.dropFirst().map { $0 < 0x3A ? $0 - 0x30 : $0 - 0x61 + 10 }
        return (0..<nameBytes).map { digits[2 * $0] << 4 | digits[2 * $0 + 1] }
    }

    private static func name(of bytes: ArraySlice<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var name = [UInt8(ascii: "_")]
        for byte in bytes { name += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: name, as: UTF8.self)
    }
}
