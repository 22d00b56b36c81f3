/// What an answer is read with: whom the server gave it to, and where the server is.
package struct AnswerContext: Sendable {
    /// The current user's record name, which is shown to the app as ``CKCurrentUserDefaultName``. Nil without an
    /// account.
    package let currentUser: String?
    /// The server's address as URLs begin with it, such as "https://example.com:7440"; nil where it has none.
    package let origin: String?

    package init(currentUser: String?, origin: String? = nil) {
        self.currentUser = currentUser
        self.origin = origin
    }

    /// The name of a user as apps see it.
    func shown(_ user: String) -> String { user == currentUser ? CKCurrentUserDefaultName : user }

    /// A whole URL: one that begins with a slash is taken as of the server (RFC 3986, 5.2).
    func resolved(_ url: String) -> String {
        guard let origin, url.hasPrefix("/") else { return url }
        return url.hasPrefix("//") ? "https:" + url : origin + url
    }
}
