/// What a server keeps in its data folder beside what the store does.
package enum DataFolder {
    /// Files that a backup needs as well: the accounts, and the secrets from which user names and tokens derive.
    package static let backedUpFiles = ["accounts", "secret.key", "admin.token"]

    /// The files that no start makes anew, once there is a `brume.meta`: one that is missing is damage.
    package static let filesAlwaysThere = ["accounts", "secret.key"]
}
