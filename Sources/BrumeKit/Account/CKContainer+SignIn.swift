extension CKContainer {
    /// Brume's addition: from now on this container's account is the one of the given token, which its user got from
    /// the server's operator (`brume account add`).
    ///
    /// What CloudKit's users do in the system's settings. It works as well with an account signed in: then it switches.
    /// Returns at once, before the server was asked, and works offline; ask ``accountStatus()`` whether the server
    /// takes the account.
    ///
    /// Calls that begin after it, also those of the databases that the app holds, are for the new account. Those under
    /// way for the account before end with `notAuthenticated`: none is answered with, or written to, what belongs to
    /// another account. A write that was under way may have happened for the account before. (Public reads without an
    /// account are answered.) Iterations of ``notifications`` end too. The connection of the account before closes,
    /// unless another container uses it, and other containers keep their accounts.
    ///
    /// With the token that the container has, nothing changes. Else `CKAccountChanged` is posted, with this container
    /// as its object: drop what you cached of the account before, and begin with ``accountStatus()``.
    ///
    /// For ``default()`` it holds as well for containers that ``init(identifier:)`` makes later. The token is not kept
    /// across launches; `BRUME_TOKEN` is read anew.
    public func signIn(token: String) {
        core.switchAccount(token: token)
    }

    /// Brume's addition: from now on this container has no account. Its public database can be read; calls to the
    /// private one throw `notAuthenticated`.
    ///
    /// As with ``signIn(token:)``, calls under way end with `notAuthenticated`, and `CKAccountChanged` is posted. The
    /// account's data stay on the server, and what the SDK keeps of them on this device for the time when the account
    /// comes back, but for the files of assets, which are removed from its cache.
    public func signOut() {
        core.switchAccount(token: nil)
    }
}

extension CKDatabase {
    /// The same database for the account that the container has now, and for no other: when that was signed out or
    /// switched, calls throw `notAuthenticated`. For work that takes several calls.
    package var boundToAccount: CKDatabase {
        CKDatabase(core: core.boundToAccount(), scope: databaseScope, defaults: defaults)
    }
}
