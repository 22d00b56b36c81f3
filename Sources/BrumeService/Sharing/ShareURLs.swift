internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The URLs of shares: `https://HOST/share/TOKEN`, or the path alone where the operator has named no address.
///
/// ```
/// TOKEN, in base64url, is sealed (``DeterministicSeal``), version 1:
///      1  environment
///     16  the owner: the hexadecimal digits of the user record name
///      8  the zone's incarnation, big-endian
///     20  the share's secret
///      1  1 if it is for whoever comes first, else 0
///     20  if so, that invitation's secret
///      n  the container's name
/// ```
///
/// So no list of shares has to be kept in step, a URL shows nothing of whose it is, and one that was made up leads to
/// no database at all. Equal secrets have equal URLs.
///
/// Not for two threads at a time: each loop makes its own.
final class ShareURLs {
    private static let version: UInt8 = 1
    private static let path = "/share/"

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

    /// How the shares of a private database get their secrets and URLs. Secrets are codes of where they were made:
    /// nobody can work them out without the server's key, and no two are the same, as a place in history is taken once.
    func addresses(of database: DatabaseID) -> ShareAddresses {
        let front =
            [database.environment.rawValue] + Array(database.owner.utf8) + Array(database.container.utf8)
        func secret(_ numbers: [UInt64]) -> [UInt8] {
            var message = front
            for number in numbers { withUnsafeBytes(of: number.bigEndian) { message.append(contentsOf: $0) } }
            return Array(secrets.authenticate(message).prefix(Share.secretByteCount))
        }
        return ShareAddresses(
            newSecret: { secret([UInt64($0.run), $0.sequence, $0.zone, $0.index]) },
            secretOfZone: { secret([UInt64($0), $1]) },
            url: { [self] link in url(of: link, in: database) })
    }

    private func url(of link: ShareLink, in database: DatabaseID) -> String {
        guard let name = Names.bytes(ofUserRecordName: database.owner) else {
            preconditionFailure("the owner of a share has no user record name")
        }
        var text = [database.environment.rawValue] + name
        withUnsafeBytes(of: link.zone.bigEndian) { text.append(contentsOf: $0) }
        text += link.secret
        text.append(link.oneTimeSecret == nil ? 0 : 1)
        text += link.oneTimeSecret ?? []
        text += Array(database.container.utf8)
        return publicURL + Self.path + Base64URL.text(seal.seal(text, version: Self.version))
    }

    /// Where a URL of this server leads to, whatever host it names and whatever stands behind the token; nil for any
    /// other.
    func place(_ url: String) -> (database: DatabaseID, link: ShareLink)? {
        guard let path = url.firstRange(of: Self.path) else { return nil }
        let token = url[path.upperBound...].prefix { !"#?/".contains($0) }
        guard let sealed = Base64URL.bytes(String(token)), sealed.first == Self.version, let text = seal.open(sealed)
        else { return nil }
        var rest = text[...]
        func take(_ count: Int) -> [UInt8] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        guard let environment = take(1).first.flatMap(Environment.init) else { return nil }
        let owner = Names.userRecordName(of: take(Names.userRecordNameBytes))
        let zone = take(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        let secret = take(Share.secretByteCount)
        let oneTimeSecret = take(1) == [1] ? take(Share.secretByteCount) : nil
        let container = String(decoding: rest, as: UTF8.self)
        guard Names.isUserRecordName(owner), Names.problemWithContainer(container) == nil else { return nil }
        return (
            DatabaseID(container: container, environment: environment, scope: .private, owner: owner),
            ShareLink(zone: zone, secret: secret, oneTimeSecret: oneTimeSecret)
        )
    }
}
