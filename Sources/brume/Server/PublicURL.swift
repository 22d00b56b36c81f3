internal import Foundation

/// What the URLs of shares begin with: `https://`, a host, and maybe a port.
enum PublicURL {
    /// Checks what the command line says, and leaves out a slash at its end.
    static func text(_ text: String, option: String) throws(UsageError) -> String {
        let trimmed = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard let parts = URLComponents(string: trimmed), parts.scheme == "https", let host = parts.host, !host.isEmpty,
            parts.path.isEmpty, parts.query == nil, parts.fragment == nil, parts.user == nil, parts.password == nil,
            parts.port.map({ (1...65_535).contains($0) }) ?? true, trimmed.utf8.count <= 512
        else {
            throw UsageError(
                "--\(option) takes https:// and a host, maybe with a port, not \"\(text)\"",
                hint: "such as https://sync.example.com, or https://sync.example.com:7440")
        }
        return trimmed
    }
}
