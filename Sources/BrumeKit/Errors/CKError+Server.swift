package import BrumeModel
internal import Foundation

extension CKError {
    /// An error that this client makes.
    package init(_ code: Code, message: String, retryAfterSeconds: Double? = nil) {
        var userInfo: [String: Any] = [NSLocalizedDescriptionKey: message]
        if let retryAfterSeconds { userInfo[CKErrorRetryAfterKey] = retryAfterSeconds }
        self.init(code, userInfo: userInfo)
    }

    /// The error that the server tells.
    ///
    /// - Parameters:
    ///   - requestID: The request that failed, for the operator's log.
    ///   - serverRecord: For a conflict: the record in ``ServiceError/serverRecord``, decoded.
    ///   - outgoing: The save that failed, where it is of one: in a conflict it knows client record and ancestor.
    package init(
        _ error: ServiceError, requestID: String? = nil, serverRecord: CKRecord? = nil, outgoing: OutgoingRecord? = nil
    ) {
        var userInfo: [String: Any] = [
            NSLocalizedDescriptionKey: error.message, "ServerErrorDescription": error.message,
        ]
        if error.retryAfterMilliseconds > 0 {
            userInfo[CKErrorRetryAfterKey] = Double(error.retryAfterMilliseconds) / 1000
        }
        if let requestID { userInfo["RequestUUID"] = requestID }
        switch error.detail {
        case .none: break
        case .assetChanged: userInfo[Self.assetChangedKey] = true
        case .keysChanged: break
        case .fieldEncrypted: userInfo[Self.fieldEncryptedKey] = true
        case .zoneMadeAgain: userInfo[Self.zoneMadeAgainKey] = true
        case .encryptedDataReset: userInfo[CKErrorUserDidResetEncryptedDataKey] = true
        }
        // A newer server may know more codes; its sentence says what happened.
        let code = Code(rawValue: Int(error.code.rawValue)) ?? .internalError
        if code == .serverRecordChanged {
            if let serverRecord { userInfo[CKRecordChangedErrorServerRecordKey] = serverRecord }
            if let outgoing {
                userInfo[CKRecordChangedErrorClientRecordKey] = outgoing.clientRecord()
                userInfo[CKRecordChangedErrorAncestorRecordKey] = outgoing.ancestorRecord()
            }
        }
        let plain = CKError(code, userInfo: userInfo)
        self =
            switch (code, error.detail) {
            case (.accountTemporarilyUnavailable, .keysChanged): plain.with(.keysWereReplaced)
            case (.accountTemporarilyUnavailable, .fieldEncrypted): plain.with(.deviceHasNoKeys)
            // The account and the way to the server are there, or no save would have an answer.
            case (.accountTemporarilyUnavailable, _) where outgoing?.setsAssets == true: plain.with(.fileIsPlain)
            default: plain
            }
    }

    private static let zoneMadeAgainKey = "BrumeZoneMadeAgain"
    private static let assetChangedKey = "BrumeAssetChanged"
    private static let fieldEncryptedKey = "BrumeFieldEncrypted"

    /// The record's field names another asset by now: the record is to be fetched again.
    var saysAssetChanged: Bool { code == .assetNotAvailable && userInfo[Self.assetChangedKey] as? Bool == true }

    /// The save was encrypted with another key than its zone's newest one: it is to be encrypted again.
    var saysKeysChanged: Bool { encryptionProblem == .keysWereReplaced }

    /// The save would take something away that is encrypted: it takes the record's keys.
    var saysFieldEncrypted: Bool {
        code == .accountTemporarilyUnavailable && userInfo[Self.fieldEncryptedKey] as? Bool == true
    }

    /// A change token has expired because its zone was deleted; the one of that name is another.
    var saysZoneMadeAgain: Bool { code == .changeTokenExpired && userInfo[Self.zoneMadeAgainKey] as? Bool == true }

    /// Whether the error concerns the account or the connection, so that every other request would fail with it, too.
    var isOfEveryRequest: Bool {
        switch code {
        case .notAuthenticated, .managedAccountRestricted, .accountTemporarilyUnavailable, .networkUnavailable,
            .networkFailure, .serverResponseLost, .serviceUnavailable, .incompatibleVersion, .badContainer,
            .operationCancelled:
            true
        default: false
        }
    }

    /// The error of a call that throws when some of its items failed.
    package static func partialFailure(_ errorsByItemID: [AnyHashable: any Error]) -> CKError {
        // What failed because of another item is no reason.
        let first = errorsByItemID.min { left, right in
            func rank(_ item: (key: AnyHashable, value: any Error)) -> (Int, String) {
                (CKError.batchRequestFailed ~= item.value ? 1 : 0, name(ofItem: item.key))
            }
            return rank(left) < rank(right)
        }
        let reason = first.map { id, error in
            let code = (error as? CKError).map { "\($0.code): " } ?? ""
            return ", \(name(ofItem: id).quotedName) with \(code)\(error.localizedDescription)"
        }
        return CKError(
            .partialFailure,
            userInfo: [
                NSLocalizedDescriptionKey:
                    "\(errorsByItemID.count) of the items failed\(reason ?? ""); look at partialErrorsByItemID for each",
                CKPartialErrorsByItemIDKey: errorsByItemID,
            ])
    }

    private static func name(ofItem id: AnyHashable) -> String {
        switch id.base {
        case let id as CKRecord.ID: id.recordName
        case let id as CKRecordZone.ID: id.zoneName
        // Whoever has a share's whole URL may be able to take part.
        case let url as URL: "\(url.host ?? "")/share/"
        default: "\(id.base)"
        }
    }
}
