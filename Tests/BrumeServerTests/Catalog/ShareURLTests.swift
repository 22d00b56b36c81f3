import BrumeModel
@testable import BrumeService
import BrumeStore
import Testing

/// The URLs of shares, which lead the server to their databases.
@Suite("The URL of a share")
struct ShareURLTests {
    private static let key = [UInt8](1...32)
    private static let database = DatabaseID(
        container: "iCloud.test", environment: .development, scope: .private,
        owner: "_0123456789abcdef0123456789abcdef")
    private static let link = ShareLink(zone: 7 << 20, secret: [UInt8](100..<120))
    private static let oneTimeLink = ShareLink(
        zone: 7 << 20, secret: [UInt8](100..<120), oneTimeSecret: [UInt8](140..<160))

    private let urls = ShareURLs(key: key, publicURL: "")

    private func url(_ link: ShareLink = link, of urls: ShareURLs? = nil) -> String {
        (urls ?? self.urls).addresses(of: Self.database).url(link)
    }

    @Test("leads to where it was made, whatever host stands before it and whatever title behind")
    func roundTrip() {
        for link in [Self.link, Self.oneTimeLink] {
            let url = url(link)
            #expect(url.hasPrefix("/share/") && url.utf8.count < 160)
            let named = self.url(link, of: ShareURLs(key: Self.key, publicURL: "https://brume.example.com:8443"))
            #expect(named == "https://brume.example.com:8443" + url)
            for text in [url, named, "https://elsewhere" + url, url + "#Groceries", url + "?x=1#Groceries", url + "/"] {
                #expect(urls.place(text)?.link == link && urls.place(text)?.database == Self.database, "\(text)")
            }
            #expect(self.url(link) == url, "the same each time")
        }
        let longest = DatabaseID(
            container: "iCloud." + String(repeating: "c", count: Limits.nameCharacters - 7), environment: .production,
            scope: .private, owner: Self.database.owner)
        let url = urls.addresses(of: longest).url(Self.oneTimeLink)
        #expect(urls.place(url)?.database == longest && url.utf8.count < Limits.shareURLBytes / 2)
    }

    @Test("leads nowhere when it is changed, made up, or of another server")
    func strangers() {
        let url = url()
        let other = ShareURLs(key: [UInt8](2...33), publicURL: "")
        #expect(other.place(url) == nil && urls.place(self.url(of: other)) == nil)
        for text in ["", "/share/", "/share/#a", "/share/a", "/share/" + String(repeating: "A", count: 91), "share"] {
            #expect(urls.place(text) == nil, "\(text)")
        }
        let token = Array(url.utf8)
        for index in "/share/".utf8.count..<token.count {
            var changed = token
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(urls.place(String(decoding: changed, as: UTF8.self)) == nil, "place \(index)")
        }
        #expect(urls.place(String(url.dropLast())) == nil && urls.place(url + "A") == nil)
    }

    @Test("holds another secret for each place in each database")
    func secrets() {
        let elsewhere = DatabaseID(
            container: "iCloud.test", environment: .production, scope: .private, owner: Self.database.owner)
        var secrets: [[UInt8]] = []
        for database in [Self.database, elsewhere] {
            let addresses = urls.addresses(of: database)
            for run in [1, 2] as [UInt32] {
                for number in 1...3 as ClosedRange<UInt64> {
                    secrets.append(addresses.newSecret(.init(run: run, sequence: number, zone: 1)))
                    secrets.append(addresses.newSecret(.init(run: run, sequence: 9, zone: number + 1)))
                    secrets.append(addresses.newSecret(.init(run: run, sequence: 9, zone: 1, index: number)))
                }
            }
            secrets.append(addresses.secretOfZone(1, 1))
            #expect(addresses.secretOfZone(1, 1) == addresses.secretOfZone(1, 1))
            #expect(urls.place(addresses.url(ShareLink(zone: 1, secret: secrets[0])))?.database == database)
        }
        #expect(Set(secrets).count == secrets.count && secrets.allSatisfy { $0.count == Share.secretByteCount })
        let other = ShareURLs(key: [UInt8](2...33), publicURL: "").addresses(of: Self.database)
        #expect(!secrets.contains(other.secretOfZone(1, 1)))
    }

    @Test("is text that a URL may hold, for any bytes", arguments: 0...9)
    func base64(count: Int) {
        for first in UInt8.min ... .max {
            let bytes = (0..<count).map { first &+ UInt8($0) &* 37 }
            let text = Base64URL.text(bytes)
            #expect(Base64URL.bytes(text) == bytes && text.utf8.allSatisfy { $0 < 0x7F && $0 > 0x2C })
        }
        #expect(Base64URL.bytes("A") == nil && Base64URL.bytes("AB") == nil && Base64URL.bytes("A=") == nil)
    }
}
