internal import BrumeEncryption
internal import BrumeModel
internal import Foundation

/// The two parts of a share's URL: what the server gets, and what it must not see.
extension URL {
    /// The URL as it is sent to the server: without its fragment, which RFC 3986 keeps on the client's side and which
    /// holds keys and the share's title.
    ///
    /// Mail gateways write "%23" for "#", and some escape that once more. No token has a "%", so all from the first one
    /// on is cut off as well.
    ///
    /// - Throws: `invalidArguments` for a URL that can't be a share's. The error does not repeat the URL, which may be
    ///   all that somebody needs to take part.
    func shareAddress() throws(CKError) -> String {
        let url = absoluteURL
        guard url.scheme != nil, url.host?.isEmpty == false, url.path(percentEncoded: true).hasPrefix("/share/")
        else {
            throw CKError(
                .invalidArguments,
                message: "the URL is not a share's; pass a whole one, such as https://example.com/share/TOKEN")
        }
        let text = url.absoluteString.utf8
        // A host may have a "%", and stands before the token.
        let token = text.firstRange(of: "/share/".utf8)?.upperBound ?? text.startIndex
        let end = text[token...].firstIndex { $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "%") } ?? text.endIndex
        guard let address = String(text[..<end]), address.utf8.count <= Limits.shareURLBytes else {
            throw CKError(
                .invalidArguments,
                message: "the URL is too long to be a share's: none has more than \(Limits.shareURLBytes) bytes")
        }
        return address
    }

    /// The keys in the fragment of a share's URL, with the title as people read it; nil where there are none, as in
    /// one that is a title alone, or where they are of a newer version.
    ///
    /// Where a mail gateway wrote "%23" for "#", the fragment is what stands behind that in the path. A URL that has
    /// both has the fragment behind "#": its owner's device wrote that one.
    var shareLink: LinkFragment? {
        let text = absoluteURL.absoluteString.utf8
        let fragment: Substring.UTF8View
        if let sign = text.firstIndex(of: UInt8(ascii: "#")) {
            fragment = text[text.index(after: sign)...]
        } else {
            let path = text.prefix { $0 != UInt8(ascii: "?") }
            guard let sign = path.firstRange(of: "%23".utf8) else { return nil }
            fragment = path[sign.upperBound...]
        }
        guard var link = try? LinkFragment(String(Substring(fragment))) else { return nil }
        link.title = link.title.map { $0.removingPercentEncoding ?? $0 }
        return link
    }
}
