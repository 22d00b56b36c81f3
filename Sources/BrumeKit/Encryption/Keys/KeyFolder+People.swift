internal import BrumeEncryption

/// What a key folder has of other accounts: their statements, as this device has seen them.
extension KeyFolder {
    /// An account's file as it was read.
    struct LoadedPerson: Sendable {
        /// Nil where nothing is kept of the account.
        var known: KnownStatements?
        /// The file's head, which has the checksum of what is in it; nil where there is none.
        var head: [UInt8]?
    }

    /// Reads what is kept of another account. Makes nothing where there is no folder.
    ///
    /// - Parameter account: Its user record name.
    func loadPerson(_ account: String) throws(KeyFolderProblem) -> Attempt<LoadedPerson> {
        let attempt = try load(
            personPath(account), bytesLimit: KeyLimits.personFileBytesMax,
            remedy: "put it back from a backup, or remove it: then this device takes for the keys of \(account) what "
                + "the server shows, until safety numbers are compared again"
        ) { (bytes) throws(KeyFile.Refusal) in
            try PersonFile.decode(bytes, account: account, place: place)
        }
        switch attempt {
        case .done(let file?): return .done(LoadedPerson(known: file.value, head: file.head))
        case .done(nil): return .done(LoadedPerson())
        case .locked: return .locked
        }
    }

    /// Keeps an account's statements in the place of what was read.
    ///
    /// - Precondition: They are of the folder's container and environment: no other file is read back.
    /// - Returns: The new head; nil where another process has written meanwhile, and nothing was changed.
    func writePerson(
        _ known: KnownStatements, over head: [UInt8]?
    ) throws(KeyFolderProblem) -> Attempt<[UInt8]?> {
        let scope = known.chain.last.scope
        precondition(
            scope == PersonFile.scope(of: scope.account, place),
            "statements are kept in the key folder of their container and environment")
        return try replace(personPath(scope.account), over: head, with: PersonFile.encode(known, place: place).bytes)
    }

    private func personPath(_ account: String) -> String {
        "\(path)/\(PersonFile.path(account: account, place: place))"
    }
}
