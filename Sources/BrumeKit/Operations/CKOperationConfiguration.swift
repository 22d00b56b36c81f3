internal import BrumeProtocol
public import Foundation

/// How an operation runs: used as `CKOperation.Configuration`.
///
/// A property that was set, even to its default, counts as explicit: an operation uses its own explicit values, then
/// those of its group's ``CKOperationGroup/defaultConfiguration``, then the defaults. May be used from several threads.
public class CKOperationConfiguration: NSObject, NSCopying, @unchecked Sendable {
    // Sendable: all state is behind the lock.
    private let values: Guarded<OperationSettings>

    /// A configuration without explicit values.
    public override init() {
        values = Guarded(OperationSettings())
    }

    init(_ settings: OperationSettings) {
        values = Guarded(settings)
    }

    var settings: OperationSettings { values.current }

    /// Whose private database an operation without a database works in. Nil, the default: the one of
    /// ``CKContainer/default()``.
    public var container: CKContainer? {
        get { values.container }
        set { values.container = newValue }
    }

    /// How urgent the operation is: of the calls that wait for a place on the connection, those of higher quality are
    /// sent first. Its blocks run at this quality too. `.default` unless set.
    ///
    /// It also says what happens where the server can't be reached. With `utility` and `background` the operation
    /// waits, and tries again by itself, for as long as ``timeoutIntervalForResource`` says. Otherwise it ends with
    /// `networkUnavailable` as soon as an attempt to connect fails; only a server that was connected within the last
    /// two seconds gets that time to come back. So do the calls of containers and databases, unless `configuredWith`
    /// gives them one of the patient qualities.
    ///
    /// Differs from CloudKit: the calls of a database don't wait for a network by themselves, although they are sent
    /// behind those of higher quality.
    public var qualityOfService: QualityOfService {
        get { values.qualityOfService ?? OperationSettings.Default.qualityOfService }
        set { values.qualityOfService = newValue }
    }

    /// Whether the operation may use a cellular connection; true unless set.
    ///
    /// Differs from CloudKit: the value is kept and has no effect, because a program on Linux does not learn what kind
    /// of network it uses.
    public var allowsCellularAccess: Bool {
        get { values.allowsCellularAccess ?? true }
        set { values.allowsCellularAccess = newValue }
    }

    /// Whether ``CKContainer/allLongLivedOperationIDs()`` knows the operation while it runs; false unless set.
    ///
    /// Differs from CloudKit: an operation does not outlive its process. See ``CKContainer/longLivedOperation(for:)``.
    public var isLongLived: Bool {
        get { values.isLongLived ?? false }
        set { values.isLongLived = newValue }
    }

    /// How many seconds each of the operation's requests may take; then the operation fails with `networkFailure`. The
    /// wait for a connection counts, but for an operation that waits for a server that can't be reached. 60 unless set;
    /// a millisecond at least.
    ///
    /// Differs from CloudKit: the time does not begin again when a part of an answer arrives.
    public var timeoutIntervalForRequest: TimeInterval {
        get { values.timeoutIntervalForRequest ?? OperationSettings.Default.timeoutIntervalForRequest }
        set { values.timeoutIntervalForRequest = newValue }
    }

    /// How many seconds the whole operation may take; then it fails with `networkFailure`. 7 days unless set; a
    /// millisecond at least.
    public var timeoutIntervalForResource: TimeInterval {
        get { values.timeoutIntervalForResource ?? OperationSettings.Default.timeoutIntervalForResource }
        set { values.timeoutIntervalForResource = newValue }
    }

    /// Brume's addition: the group of operations and calls that have none of their own. Nil unless set.
    public var group: CKOperationGroup? {
        get { values.group }
        set { values.group = newValue }
    }

    /// Brume's addition: where the trace stands that the calls belong to, as `traceparent` of W3C Trace Context:
    /// `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`. Nil unless set, and after a text that is none.
    ///
    /// The server's log has the trace's id and the parent's beside the call's own (Documentation/Operations.md, Logs).
    public var traceParent: String? {
        get { values.traceParent?.text }
        set { values.traceParent = newValue.flatMap { TraceParent($0) } }
    }

    /// A configuration of its own with the same explicit values.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKOperationConfiguration(settings)
    }
}

extension CKOperation {
    /// How an operation runs.
    public typealias Configuration = CKOperationConfiguration
}
