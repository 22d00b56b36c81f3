internal import BrumeProtocol
internal import Foundation

/// The values that were set explicitly; nil for the others.
struct OperationSettings: Sendable {
    var container: CKContainer?
    var qualityOfService: QualityOfService?
    var allowsCellularAccess: Bool?
    var isLongLived: Bool?
    var timeoutIntervalForRequest: TimeInterval?
    var timeoutIntervalForResource: TimeInterval?
    /// Brume's addition; see ``CKOperationConfiguration/group``.
    var group: CKOperationGroup?
    /// Brume's addition; see ``CKOperationConfiguration/traceParent``.
    var traceParent: TraceParent?

    /// CloudKit's defaults.
    enum Default {
        static let qualityOfService = QualityOfService.default
        static let timeoutIntervalForRequest: TimeInterval = 60
        static let timeoutIntervalForResource: TimeInterval = 7 * 24 * 60 * 60
    }

    /// These values, and those of `other` where these say nothing.
    func over(_ other: OperationSettings) -> OperationSettings {
        OperationSettings(
            container: container ?? other.container, qualityOfService: qualityOfService ?? other.qualityOfService,
            allowsCellularAccess: allowsCellularAccess ?? other.allowsCellularAccess,
            isLongLived: isLongLived ?? other.isLongLived,
            timeoutIntervalForRequest: timeoutIntervalForRequest ?? other.timeoutIntervalForRequest,
            timeoutIntervalForResource: timeoutIntervalForResource ?? other.timeoutIntervalForResource,
            group: group ?? other.group, traceParent: traceParent ?? other.traceParent)
    }

    /// What the calls of an operation that starts now make of the values.
    func callOptions(
        group: CKOperationGroup?, otherwise qualityOfService: QualityOfService = Default.qualityOfService,
        clock: any ClientClock
    ) -> CallOptions {
        let seconds = timeoutIntervalForResource ?? Default.timeoutIntervalForResource
        return CallOptions(
            requestNanoseconds: UInt64(
                nanosecondsOf: timeoutIntervalForRequest ?? Default.timeoutIntervalForRequest),
            deadline: CallOptions.Deadline(
                clock: clock, milliseconds: clock.nowMilliseconds + UInt64(nanosecondsOf: seconds) / 1_000_000,
                seconds: seconds),
            operationGroup: group?.wireName ?? "", traceParent: traceParent,
            priority: CallPriority(self.qualityOfService ?? qualityOfService),
            waitsForServer: self.qualityOfService == .utility || self.qualityOfService == .background)
    }
}

/// What `configuredWith` gave to a container or a database for its calls.
struct CallDefaults: Sendable {
    var settings = OperationSettings()
    var group: CKOperationGroup?

    /// The values of an inner `configuredWith`; what it leaves out stays as it is outside.
    func configured(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> CallDefaults {
        CallDefaults(
            settings: configuration?.settings ?? settings, group: group ?? configuration?.group ?? self.group)
    }

    /// For a call that starts now.
    func callOptions(otherwise qualityOfService: QualityOfService, clock: any ClientClock) -> CallOptions {
        if group == nil, settings.isEmpty { return CallOptions(priority: CallPriority(qualityOfService)) }
        return settings.over(group?.defaultSettings ?? OperationSettings())
            .callOptions(group: group, otherwise: qualityOfService, clock: clock)
    }
}

extension OperationSettings {
    fileprivate var isEmpty: Bool {
        qualityOfService == nil && timeoutIntervalForRequest == nil && timeoutIntervalForResource == nil
            && traceParent == nil
    }
}
