extension CKSyncEngine {
    /// Something the delegate is told. Events come one at a time: the next one when the delegate has handled this one.
    public enum Event: Sendable {
        /// The engine's state changed: keep it, beside the data, for the next launch. Not told when
        /// ``CKSyncEngine/Configuration/persistState`` keeps it.
        case stateUpdate(StateUpdate)
        /// A user signed in or out. The engine has forgotten what it knew of the one before, pending changes included.
        case accountChange(AccountChange)
        /// Zones came, changed or went on the server.
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        /// Records of one zone changed or went on the server.
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        /// Changes to zones were sent, or failed.
        case sentDatabaseChanges(SentDatabaseChanges)
        /// Changes to records were sent, or failed.
        case sentRecordZoneChanges(SentRecordZoneChanges)
        /// A fetch begins.
        case willFetchChanges(WillFetchChanges)
        /// The fetch of a zone begins.
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        /// The fetch of a zone ended. Each that began does.
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        /// The fetch ended. Each that began does.
        case didFetchChanges(DidFetchChanges)
        /// A send begins.
        case willSendChanges(WillSendChanges)
        /// The send ended. Each that began does.
        case didSendChanges(DidSendChanges)

        /// A new state to keep.
        public struct StateUpdate: Sendable {
            /// The state. Give it to the next launch's ``CKSyncEngine/Configuration``.
            public let stateSerialization: State.Serialization
        }

        /// A change of the account.
        public struct AccountChange: Sendable {
            /// What happened.
            public enum ChangeType: Hashable, Sendable {
                /// There is an account now: at the first launch, too.
                case signIn(currentUser: CKRecord.ID)
                /// The account is gone.
                case signOut(previousUser: CKRecord.ID)
                /// Another account took the place of the one before.
                case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
            }

            /// What happened.
            public let changeType: ChangeType
        }

        /// Changes to zones, from the server. Handle the deletions first: a zone that was deleted and made again is
        /// among them, with the reason, and among the modifications, of this event or of a later one.
        public struct FetchedDatabaseChanges: Sendable {
            /// Zones that are new or have new content, which is fetched next.
            public let modifications: [CKDatabase.DatabaseChange.Modification]
            /// Zones that are gone.
            public let deletions: [CKDatabase.DatabaseChange.Deletion]
        }

        /// Changes to one zone's records, from the server.
        public struct FetchedRecordZoneChanges: Sendable {
            /// Records that are new or changed.
            public let modifications: [CKDatabase.RecordZoneChange.Modification]
            /// Records that are gone.
            public let deletions: [CKDatabase.RecordZoneChange.Deletion]
        }

        /// The outcome of sending changes to zones.
        public struct SentDatabaseChanges: Sendable {
            /// A zone that could not be saved.
            public struct FailedZoneSave: Sendable {
                /// The zone as it was sent.
                public let zone: CKRecordZone
                /// Why it failed.
                public let error: CKError
            }

            /// The zones that were saved, as the server has them.
            public let savedZones: [CKRecordZone]
            /// The zones that could not be saved.
            public let failedZoneSaves: [FailedZoneSave]
            /// The zones that were deleted.
            public let deletedZoneIDs: [CKRecordZone.ID]
            /// The zones that could not be deleted.
            public let failedZoneDeletes: [CKRecordZone.ID: CKError]
        }

        /// The outcome of sending one batch of changes to records.
        public struct SentRecordZoneChanges: Sendable {
            /// A record that could not be saved.
            public struct FailedRecordSave: Sendable {
                /// The record as it was given.
                public let record: CKRecord
                /// Why it failed.
                public let error: CKError
            }

            /// The records that were saved, as the server has them.
            public let savedRecords: [CKRecord]
            /// The records that could not be saved. Those with an error that passes by itself stay pending; add the
            /// others again when they can be sent.
            public let failedRecordSaves: [FailedRecordSave]
            /// The records that were deleted.
            public let deletedRecordIDs: [CKRecord.ID]
            /// The records that could not be deleted.
            public let failedRecordDeletes: [CKRecord.ID: CKError]
        }

        /// A fetch begins.
        public struct WillFetchChanges: Sendable {
            /// Why, and of what.
            public let context: FetchChangesContext
        }

