internal import BrumeModel

/// What a record holds that goes to the server in another way than fields do, or not at all.
struct LocalFields: Sendable {
    /// The files of a field.
    struct Assets: Sendable {
        var assets: [CKAsset]
        var isList: Bool

        /// Nil for a value that holds no asset.
        init?(_ value: any CKRecordValueProtocol) {
            switch value {
            case let asset as CKAsset: (assets, isList) = ([asset], false)
            case let list as [CKAsset] where !list.isEmpty: (assets, isList) = (list, true)
            default: return nil
            }
        }

        init(assets: [CKAsset], isList: Bool) {
            self.assets = assets
            self.isList = isList
        }

        /// The value where all are assets that the record itself names on the server; nil where something has to be
        /// uploaded.
        func value(keptBy record: CKRecord.ID, _ base: CKRecordState.Base?) -> FieldValue? {
            let stored = assets.compactMap { $0.kept(by: record, base) }
            // A list is encrypted as a whole.
            guard stored.count == assets.count, Set(assets.map { $0.secret == nil }).count == 1 else { return nil }
            return isList ? .assets(stored) : .asset(stored[0])
        }

        var recordValue: any __CKRecordObjCValue { isList ? assets : assets[0] }
    }

    /// What was set and no record can have: a field, an encrypted field or the parent.
    enum Refused: Hashable, Sendable {
        case field(String)
        case encryptedField(String)
        case parent
    }

    /// Why each of them is refused, as a sentence.
    var refused: [Refused: String] = [:]

    /// Files that were set and not saved yet.
    var assets: [String: Assets] = [:]

    /// Why a record that holds this can't be saved.
    var refusal: CKError? { refused.values.min().map { CKError(.invalidArguments, message: $0) } }
}
