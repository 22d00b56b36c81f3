internal import BrumeLock
public import Foundation

extension CKSyncEngine {
    /// Brume's addition: the conflicts that this engine met, for the developer to read.
    public var conflictLog: ConflictLog { driver.conflicts }

    /// Brume's addition: a list of conflicts, the oldest first. It holds the last 1,000, in memory; values are cut
    /// after 100 characters. Print it, or its ``entries``.
    public final class ConflictLog: Sendable {
        /// What is kept; the oldest go first.
        static let entriesMax = 1_000

        /// A save that was refused because the server had another version, or the merge of the two.
        public struct Entry: Sendable {
            /// What happened.
            public enum Kind: String, Sendable {
                /// The server refused the save.
                case refused
                /// The versions were merged, with a ``CKRecord/MergePolicy``.
                case merged
            }

            /// A field that is not the same in all versions.
            public struct Field: Sendable {
                /// The field's key.
                public let key: String
                /// Its value in the version that both sides started from; nil when it had none, or the version is not
                /// known.
                public let ancestorValue: String?
                /// This device's value.
                public let clientValue: String?
                /// The server's value.
                public let serverValue: String?
                /// The value that came of the merge.
                public let mergedValue: String?
            }

            /// When, by this device's clock.
            public let date: Date
            /// What happened.
            public let kind: Kind
            /// The record.
            public let recordID: CKRecord.ID
            /// The record's type.
            public let recordType: CKRecord.RecordType
            /// The version that this device started from.
            public let clientChangeTag: String?
            /// The server's version.
            public let serverChangeTag: String?
            /// Who saved the server's version.
            public let serverModifiedBy: String?
            /// Whether the version that both sides started from is known.
            public let isAncestorKnown: Bool
            /// The fields that differ.
            public let fields: [Field]
        }

        private let kept = Lock<[Entry]>([])

        /// An empty log.
        public init() {}

        /// The conflicts, the oldest first.
        public var entries: [Entry] { kept.withLock { $0 } }

        /// Forgets all conflicts.
        public func removeAll() {
            kept.withLock { $0 = [] }
        }

        func add(_ entry: Entry) {
            kept.withLock { entries in
                if entries.count >= Self.entriesMax { entries.removeFirst() }
                entries.append(entry)
            }
        }

        /// Adds those saves that failed because of another version.
        func add(_ sent: Event.SentRecordZoneChanges) {
            for failure in sent.failedRecordSaves where failure.error.code == .serverRecordChanged {
                guard let server = failure.error.serverRecord else { continue }
                add(
                    Entry(
                        .refused, client: failure.error.clientRecord ?? failure.record, server: server,
                        ancestor: failure.error.ancestorRecord, merged: nil))
            }
        }
    }
}

extension CKSyncEngine.ConflictLog.Entry {
    init(_ kind: Kind, client: CKRecord, server: CKRecord, ancestor: CKRecord?, merged: CKRecord?) {
        let versions = [client, server, ancestor, merged].map { $0?.snapshot.fields }
        let keys = Set(versions.compactMap { $0?.keys }.joined())
        func shown(_ record: CKRecord?, _ key: String) -> String? {
            guard let value = record?.object(forKey: key) else { return nil }
            let text = "\(value)"
            return text.count > 100 ? text.prefix(100) + "…" : text
        }
        date = Date()
        self.kind = kind
        recordID = client.recordID
        recordType = client.recordType
        clientChangeTag = client.recordChangeTag
        serverChangeTag = server.recordChangeTag
        serverModifiedBy = server.lastModifiedUserRecordID?.recordName
        isAncestorKnown = ancestor != nil
        fields = keys.sorted().compactMap { key in
            let known = [client, server, ancestor].compactMap { $0?.snapshot.fields }
            guard Set(known.map { $0[key] }).count > 1 else { return nil }
            return Field(
                key: key, ancestorValue: shown(ancestor, key), clientValue: shown(client, key),
                serverValue: shown(server, key), mergedValue: shown(merged, key))
        }
    }
}

extension CKSyncEngine.ConflictLog.Entry: CustomStringConvertible {
    /// A line for the conflict, and one for each field.
    public var description: String {
        let start = isAncestorKnown ? "" : " (the version that both started from is not known)"
        var lines = [
            "\(date.formatted(.iso8601)) \(recordType) \(recordID.recordName) in \(recordID.zoneID.zoneName) was "
                + "\(kind.rawValue): here from version \(clientChangeTag ?? "none"), the server has "
                + "\(serverChangeTag ?? "none") by \(serverModifiedBy ?? "nobody")\(start)"
        ]
        for field in fields {
            var line =
                "    \(field.key): was \(field.ancestorValue ?? "nothing"), here \(field.clientValue ?? "nothing"), "
                + "server \(field.serverValue ?? "nothing")"
            if kind == .merged { line += ", merged \(field.mergedValue ?? "nothing")" }
            lines.append(line)
        }
        return lines.joined(separator: "\n")
    }
}

extension CKSyncEngine.ConflictLog: CustomStringConvertible {
    /// All conflicts, the oldest first.
    public var description: String {
        let entries = entries
        return entries.isEmpty ? "no conflicts" : entries.map(\.description).joined(separator: "\n")
    }
}
