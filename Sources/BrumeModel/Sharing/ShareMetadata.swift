/// A request for what the URL of a share leads to.
package struct ShareMetadataRequest: Equatable, Sendable {
    package var url: String
    /// Whether the record that is shared is to come, too.
    package var wantsRoot: Bool
    /// The fields of that record; nil for all.
    package var rootKeys: DesiredKeys?

    package init(url: String, wantsRoot: Bool = false, rootKeys: DesiredKeys? = nil) {
        self.url = url
        self.wantsRoot = wantsRoot
        self.rootKeys = rootKeys
    }
}

/// What the URL of a share leads to. The server's form of `Content` is the encoded record, the client's is ``Record``.
package struct ShareMetadata<Content: Equatable & Sendable>: Equatable, Sendable {
    package var container: String
    package var environment: Environment
    /// With its owner.
    package var zone: ZoneID
    package var share: Content
    /// The name of the record that is shared; empty for the share of a whole zone.
    package var root: String
    /// Nil unless it was wanted.
    package var rootRecord: Content?
    /// What the user is in the share, or would be.
    package var role: ShareView.Role
    package var permission: Share.Permission
    package var isAccepted: Bool
    /// The user's record name in that container.
    package var user: String

    package init(
        container: String, environment: Environment, zone: ZoneID, share: Content, root: String,
        rootRecord: Content? = nil, role: ShareView.Role, permission: Share.Permission, isAccepted: Bool, user: String
    ) {
        self.container = container
        self.environment = environment
        self.zone = zone
        self.share = share
        self.root = root
        self.rootRecord = rootRecord
        self.role = role
        self.permission = permission
        self.isAccepted = isAccepted
        self.user = user
    }
}
