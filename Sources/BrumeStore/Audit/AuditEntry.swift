internal import BrumeModel

/// One line of the audit log: that an act of an operator began, or how one ended.
///
/// ```
/// {"number":7,"previous":"HASH","milliseconds":1764536645123,"act":"account.add","target":"ada","peer":"…",
///  "request":"…"}
/// {"number":8,"previous":"HASH","milliseconds":1764536645140,"ends":7,"error":0}
/// ```
/// `previous` is the SHA-256 of the line before, without its newline, in hexadecimal; of the first line it is 64 zeros.
/// So a line that was changed, taken out or put in breaks the chain. `milliseconds` are since 1970, by the server's
/// clock. `error` is 0 for an act that was done, or the number of the error that the operator got. Members stand in
/// this order on one line, and are written in this one way.
package struct AuditEntry: Equatable, Sendable {
    package enum Event: Equatable, Sendable {
        /// - Parameters:
        ///   - act: What: `account.add` and its like.
        ///   - target: On what: an account, a role, a container. Empty: the server.
        ///   - peer: Who: the process and its user, or the address of whoever had the operator's token.
        ///   - request: The id that the client gave its request; may be empty.
        case began(act: String, target: String, peer: String, request: String)
        /// - Parameters:
        ///   - number: The entry with which the act began.
        ///   - error: 0: it was done.
        case ended(number: UInt64, error: Int)
    }

    package let number: UInt64
    package let previous: [UInt8]
    package let milliseconds: Int64
    package let event: Event

    package static let noHash = [UInt8](repeating: 0, count: hashBytes)
    private static let hashBytes = 32

    package init(number: UInt64, previous: [UInt8], milliseconds: Int64, event: Event) {
        (self.number, self.previous, self.milliseconds, self.event) = (number, previous, milliseconds, event)
    }

    // MARK: Text

    /// The line, without its newline.
    package var line: [UInt8] {
        var text = "{\"number\":\(number),\"previous\":\"\(previous.hexadecimal)\",\"milliseconds\":\(milliseconds),"
        switch event {
        case .began(let act, let target, let peer, let request):
            text += "\"act\":\(JSONText.string(act)),\"target\":\(JSONText.string(target)),"
            text += "\"peer\":\(JSONText.string(peer)),\"request\":\(JSONText.string(request))}"
        case .ended(let number, let error): text += "\"ends\":\(number),\"error\":\(error)}"
        }
        return Array(text.utf8)
    }

    /// The entry of a line; nil for one that was not written like this.
    package init?(line: [UInt8]) {
        var reader = AuditLineReader(line)
        guard reader.take("{\"number\":"), let number = reader.integer(UInt64.self), number > 0,
            reader.take(",\"previous\":\""), let previous = reader.hexadecimal(count: Self.hashBytes),
            reader.take("\",\"milliseconds\":"), let milliseconds = reader.integer(Int64.self)
        else { return nil }
        let event: Event
        if reader.take(",\"act\":") {
            guard let act = reader.string(), reader.take(",\"target\":"), let target = reader.string(),
                reader.take(",\"peer\":"), let peer = reader.string(), reader.take(",\"request\":"),
                let request = reader.string()
            else { return nil }
            event = .began(act: act, target: target, peer: peer, request: request)
        } else {
            guard reader.take(",\"ends\":"), let ended = reader.integer(UInt64.self), reader.take(",\"error\":"),
                let error = reader.integer(Int.self)
            else { return nil }
            event = .ended(number: ended, error: error)
        }
        guard reader.take("}"), reader.isAtEnd else { return nil }
        self.init(number: number, previous: previous, milliseconds: milliseconds, event: event)
        // One entry has one text.
        guard self.line == line else { return nil }
    }
}
