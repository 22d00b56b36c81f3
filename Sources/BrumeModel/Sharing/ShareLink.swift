/// Where the URL of a share leads to in its owner's database, and what lets its bearer in.
package struct ShareLink: Equatable, Sendable {
    /// The zone's incarnation, the number that tells it from an earlier one of its name.
    package var zone: UInt64
    /// The secret of the share.
    package var secret: [UInt8]
    /// The secret of the invitation of whoever comes first, in a URL that was made for it.
    package var oneTimeSecret: [UInt8]?

    package init(zone: UInt64, secret: [UInt8], oneTimeSecret: [UInt8]? = nil) {
        self.zone = zone
        self.secret = secret
        self.oneTimeSecret = oneTimeSecret
    }

    /// What the bearer comes with: see ``Share/standing(of:through:owner:)``.
    package var key: [UInt8] { oneTimeSecret ?? secret }
}
