extension CKSyncEngine {
    /// Why the engine fetches or sends.
    public enum SyncReason: Hashable, Sendable {
        /// The engine found it due: there are changes, here or on the server.
        case scheduled
        /// The app called ``CKSyncEngine/fetchChanges(_:)`` or ``CKSyncEngine/sendChanges(_:)``.
        case manual
    }

    /// What to fetch.
    public struct FetchChangesOptions: Sendable {
        /// The zones of a fetch.
        public enum Scope: Equatable, Sendable {
            /// All zones.
            case all
            /// All zones but these.
            case allExcluding([CKRecordZone.ID])
            /// These zones alone.
            case zoneIDs([CKRecordZone.ID])

            /// Whether a zone is in the scope.
            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                }
            }
        }

        /// The zones to fetch. What changed in others is fetched later.
        public var scope: Scope

        /// The zones to fetch first, in their order. Those that are not in the scope, or did not change, don't matter.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// Whose name the requests carry to the server's log.
        public var operationGroup: CKOperationGroup

        /// Options of the given scope.
        ///
        /// - Parameters:
        ///   - scope: What is fetched.
        ///   - operationGroup: The group of the requests; nil: a new one that is named `CKSyncEngine-FetchChanges`.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup(named: "CKSyncEngine-FetchChanges")
        }
    }

    /// What to send.
    public struct SendChangesOptions: Sendable {
        /// The changes of a send.
        public enum Scope: Equatable, Sendable {
            /// All changes.
            case all
            /// All changes but those of these zones.
            case allExcluding([CKRecordZone.ID])
            /// The changes of these zones alone.
            case zoneIDs([CKRecordZone.ID])
            /// The changes of these records alone, and of the zones that hold them.
            case recordIDs([CKRecord.ID])

            /// Whether a record's changes are in the scope.
            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(recordID.zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(recordID)
                }
            }

            /// Whether a change is in the scope.
            public func contains(_ pendingRecordZoneChange: PendingRecordZoneChange) -> Bool {
                contains(pendingRecordZoneChange.recordID)
            }

            /// Whether changes of a zone itself are in the scope.
            func containsZone(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains { $0.zoneID == zoneID }
                }
            }
        }

        /// The changes to send. Others stay pending.
        public var scope: Scope

        /// Whose name the requests carry to the server's log.
        public var operationGroup: CKOperationGroup

        /// Options of the given scope.
        ///
        /// - Parameters:
        ///   - scope: What is sent.
        ///   - operationGroup: The group of the requests; nil: a new one that is named `CKSyncEngine-SendChanges`.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup(named: "CKSyncEngine-SendChanges")
        }
    }

    /// What the delegate is told about a fetch.
    public struct FetchChangesContext: Sendable {
        /// Why the engine fetches.
        public let reason: SyncReason
        /// What it fetches. A scheduled fetch is of all zones.
        public let options: FetchChangesOptions
    }

    /// What the delegate is told about a send.
    public struct SendChangesContext: Sendable {
        /// Why the engine sends.
        public let reason: SyncReason
        /// What it sends: leave out of batches what its scope does not contain. A scheduled send is of all changes.
        public let options: SendChangesOptions
    }
}

extension CKOperationGroup {
    fileprivate convenience init(named name: String) {
        self.init()
        self.name = name
    }
}
