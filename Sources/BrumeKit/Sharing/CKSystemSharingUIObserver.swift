public import Foundation

/// Watches what users do in the share sheet of Apple's systems. May be used from several threads.
///
/// There is no share sheet here, so neither block is ever called: an app's own sheet saves and deletes shares by
/// operations, and hears of them there.
public class CKSystemSharingUIObserver: NSObject, @unchecked Sendable {
    // Sendable: what changes is behind the lock.

    private struct Blocks {
        var saved: (@Sendable (CKRecord.ID, Result<CKShare, any Error>) -> Void)?
        var stopped: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)?
    }

    private let blocks = Guarded(Blocks())

    /// An observer of what is shared in the container.
    public init(container: CKContainer) {}

    /// Called where the sheet has saved a share, or could not.
    @preconcurrency
    public var systemSharingUIDidSaveShareBlock:
        (@Sendable (_ recordID: CKRecord.ID, _ saveResult: Result<CKShare, any Error>) -> Void)?
    {
        get { blocks.saved }
        set { blocks.saved = newValue }
    }

    /// Called where the sheet has stopped sharing, or could not.
    @preconcurrency
    public var systemSharingUIDidStopSharingBlock:
        (@Sendable (_ recordID: CKRecord.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    {
        get { blocks.stopped }
        set { blocks.stopped = newValue }
    }
}
