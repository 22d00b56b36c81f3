/// When something happens to a call.
public enum CallMoment: Hashable, Sendable {
    /// Before the server did what it asks for.
    case beforeEffect
    /// When the server has done it, durably, and is about to answer.
    case afterEffect
    /// In the midst of an upload or a download, when so many bytes of the asset have come or gone in this call.
    ///
    /// ```swift
    /// server.script.breakConnection(during: .downloadAsset, .afterBytes(1_000_000))
    /// ```
    ///
    /// A transfer goes on in another call, which counts from 0. It begins with what there is of the asset: an upload
    /// that broke, and a download of another fetch, at the last whole MiB. Shorter transfers, and calls of other kinds,
    /// are left alone and use nothing of a rule's times.
    case afterBytes(Int)
}

extension CallMoment: CustomStringConvertible {
    /// The moment in words.
    public var description: String {
        switch self {
        case .beforeEffect: "beforeEffect"
        case .afterEffect: "afterEffect"
        case .afterBytes(let count): "after \(count) bytes"
        }
    }
}
