internal import BrumeModel
internal import Foundation

extension CKSyncEngine {
    /// Records to save and to delete in one request.
    public struct RecordZoneChangeBatch: Sendable {
        /// The records to save, each against the version that it came from.
        public var recordsToSave: [CKRecord]
        /// The records to delete.
        public var recordIDsToDelete: [CKRecord.ID]
        /// Whether the changes of each zone happen all or not at all.
        public var atomicByZone: Bool

        /// What of the records' files is on the server already, with the receipts by which a save names it.
        var uploads: [CKRecord.ID: [URL: UploadedFile]] = [:]

        /// The changes at the front of a list that fit into one request: 400, 2 MB of what the records' saves send, and
        /// as many large records as the server saves again in one request, however little of each is sent (4 MiB as
        /// they are stored).
        ///
        /// Goes through the changes in their order, once for each record. In a scheduled send it leaves out those that
        /// were added within the last second, or that were added again within it and first within the last five: the
        /// app may not have committed what they are about. The engine's next send has them. Always left out are changes
        /// that were given before, wait for their files and were not added again since.
        ///
        /// - Parameters:
        ///   - pendingChanges: The changes; usually the engine's pending ones that are in the scope.
        ///   - recordProvider: Gives the record to save. For nil, and for a record with another id than it was asked
        ///     for, the change is left out; it stays pending, so remove it from the state when there is no such record
        ///     any more. A wrong record is told on the standard error output: sent, it would settle nothing, and the
        ///     engine would ask again without an end.
        /// - Returns: Nil when there is nothing to send.
        public init?(
            pendingChanges: [PendingRecordZoneChange],
            recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
        ) async {
            var batch = RecordZoneChangeBatch()
            var byteCount = 0
            var storedByteCount = 0
            var fileCount = 0
            var seen: Set<CKRecord.ID> = []
            var zoneIDs: Set<CKRecordZone.ID> = []
            /// Whether the item still fits. One that is too large by itself is sent by itself, so that the server says
            /// so.
            func takes(_ id: CKRecord.ID, _ bytes: Int, storedBytes: Int = 0, files: Int = 0) -> Bool {
                storedByteCount += storedBytes
                fileCount += files
                byteCount += bytes + id.recordName.utf8.count + Self.itemOverheadBytes
                if zoneIDs.insert(id.zoneID).inserted {
                    byteCount += id.zoneID.zoneName.utf8.count + id.zoneID.ownerName.utf8.count + Self.itemOverheadBytes
                }
                let isSmall = byteCount <= Self.bytesMax && storedByteCount <= Self.storedBytesMax
                return isSmall && fileCount <= Limits.receiptsPerRequest || batch.itemCount == 0
            }
            let call = DelegateCall.current.flatMap { $0.isUnderWay ? $0 : nil }
            filling: for change in pendingChanges where batch.itemCount < Limits.itemsPerRequest {
                guard seen.insert(change.recordID).inserted else { continue }
                if let call, call.holdsBack(change) { continue }
                switch change {
                case .deleteRecord(let id):
                    guard takes(id, 0) else { break filling }
                    batch.recordIDsToDelete.append(id)
                case .saveRecord(let id):
                    guard let record = await recordProvider(id) else { continue }
                    guard record.recordID == id else {
                        batch.sayWrongRecord(record.recordID, for: id)
                        continue
                    }
                    let outgoing = record.outgoing()
                    guard
                        takes(
                            id, outgoing.savedBytesMax, storedBytes: record.snapshot.storedBytesMax,
                            files: outgoing.fileCount)
                    else { break filling }
                    batch.recordsToSave.append(record)
                }
            }
            if batch.itemCount == 0 { return nil }
            self = batch
        }

