import BrumeKit
import BrumeModel
import Foundation
import Testing

@Suite("An error")
struct CKErrorTests {
    private static let codes: [(CKError.Code, Int)] = [
        (CKError.internalError, 1), (CKError.partialFailure, 2), (CKError.networkUnavailable, 3),
        (CKError.networkFailure, 4), (CKError.badContainer, 5), (CKError.serviceUnavailable, 6),
        (CKError.requestRateLimited, 7), (CKError.missingEntitlement, 8), (CKError.notAuthenticated, 9),
        (CKError.permissionFailure, 10), (CKError.unknownItem, 11), (CKError.invalidArguments, 12),
        (CKError.resultsTruncated, 13), (CKError.serverRecordChanged, 14), (CKError.serverRejectedRequest, 15),
        (CKError.assetFileNotFound, 16), (CKError.assetFileModified, 17), (CKError.incompatibleVersion, 18),
        (CKError.constraintViolation, 19), (CKError.operationCancelled, 20), (CKError.changeTokenExpired, 21),
        (CKError.batchRequestFailed, 22), (CKError.zoneBusy, 23), (CKError.badDatabase, 24),
        (CKError.quotaExceeded, 25), (CKError.zoneNotFound, 26), (CKError.limitExceeded, 27),
        (CKError.userDeletedZone, 28), (CKError.tooManyParticipants, 29), (CKError.alreadyShared, 30),
        (CKError.referenceViolation, 31), (CKError.managedAccountRestricted, 32),
        (CKError.participantMayNeedVerification, 33), (CKError.serverResponseLost, 34),
        (CKError.assetNotAvailable, 35), (CKError.accountTemporarilyUnavailable, 36),
        (CKError.participantAlreadyInvited, 37),
    ]

    @Test("has CloudKit's raw values", arguments: codes)
    func rawValues(code: CKError.Code, rawValue: Int) {
        #expect(code.rawValue == rawValue)
        #expect(CKError.Code(rawValue: rawValue) == code)
        #expect(CKError(code).errorCode == rawValue)
        #expect(!CKError(code).localizedDescription.isEmpty)
        #expect((CKError(code) as any Error).localizedDescription == CKError(code).localizedDescription)
    }

    @Test("has 37 codes")
    func codeCount() {
        #expect((-1...100).compactMap(CKError.Code.init(rawValue:)).count == 37)
    }

    @Test("has CloudKit's keys and domain")
    func keys() {
        #expect(CKErrorDomain == "CKErrorDomain" && CKError.errorDomain == CKErrorDomain)
        #expect(CKPartialErrorsByItemIDKey == "CKPartialErrors")
        #expect(CKErrorRetryAfterKey == "CKRetryAfter")
        #expect(CKRecordChangedErrorAncestorRecordKey == "AncestorRecord")
        #expect(CKRecordChangedErrorServerRecordKey == "ServerRecord")
        #expect(CKRecordChangedErrorClientRecordKey == "ClientRecord")
        #expect(CKErrorUserDidResetEncryptedDataKey == "CKErrorUserDidResetEncryptedData")
    }

