@testable import BrumeKit
import BrumeEncryption
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

/// The keys in a share's URL are for people who get it, and for nobody else.
@Suite("Keys in a share's URL")
struct ShareKeysTests {
    private let secret = SecretKey.random()
    private let hash = [UInt8](repeating: 0xa7, count: 32)

    private func link(_ title: String? = nil) -> LinkFragment {
        LinkFragment(ownersFirstStatement: hash, secret: LinkSecret(seed: secret), title: title)
    }

    /// KEYS of the fragment.
    private var keys: String { link().text.components(separatedBy: ".")[1] }

    private func share(_ url: String = "/share/token", title: String? = nil) throws -> CKShare {
        let share = try ShareSamples.share(ShareSamples.view(url: url, publicPermission: .readOnly), title: title)
        share.show(ShareLinks(forMany: link()))
        return share
    }

    private func metadata(_ link: LinkFragment?) throws -> CKShare.Metadata {
        let record = ShareSamples.record(ShareSamples.view(publicPermission: .readOnly), title: "Ours")
        return try CKShareMetadata.make(
            ShareMetadata(
                container: "iCloud.test", environment: .development,
                zone: ZoneID(name: "Lists", owner: ShareSamples.owner), share: record, root: "", role: .publicUser,
                permission: .readOnly, isAccepted: false, user: RandomShare.user(1)),
            origin: "https://example.com:7440", link: link)
    }