        /// A batch of exactly these changes.
        ///
        /// Nothing is left out of it: one over 400 items or 2 MB fails with `limitExceeded` as a whole, and none of it
        /// stays pending. Split it and add its changes again.
        public init(
            recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [], atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        private func sayWrongRecord(_ given: CKRecord.ID, for asked: CKRecord.ID) {
            let sentence =
                "Brume: the record provider was asked for \(asked) and gave \(given), which is not sent; "
                + "make the record with the id that is asked for, its zone included\n"
            FileHandle.standardError.write(Data(sentence.utf8))
        }

        var itemCount: Int { recordsToSave.count + recordIDsToDelete.count }

        /// What the protocol adds to an item, or to a zone of a request: tags, lengths, and marks.
        private static let itemOverheadBytes = 64

        /// The request's own fields have the rest.
        private static let bytesMax = Limits.requestBytes - 4 * 1024

        /// The server counts the records as it has them, which may be larger than they are here.
        private static let storedBytesMax = Limits.mergedBytesPerRequest * 3 / 4
    }
}

extension CKRecordState {
    /// About the bytes of the record on the server; 0: there is none that is known of.
    fileprivate var storedBytesMax: Int {
        if version == nil { return 0 }
        return fieldsWithSealed.reduce(1_024) { $0 + $1.key.utf8.count + 16 + $1.value.encodedBytesMax }
    }
}

extension OutgoingRecord {
    /// No fewer bytes than the record's save takes in a request.
    var savedBytesMax: Int {
        let save = save(policy: .ifServerRecordUnchanged)
        var count = save.type.utf8.count + save.changeTag.utf8.count + CKRecord.ID.nameBytesMax
        count += shareSave?.encodedBytesMax ?? 0
        // Files become assets with receipts.
        count += fileCount * Asset.encodedBytesMax
        for (key, value) in save.fields { count += key.utf8.count + 16 + (value?.encodedBytesMax ?? 0) }
        for key in sent.encrypted.sentKeys(.ifServerRecordUnchanged) {
            count += key.utf8.count + 32 + EncryptedHeader.stampByteCount
            if let value = sent.encrypted.values[key] {
                count += EncryptedHeader.valueByteCount(content: value.encodedBytesMax + 4)
            }
        }
        return count
    }
}

extension OutgoingRecord {
    /// How many assets it names that have to be uploaded, or are in a list with such.
    var fileCount: Int { sent.local.assets.values.reduce(0) { $0 + $1.assets.count } }
}

extension Asset {
    /// Its checksum, size and number, and a receipt, with their tags.
    fileprivate static var encodedBytesMax: Int { AssetChecksum.byteCount + 32 + Limits.receiptBytes }
}

extension CKRecordID {
    /// A name's bytes at most: the parent's, for one.
    fileprivate static var nameBytesMax: Int { Limits.nameCharacters }
}

extension FieldValue {
    /// No fewer bytes than the value takes in a message.
    fileprivate var encodedBytesMax: Int {
        /// A length and a tag.
        let overhead = 12
        /// Seven numbers of eight bytes, with their tags.
        let location = 7 * 9 + overhead
        /// Checksum, size, generation and receipt.
        func asset(_ asset: Asset) -> Int { AssetChecksum.byteCount + asset.receipt.count + 4 * overhead }
        func reference(_ reference: Reference) -> Int { reference.recordName.utf8.count + 2 * overhead }
        return switch self {
        case .string(let text): text.utf8.count + overhead
        case .int64, .double, .date: overhead
        case .bytes(let bytes): bytes.count + overhead
        case .location: location
        case .reference(let value): reference(value)
        case .strings(let texts): texts.reduce(overhead) { $0 + $1.utf8.count + overhead }
        case .int64s(let values): overhead * (values.count + 1)
        case .doubles(let values), .dates(let values): overhead * (values.count + 1)
        case .bytesList(let list): list.reduce(overhead) { $0 + $1.count + overhead }
        case .locations(let values): location * values.count + overhead
        case .references(let values): values.reduce(overhead) { $0 + reference($1) }
        case .emptyList: overhead
        case .asset(let value): asset(value)
        case .assets(let values): values.reduce(overhead) { $0 + asset($1) }
        case .encrypted(let value):
            value.assets.reduce(value.bytes.count + 2 * overhead) { $0 + asset($1) + overhead }
        }
    }
}
