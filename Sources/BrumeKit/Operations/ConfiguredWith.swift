extension CKDatabase {
    /// Gives a database whose calls are made with the given configuration and group.
    ///
    /// Nested calls keep what the outer one set and they leave out. Calls alone are made so, not the operations that
    /// are added to the database: those have configurations of their own.
    ///
    /// - Parameters:
    ///   - configuration: Quality of service and timeouts as they are now; its explicit values win over those of the
    ///     group's.
    ///   - group: Whose name the calls carry to the server's log.
    ///   - body: Gets the database. Its result is this function's.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKDatabase) throws -> R
    ) rethrows -> R {
        try body(configured(configuration, group))
    }

    /// Gives a database whose calls are made with the given configuration and group, to a body that awaits them.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKDatabase) async throws -> R
    ) async rethrows -> R {
        try await body(configured(configuration, group))
    }

    private func configured(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> CKDatabase {
        CKDatabase(core: core, scope: databaseScope, defaults: defaults.configured(configuration, group))
    }
}

extension CKContainer {
    /// Gives a container whose calls, and whose databases' calls, are made with the given configuration and group.
    ///
    /// See `CKDatabase.configuredWith(configuration:group:body:)`.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKContainer) throws -> R
    ) rethrows -> R {
        try body(configured(configuration, group))
    }

    /// Gives a container whose calls, and whose databases' calls, are made with the given configuration and group, to a
    /// body that awaits them.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKContainer) async throws -> R
    ) async rethrows -> R {
        try await body(configured(configuration, group))
    }

    private func configured(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> CKContainer {
        CKContainer(core: core, defaults: defaults.configured(configuration, group))
    }
}
