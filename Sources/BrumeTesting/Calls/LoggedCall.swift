public import BrumeKit
internal import BrumeModel

/// A call of a device that reached the server; see ``TestServer/calls(_:)``.
public struct LoggedCall: Sendable {
    /// How a call ended for its device.
    public enum Outcome: Hashable, Sendable {
        /// It has not ended.
        case pending
        /// With an answer, which may say that single items failed: ``LoggedCall/itemFailures``.
        case answered
        /// As a whole.
        case failed(CKError.Code)
        /// The connection broke before the answer, or the device gave the call up. A stream ends so, too.
        case unanswered
    }

    /// What it asked for.
    public let method: CallMethod
    /// The name of the device's account; nil without one.
    public let account: String?
    /// The device's ``TestDevice/name``; nil for one that is not the server's, such as another program.
    public let device: String?
    /// The database that it named; nil for calls that name none: about shares, and the notification stream.
    public let database: CKDatabase.Scope?
    /// The names of the zones that it named, in its order.
    public let zones: [String]
    /// The names of the records that it saved, deleted or fetched by id, or whose asset it downloaded.
    public let recordNames: [String]
    /// The field whose asset it downloaded. An upload names none: the save does, once the asset is there.
    public let field: CKRecord.FieldKey?
    /// How many records, zones or subscriptions it saved.
    public let saveCount: Int
    /// How many of them it deleted.
    public let deletionCount: Int
    /// How it ended.
    public internal(set) var outcome = Outcome.pending
    /// How many items the answer of a fetch or a query had: records, or changed and deleted records or zones.
    public internal(set) var itemCount = 0
    /// The byte at which a transfer of an asset began: not 0 where it went on with what an earlier one left.
    public internal(set) var offset: Int
    /// How many bytes of the asset an upload brought or a download sent. A connection that breaks may lose the last of
    /// what was sent.
    public internal(set) var byteCount = 0
    /// Why items failed, in the order of the request.
    public internal(set) var itemFailures: [CKError.Code] = []

    /// The types of the records that it saved or asked for.
    let recordTypes: Set<String>
    let deviceID: [UInt8]

    init(_ request: CallRequest, account: String?, device: String?, deviceID: [UInt8]) {
        method = request.method
        self.account = account
        self.device = device
        database = request.database.map { CKDatabase.Scope($0) }
        zones = request.zones
        recordNames = request.recordNames
        field = request.field
        offset = request.offset
        saveCount = request.saveCount
        deletionCount = request.deletionCount
        recordTypes = request.recordTypes
        self.deviceID = deviceID
    }

    func fits(_ pattern: CallPattern) -> Bool {
        pattern.fits(method, zones: zones, recordTypes: recordTypes, recordNames: recordNames, field: field)
            && pattern.peer.matches(account: account, deviceID: deviceID)
    }
}

extension LoggedCall: CustomStringConvertible {
    /// A line such as `ada-1 modifyRecords in Notes, 2 saves, 1 deletion: answered, 1 of them failed (zoneBusy)`
    /// or `ada-2 downloadAsset in Notes, photo of first, 500000 bytes from 1000000: answered`.
    public var description: String {
        func count(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }
        var parts = ["\(device ?? account ?? "nobody") \(method.rawValue)"]
        if !zones.isEmpty { parts[0] += " in " + zones.joined(separator: " and ") }
        if saveCount > 0 { parts.append(count(saveCount, "save")) }
        if deletionCount > 0 { parts.append(count(deletionCount, "deletion")) }
        if let field { parts.append("\(field) of \(recordNames.joined(separator: " and "))") }
        if method == .uploadAsset || method == .downloadAsset {
            parts.append(count(byteCount, "byte") + (offset > 0 ? " from \(offset)" : ""))
        }
        let end =
            switch outcome {
            case .pending: "pending"
            case .answered: "answered"
            case .failed(let code): "failed with \(code)"
            case .unanswered: "no answer"
            }
        var line = parts.joined(separator: ", ") + ": " + end
        if itemCount > 0 { line += " with " + count(itemCount, "item") }
        if !itemFailures.isEmpty {
            line += ", \(itemFailures.count) of them failed (\(itemFailures.map { "\($0)" }.joined(separator: ", ")))"
        }
        return line
    }
}

extension CKDatabase.Scope {
    fileprivate init(_ scope: DatabaseScope) {
        switch scope {
        case .public: self = .public
        case .private: self = .private
        case .shared: self = .shared
        }
    }
}
