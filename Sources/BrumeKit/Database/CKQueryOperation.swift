/// The namespace of ``Cursor`` and ``maximumResults``. Operations are absent.
public enum CKQueryOperation {
    /// Where a page of a query's matches ended: what gives the next one.
    public typealias Cursor = CKQueryCursor

    /// As a limit of results: the server decides. It gives 100 matches in a page, fewer where they have more than 1 MiB.
    public static let maximumResults = 0
}
