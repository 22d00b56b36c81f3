import BrumeModel
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

@Suite("What keeps something from being encrypted")
struct EncryptionProblemTests {
    private let zone = ZoneRingID(owner: "", zone: "notes", root: "")
    private let outgoing = CKRecord(recordType: "Note").outgoing()

    @Test("is told of each failure of the account's keys that a change waits for")
    func accountKeys() {
        for absence in [KeyAbsence.notEnrolled, .removed, .unreadable] {
            let error = AccountKeysFailure.noKeys(absence).error
            #expect(error.code == .accountTemporarilyUnavailable && error.encryptionProblem == .deviceHasNoKeys)
        }
        #expect(AccountKeysFailure.conflict.error.encryptionProblem == .accountKeysDiffer)
        #expect(AccountKeysFailure.enrolmentBroken.error.encryptionProblem == .accountKeysDiffer)
        #expect(AccountKeysFailure.malformed("it has no hash").errorOfValues.encryptionProblem == .accountKeysDiffer)
        for other in [AccountKeysFailure.wrongCode, .busy, .newer, .notSetUp, .malformed("it has no hash")] {
            #expect(other.error.encryptionProblem == nil)
        }
    }

    @Test("is told of each failure of a zone's or a share's keys that a change waits for")
    func rings() {
        let problems: [(ZoneRingFailure, CKError.EncryptionProblem?)] = [
            (.forked, .keysDiffer), (.isOver, .keysDiffer), (.malformed("it has no root"), .keysDiffer),
            (.isNoMember, .waitsForOwner), (.isDue, .waitsForOwner), (.isStranger("bob"), .personChanged),
            (.isFullOfTrees, nil), (.isPerRecord, nil), (.isOfAnotherOwner, nil), (.busy, nil), (.newer, nil),
            (.full, nil),
        ]
        for (failure, problem) in problems {
            let error = failure.error(zone)
            #expect(error.encryptionProblem == problem, "\(failure)")
            #expect((error.code == .accountTemporarilyUnavailable) == (problem != nil), "\(failure)")
        }
    }

    @Test("is in a server's answer to a save, and in none about the account")
    func answers() throws {
        let folder = try PictureFolder()
        let record = CKRecord(recordType: "Note")
        record["photo"] = try folder.file("photo", Data([1]))
        let withFile = record.outgoing()
        let replaced = ServiceError(.accountTemporarilyUnavailable, "another key", detail: .keysChanged)
        #expect(CKError(replaced, outgoing: outgoing).encryptionProblem == .keysWereReplaced)
        let other = ServiceError(.accountTemporarilyUnavailable, "not now")
        #expect(CKError(other, outgoing: withFile).encryptionProblem == .fileIsPlain)
        #expect(CKError(other, outgoing: outgoing).encryptionProblem == nil)
        #expect(CKError(other).encryptionProblem == nil && !CKError(other).concernsKeys)
        #expect(CKError(ServiceError(.zoneBusy, "busy"), outgoing: outgoing).encryptionProblem == nil)
    }

    @Test("names the record of which only the server says where it is")
    func unproven() {
        let id = CKRecord.ID(recordName: "folder")
        let error = CKError.withDoubtfulPlace("note", below: "list", unproven: id)
        #expect(error.encryptionProblem == .placeIsUnproven && error.unprovenRecordID == id)
    }
}