        /// The fetch of a zone begins.
        public struct WillFetchRecordZoneChanges: Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID
            /// Whether the engine begins with the zone's start, because it has no token of it yet or because its token
            /// has expired. All records that the zone has come then, and no deletion from before.
            ///
            /// Brume's own. Mark the records of the zone that the app has then; take the mark from those that are
            /// fetched or saved from here on; and when a fetch of the zone has ended without an error, remove those
            /// that still have it and that do not wait to be sent: they were deleted. A fetch that is interrupted goes
            /// on later with `startsOver` false, so keep the marks with the records.
            public let startsOver: Bool
        }

        /// The fetch of a zone ended.
        public struct DidFetchRecordZoneChanges: Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID
            /// Why it ended early; nil when the device has all of the zone's changes. After `changeTokenExpired` the
            /// engine begins anew by itself.
            public let error: CKError?
        }

        /// A fetch ended.
        public struct DidFetchChanges: Sendable {
            /// Why it began, and of what.
            public let context: FetchChangesContext
        }

        /// A send begins.
        public struct WillSendChanges: Sendable {
            /// Why, and of what.
            public let context: SendChangesContext
        }

        /// A send ended.
        public struct DidSendChanges: Sendable {
            /// Why it began, and of what.
            public let context: SendChangesContext
        }
    }
}

extension CKSyncEngine.Event: CustomStringConvertible {
    /// The event's name, with what tells one from another but no record's fields.
    public var description: String {
        switch self {
        case .stateUpdate: "stateUpdate"
        case .accountChange(let event): "accountChange(\(event.changeType))"
        case .fetchedDatabaseChanges(let event):
            "fetchedDatabaseChanges(modifications: \(event.modifications.map(\.zoneID.zoneName)), "
                + "deletions: \(event.deletions.map(\.nameWithReason)))"
        case .fetchedRecordZoneChanges(let event):
            "fetchedRecordZoneChanges(modifications: \(event.modifications.map(\.record.recordID.recordName)), "
                + "deletions: \(event.deletions.map(\.recordID.recordName)))"
        case .sentDatabaseChanges(let event):
            "sentDatabaseChanges(saved: \(event.savedZones.map(\.zoneID.zoneName)), "
                + "failedSaves: \(event.failedZoneSaves.map { "\($0.zone.zoneID.zoneName): \($0.error.code)" }), "
                + "deleted: \(event.deletedZoneIDs.map(\.zoneName)), "
                + "failedDeletes: \(event.failedZoneDeletes.map { "\($0.key.zoneName): \($0.value.code)" }.sorted()))"
        case .sentRecordZoneChanges(let event):
            "sentRecordZoneChanges(saved: \(event.savedRecords.map(\.recordID.recordName)), "
                + "failedSaves: \(event.failedRecordSaves.map { "\($0.record.recordID.recordName): \($0.error.code)" }), "
                + "deleted: \(event.deletedRecordIDs.map(\.recordName)), "
                + "failedDeletes: \(event.failedRecordDeletes.map { "\($0.key.recordName): \($0.value.code)" }.sorted()))"
        case .willFetchChanges(let event): "willFetchChanges(\(event.context.reason))"
        case .willFetchRecordZoneChanges(let event): "willFetchRecordZoneChanges(\(event.zoneID.zoneName))"
        case .didFetchRecordZoneChanges(let event):
            "didFetchRecordZoneChanges(\(event.zoneID.zoneName)\(event.error.map { ", error: \($0.code)" } ?? ""))"
        case .didFetchChanges(let event): "didFetchChanges(\(event.context.reason))"
        case .willSendChanges(let event): "willSendChanges(\(event.context.reason))"
        case .didSendChanges(let event): "didSendChanges(\(event.context.reason))"
        }
    }
}

extension CKDatabase.DatabaseChange.Deletion {
    /// The zone's name, and the reason where it is another than an app's.
    fileprivate var nameWithReason: String { reason == .deleted ? zoneID.zoneName : "\(zoneID.zoneName): \(reason)" }
}

extension CKSyncEngine.Event.AccountChange.ChangeType: CustomStringConvertible {
    /// What happened, with the users' record names.
    public var description: String {
        switch self {
        case .signIn(let user): "signIn(\(user.recordName))"
        case .signOut(let user): "signOut(\(user.recordName))"
        case .switchAccounts(let previous, let current):
            "switchAccounts(\(previous.recordName), \(current.recordName))"
        }
    }
}
