internal import BrumeEncryption

/// The keys that a share's URLs show. Only in memory: neither archives nor saves have them.
struct ShareLinks: Sendable {
    /// That of the URL for everybody.
    var forMany: LinkFragment?
    /// Those of URLs for one guest, by the participants' ids.
    var forOne: [String: LinkFragment] = [:]
}
