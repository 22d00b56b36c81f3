extension CKSyncEngine {
    /// A change to a record that is to be sent.
    public enum PendingRecordZoneChange: Hashable, Sendable {
        /// The record is to be saved. The engine asks the delegate for it when its turn comes.
        case saveRecord(CKRecord.ID)
        /// The record is to be deleted.
        case deleteRecord(CKRecord.ID)

        package var recordID: CKRecord.ID {
            switch self {
            case .saveRecord(let id), .deleteRecord(let id): id
            }
        }
    }

    /// A change to a database's zones that is to be sent.
    ///
    /// Two changes are equal when they do the same to one zone: of a zone that is to be saved, its id counts alone.
    public enum PendingDatabaseChange: Hashable, Sendable {
        /// The zone is to be made.
        case saveZone(CKRecordZone)
        /// The zone is to be deleted, with its records.
        case deleteZone(CKRecordZone.ID)

        package var zoneID: CKRecordZone.ID {
            switch self {
            case .saveZone(let zone): zone.zoneID
            case .deleteZone(let id): id
            }
        }

        private var isSave: Bool {
            switch self {
            case .saveZone: true
            case .deleteZone: false
            }
        }

        /// Whether both do the same to one zone.
        public static func == (left: PendingDatabaseChange, right: PendingDatabaseChange) -> Bool {
            left.isSave == right.isSave && left.zoneID == right.zoneID
        }

        /// Equal for equal changes.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(isSave)
            hasher.combine(zoneID)
        }
    }
}
