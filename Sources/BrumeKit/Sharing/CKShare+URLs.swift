internal import BrumeEncryption
internal import BrumeModel
public import Foundation

/// Where others find a share.
extension CKShare {
    /// Where others find the share, with its title after "#"; nil until the share has been saved or fetched. A root
    /// that is shared again has the same URL.
    ///
    /// The host is the one that the server's operator has set for URLs, otherwise the one that this client connects to.
    public var url: URL? {
        let details = details.current
        return details.base.flatMap { shown($0.view.url, details.links.forMany) }
    }

    /// The URL of a participant that ``CKShareParticipant/oneTimeURLParticipant()`` made: the first user who accepts
    /// with it becomes that participant.
    ///
    /// Nil until the share has been saved, once somebody has accepted, and for all other participants.
    public func oneTimeURL(for participantID: Participant.ID) -> URL? {
        let details = details.current
        return details.base?.view.participants.first { $0.id == participantID }
            .flatMap { shown($0.oneTimeURL, details.links.forOne[participantID]) }
    }

    /// Has the URLs show keys for those who get them, in front of the title, which takes the place of their own.
    func show(_ links: ShareLinks) { updateDetails { $0.links = links } }

    /// The address with the share's title, for people, and with keys; browsers don't send that part.
    private func shown(_ address: String, _ link: LinkFragment?) -> URL? {
        guard !address.isEmpty else { return nil }
        let parts = address.utf8.split(separator: UInt8(ascii: "#"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { Substring($0) }
        let path = Self.cut(parts[0])
        // No keys but this device's are passed on: others, in an address or a title that a server shows, would have a
        // guest take somebody else for the owner.
        let title = (parts.count == 2 ? String(parts[1]) : encodedTitle).flatMap { Self.readsAsKeys($0) ? nil : $0 }
        let plain = URL(string: title.map { path + "#" + $0 } ?? path)
        // Keys are for what can be a share's URL.
        guard var link, let plain, (try? plain.shareAddress()) != nil else { return plain }
        link.title = title
        return URL(string: path + "#" + link.text)
    }

    private var encodedTitle: String? {
        guard let title = self[SystemFieldKey.title] as? String, !title.isEmpty else { return nil }
        return title.addingPercentEncoding(withAllowedCharacters: .urlFragmentAllowed)
    }

    /// An address without what ``Foundation/URL/shareLink`` reads as a fragment that a mail gateway escaped.
    private static func cut(_ address: Substring) -> String {
        guard let sign = address.utf8.firstRange(of: "%23".utf8) else { return String(address) }
        return String(address[..<sign.lowerBound])
    }

    private static func readsAsKeys(_ fragment: String) -> Bool {
        [fragment, fragment.removingPercentEncoding ?? fragment].contains(where: LinkFragment.resembles)
    }
}
