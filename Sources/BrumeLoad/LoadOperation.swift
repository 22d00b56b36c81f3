/// The kinds of operations that a load measures.
package enum LoadOperation: String, CaseIterable, Sendable {
    /// Saves `batch` records in one request.
    case save
    /// Fetches `batch` records by name.
    case fetch
    /// Fetches the zone's changes since the connection's last token.
    case changes
    /// Fetches all pages of what changed while the device was away.
    case catchUp = "catch-up"
    /// Saves the record that devices are told of.
    case publish
    /// The delivery to one device, from the publish's intended time.
    case deliver
    /// The delivery to the last device, from the publish's intended time.
    case deliverAll = "deliver-all"
    /// TCP, TLS and the welcome.
    case connect
    /// The time from the loss of a connection until it is welcomed, and its stream open, again.
    case reconnect

    /// Those that a mix is made of.
    package static let mixed: [LoadOperation] = [.save, .fetch, .changes]

    var index: Int { Self.allCases.firstIndex(of: self)! }
}
