extension CommandError {
    /// Any error as what a person is told.
    init(describing error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as UsageError: self.init(.usage, error.message, hint: error.hint)
        case let error as RowError: self.init(.failed, "line \(error.line): \(error.message)")
        case let error as ValueError: self.init(.usage, error.message)
        default: self.init(.failed, "\(error)")
        }
    }
}