    @Test("stand in front of its title, which is the server's where that has one")
    func urls() throws {
        let address = "https://example.com:7440/share/token"
        for (sent, title, fragment) in [
            ("/share/token", nil, ""), ("/share/token", "Groceries", ".Groceries"), ("/share/token", "", ""),
            ("/share/token", "Für Oma #1.a\n", ".F%C3%BCr%20Oma%20%231.a%0A"), ("/share/token#x.y", "a", ".x.y"),
            ("/share/token%23x", "a", ".a"),
        ] {
            let share = try share(sent, title: title)
            #expect(share.url?.absoluteString == "\(address)#1.\(keys)\(fragment)")
            let read = try #require(share.url?.shareLink)
            #expect(
                read.text == link(fragment.dropFirst().removingPercentEncoding.flatMap { $0.isEmpty ? nil : $0 }).text)
            #expect(try share.url?.shareAddress() == address)
            share.show(ShareLinks())
            #expect(share.url?.shareLink == nil && share.url?.absoluteString.contains(keys) == false)
        }
        let new = CKShare(recordZoneID: ShareSamples.zone)
        new.show(ShareLinks(forMany: link()))
        #expect(new.url == nil)
        for other in ["mailto:eve@example.com?body=", "https://example.com/other/token", "file:///share/token"] {
            #expect(try share(other).url?.absoluteString.contains(keys) != true, "that is no share's URL")
        }
    }

    @Test("are read from what a mail gateway made of it, and only from what can be trusted")
    func gateways() throws {
        let url = try #require(try share(title: "Für uns").url)
        let escaped = url.absoluteString.replacingOccurrences(of: "#", with: "%23")
        for text in [escaped, escaped + "?utm_source=mail", escaped.replacingOccurrences(of: "%20", with: "%2520")] {
            let read = try #require(URL(string: text))
            #expect(read.shareLink?.text.hasPrefix(link("Für").text) == true && read.fragment == nil)
            #expect(try read.shareAddress() == "https://example.com:7440/share/token")
        }
        let eve = ShareSamples.link("Eve").text
        let both = try #require(URL(string: "https://example.com/share/token%23\(eve)#\(link().text)"))
        #expect(both.shareLink?.text == link().text)
        for text in [
            "token", "token#", "token#Groceries", "token#1.\(keys.dropLast())", "token#2.\(keys)", "token#1.\(keys)A",
            "token%23Groceries", "token?a=%23\(eve)", "token%23\(eve)#Groceries", "token#1.\(keys)=.a",
        ] {
            let url = try #require(URL(string: "https://example.com/share/" + text))
            #expect(url.shareLink == nil, "\(text)")
        }
    }

    @Test("that a server put into an address or a title are not passed on, in one-time URLs neither")
    func serversKeys() throws {
        let eve = ShareSamples.link("Eve").text
        let escaped = try #require(eve.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        var titles: [(url: String, title: String?)] = ["1.ab", "2." + eve.dropFirst(2), eve].map {
            ("/share/token", $0)
        }
        titles += ["#" + eve, "#" + escaped, "%23" + eve, "%23x#" + eve, "%23\(eve)#x"].map {
            ("/share/token" + $0, nil)
        }
        titles += [("https://notes.example/share/token#\u{301}" + eve, nil)]
        for (url, title) in titles {
            var view = ShareSamples.view([ShareSamples.invited("p", email: "a@example.com")], url: url)
            view.participants[1].oneTimeURL = url
            let share = try ShareSamples.share(view, title: title)
            for shown in [share.url, share.oneTimeURL(for: "p")] {
                let text = try #require(shown?.absoluteString)
                #expect(shown?.shareLink == nil && text.contains("/share/token"), "\(text)")
                #expect(text.removingPercentEncoding?.contains("#1.") == false)
            }
            share.show(ShareLinks(forMany: link()))
            #expect(share.url?.shareLink?.text.hasPrefix(link().text) == true)
            #expect(share.oneTimeURL(for: "p")?.shareLink == nil)
        }
        let list = try ShareSamples.share(ShareSamples.view(), title: "1. Milk")
        #expect(list.url?.fragment == "1.%20Milk", "that is no key")
    }

    @Test("stay with copies and merges, and are no change of the share")
    func versions() throws {
        let share = try share(title: "Ours")
        let copy = try #require(share.copy() as? CKShare)
        #expect(copy.url == share.url && copy.url?.shareLink != nil)
        copy.show(ShareLinks())
        #expect(share.url?.shareLink != nil && copy.url?.shareLink == nil)
        #expect(!share.details.current.isEdited && share.details.current.contents == copy.details.current.contents)
        #expect(try share.edit() == ShareEdit())

        let outgoing = share.outgoing()
        #expect(outgoing.shareSave == copy.outgoing().shareSave)
        share.saved(as: ShareSamples.view(publicPermission: .readOnly), of: outgoing)
        #expect(share.url?.shareLink?.text == link("Ours").text)

        // A later version of the share, with what the app did to an earlier one.
        let server = try ShareSamples.share(ShareSamples.view(publicPermission: .readOnly), tag: "3", title: "Ours")
        let merged = try #require(server.merging(share, ancestor: nil) as? CKShare)
        #expect(merged.url?.shareLink?.text == link("Ours").text)
        let newer = ShareSamples.link()
        server.show(ShareLinks(forMany: newer))
        let again = try #require(server.merging(share, ancestor: nil) as? CKShare)
        #expect(again.url?.shareLink?.text == newer.text + ".Ours")
        let metadata = try metadata(link())
        #expect((metadata.copy() as? CKShareMetadata)?.link?.text == link().text)
    }

    @Test("are in no archive and in no description")
    func hidden() throws {
        let share = try share(title: "Ours")
        let metadata = try metadata(link("Ours"))
        metadata.share.show(ShareLinks(forMany: link()))
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        share.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let archives = [
            archiver.encodedData,
            try NSKeyedArchiver.archivedData(withRootObject: share, requiringSecureCoding: true),
            try NSKeyedArchiver.archivedData(withRootObject: metadata, requiringSecureCoding: true),
        ]
        let secrets = [Data(keys.utf8), Data(keys.utf16.flatMap { [0, UInt8($0)] }), Data(secret.copyBytes())]
        for archive in archives {
            #expect(archive.count > 200)
            for bytes in secrets { #expect(archive.range(of: bytes) == nil) }
        }
        let read = try archived(share, as: CKShare.self)
        #expect(read.url?.fragment == "Ours" && read.url?.shareLink == nil)
        #expect(try archived(metadata, as: CKShareMetadata.self).link == nil)

        var dumped = ""
        dump(share, to: &dumped)
        dump(metadata, to: &dumped)
        dump(share.details.current, to: &dumped)
        let shown = [
            "\(share) \(metadata) \(share.details.current)", share.debugDescription, metadata.debugDescription,
            String(reflecting: share), String(reflecting: metadata), String(reflecting: share.details.current), dumped,
            "\(share.outgoing())", "\(String(describing: metadata.link)) \(String(reflecting: metadata.link))",
        ]
        for text in shown {
            #expect(!text.contains(keys))
            #expect(!text.contains(secret.copyBytes().description.dropFirst().dropLast()))
        }
    }
}