    @Test("goes to NSError and back with domain, code and details")
    func roundTrip() throws {
        let error = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 1.5, NSLocalizedDescriptionKey: "wait"])
        let object = error as NSError
        #expect(object.domain == "CKErrorDomain" && object.code == 23)
        #expect(object.userInfo[CKErrorRetryAfterKey] as? Double == 1.5)
        #expect(object.localizedDescription == "wait")
        let erased = (error as any Error) as NSError
        #expect(erased.domain == "CKErrorDomain" && erased.code == 23)
        #expect(erased.userInfo[CKErrorRetryAfterKey] as? Double == 1.5)
        #expect(erased.localizedDescription == "wait")
        let back = try #require(object as? CKError)
        #expect(back == error && back.hashValue == error.hashValue)
        #expect(((object as any Error) as? CKError)?.code == .zoneBusy)
        #expect(((erased as any Error) as? CKError)?.retryAfterSeconds == 1.5)
    }

    @Test("is not made of an NSError of another domain")
    func otherDomain() {
        let other = NSError(domain: "Other", code: 26)
        #expect(other as? CKError == nil)
        #expect((other as any Error) as? CKError == nil)
    }

    @Test("is an internal error when its code is unknown")
    func unknownCode() {
        let error = NSError(domain: CKErrorDomain, code: 4711) as? CKError
        #expect(error?.code == .internalError && error?.errorCode == 4711)
        #expect(CKError(ServiceError(ErrorCode(rawValue: 99), "from the future")).code == .internalError)
    }

    @Test("shows the server's sentence, when to try again, and the request's id")
    func fromServer() {
        let error = CKError(
            ServiceError(.requestRateLimited, "slow down; try again in 2 s", retryAfterMilliseconds: 2000),
            requestID: "r-1")
        #expect(error.code == .requestRateLimited)
        #expect(error.localizedDescription == "slow down; try again in 2 s")
        #expect((error as any Error).localizedDescription == "slow down; try again in 2 s")
        #expect(error.retryAfterSeconds == 2)
        #expect(error.userInfo["RequestUUID"] as? String == "r-1")
        #expect(error.userInfo["ServerErrorDescription"] as? String == "slow down; try again in 2 s")
        #expect("\(error)".contains("requestRateLimited") && "\(error)".contains("slow down"))
        #expect(CKError(ServiceError(.zoneNotFound, "m")).retryAfterSeconds == nil)
    }

    @Test("of a conflict holds the server's record, the client's and their ancestor")
    func conflict() throws {
        let record = try CKRecordTests.fetched(["title": .string("base")])
        record["title"] = "mine"
        let server = try CKRecordTests.fetched(["title": .string("theirs")], tag: "1-z")
        let error = CKError(
            ServiceError(.serverRecordChanged, "the record changed"), serverRecord: server, outgoing: record.outgoing())
        #expect(error.serverRecord === server)
        #expect(error.clientRecord?["title"] as? String == "mine")
        #expect(error.ancestorRecord?["title"] as? String == "base")
        let object = error as NSError
        #expect(object.userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord === server)
        let fresh = CKError(
            ServiceError(.serverRecordChanged, "m"), serverRecord: server,
            outgoing: CKRecord(recordType: "Note").outgoing())
        #expect(fresh.ancestorRecord == nil && fresh.clientRecord != nil)
    }

    @Test("of several items holds each item's error under its id")
    func partialFailure() throws {
        let id = CKRecord.ID(recordName: "a")
        let error = CKError.partialFailure([id: CKError(.unknownItem), "subscription": CKError(.zoneNotFound)])
        #expect(error.code == .partialFailure)
        // The sentence names an item and its reason, and one that failed because of another last.
        #expect(error.localizedDescription.contains("2 of the items failed, "))
        let culprit = CKRecord.ID(recordName: "z")
        let batch = CKError.partialFailure([
            CKRecord.ID(recordName: "a"): CKError(.batchRequestFailed),
            culprit: CKError(.invalidArguments, message: "the title is too long"),
        ])
        #expect(
            batch.localizedDescription
                == "2 of the items failed, \"z\" with invalidArguments: the title is too long; look at partialErrorsByItemID for each"
        )
        // A name that is none is seen as well, and doesn't fill the log.
        let long = CKRecord.ID(recordName: String(repeating: "n", count: 100_000))
        #expect(CKError.partialFailure([long: CKError(.invalidArguments)]).localizedDescription.count < 300)
        let unnamed = CKError.partialFailure([CKRecord.ID(recordName: ""): CKError(.invalidArguments)])
        #expect(unnamed.localizedDescription.contains("failed, \"\" with"))
        let share = try #require(URL(string: "https://example.com/share/token#Groceries"))
        let text = CKError.partialFailure([share: CKError(.unknownItem)]).localizedDescription
        #expect(text.contains("failed, \"example.com/share/\" with"), "a share's URL is not for logs")
        #expect(error.partialErrorsByItemID?.count == 2)
        #expect((error.partialErrorsByItemID?[CKRecord.ID(recordName: "a")] as? CKError)?.code == .unknownItem)
        #expect(CKError(.zoneNotFound).partialErrorsByItemID == nil)
    }
}
